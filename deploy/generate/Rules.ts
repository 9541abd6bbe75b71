/** The parts of a ValidatingAdmissionPolicy, and CEL expressions for them. Pure. */
/** An operation of admission. */
export type Operation = "CREATE" | "UPDATE" | "DELETE" | "*"

/** The requests that a policy looks at. */
export interface Requests {
  readonly apiGroups: ReadonlyArray<string>
  readonly apiVersions: readonly ["*"]
  readonly operations: ReadonlyArray<Operation>
  readonly resources: ReadonlyArray<string>
}

/** A CEL expression that a request has to fulfil, and one for the message if it does not. */
export interface Validation {
  readonly expression: string
  readonly messageExpression: string
  readonly reason: "Forbidden"
}

/** The requests of a policy, and the conditions that they have to fulfil. */
export interface Rules {
  readonly requests: ReadonlyArray<Requests>
  readonly except?: ReadonlyArray<Requests>
  /** A CEL expression; the policy limits only requests for which it is true. */
  readonly when?: string
  readonly variables: { readonly [name: string]: string }
  readonly validations: ReadonlyArray<Validation>
}

/** A string of CEL. None of ours has a quote or a backslash. */
export const text = (value: string): string => `'${value}'`

/** A list of CEL strings. */
export const list = (values: ReadonlyArray<string>): string => `[${values.map(text).join(", ")}]`

/** The requests of these operations on resources of a group. */
export const requests = (
  apiGroup: string,
  resources: ReadonlyArray<string>,
  operations: ReadonlyArray<Operation>
): Requests => ({ apiGroups: [apiGroup], apiVersions: ["*"], operations, resources })

/**
 * A validation that rejects a request with the offending value.
 *
 * @param value a CEL expression for the offending value
 */
export const validation = (expression: string, what: string, value: string, accepted: string): Validation => ({
  expression,
  messageExpression: `${text(`${what}: `)} + ${value} + ${text(` (${accepted})`)}`,
  reason: "Forbidden"
})

/** The validation of a variable with a list of offending values. */
export const none = (variable: string, what: string, accepted: string): Validation =>
  validation(`variables.${variable}.size() == 0`, what, `variables.${variable}.join(', ')`, accepted)

/** The validation of the owners. Names the first that is not accepted. */
export const unowned = (what: string, accepted: string): Validation =>
  validation("variables.refused.size() == 0", what, "variables.refused[0]", accepted)

/** A list in CEL with the name if the condition holds. */
export const named = (name: string, condition: string): string => `(${condition} ? [${text(name)}] : [])`

/** Whether a field is set to something else than its empty value. */
export const isSet = (parent: string, field: string, empty: string): string =>
  `has(${parent}.${field}) && ${parent}.${field} != ${empty}`

/** Whether a field is true. */
export const isTrue = (parent: string, field: string): string => `has(${parent}.${field}) && ${parent}.${field}`

/** The field or, without it, the empty value. */
export const orElse = (parent: string, field: string, empty: string): string =>
  `(has(${parent}.${field}) ? ${parent}.${field} : ${empty})`

/** The owner references of controllers, of which an object has at most one. */
export const controllersOf = (object: string): string =>
  `${orElse(`${object}.metadata`, "ownerReferences", "[]")}.filter(r, ${isTrue("r", "controller")})`

/** The new and the old object: one of them for a creation or a deletion. */
export const objects = "[object, oldObject].filter(o, o != null)"

/** For each of them its controller: `backup.example.com/v1 Backup shop`, or `none`. */
export const owners = `variables.objects.map(o, (${controllersOf("o")}.map(r, r.apiVersion + ' ' + r.kind + ' ' + r.name) + ['none'])[0])`
