/** Evaluates MutatingAdmissionPolicies, which change the object of a request. */

import * as UnknownFields from "../codec/UnknownFields.ts"
import { jsonPatch } from "../fields/JsonPatch.ts"
import * as Merge from "../fields/Merge.ts"
import * as Type from "../fields/Type.ts"
import * as Typing from "../fields/Typing.ts"
import * as AdmissionExpressions from "../kinds/cel/AdmissionExpressions.ts"
import * as Constructors from "../kinds/cel/Constructors.ts"
import * as Attributes from "../model/Attributes.ts"
import * as Failure from "../model/Failure.ts"
import type { JsonObject, Json as JsonValue } from "../model/Json.ts"
import * as Json from "../model/Json.ts"
import type { Kind } from "../model/Kind.ts"
import * as ObjectMeta from "../model/ObjectMeta.ts"
import type { Schema } from "../model/Schema.ts"
import * as Request from "./AdmissionRequest.ts"
import * as Evaluation from "./Evaluation.ts"
import * as Policies from "./Policies.ts"
import type * as Reinvocation from "./Reinvocation.ts"
import type { ServerState, WriteOptions } from "./ServerState.ts"

/** A policy with its compiled expressions. */
interface Compiled extends Policies.Policy {
  readonly mutations: ReadonlyArray<Evaluation.Expression & { readonly applies: boolean }>
}

/** The denial of a request by a policy. */
interface Refusal {
  readonly message: string
  readonly reason: string
}

const policies = Policies.make(
  "admissionregistration.k8s.io/mutatingadmissionpolicies",
  "admissionregistration.k8s.io/mutatingadmissionpolicybindings",
  (spec): Pick<Compiled, "mutations"> => {
    const compiler = Evaluation.compilerOf(spec, true)
    return {
      mutations: Json.objects(spec.mutations).map(({ applyConfiguration, jsonPatch, patchType }) => {
        const applies = patchType === "ApplyConfiguration"
        const source = String(Json.at(applies ? applyConfiguration : jsonPatch, "expression"))
        return { applies, source, compiled: compiler.mutation(source, applies ? "Object" : "list(JSONPatch)") }
      })
    }
  }
)

/** The object of a request after one round of mutations; the same object if no policy mutates it. Throws a Failure if a policy fails. */
export const mutate = (
  state: ServerState,
  attributes: Attributes.Attributes,
  options: WriteOptions,
  calls: Reinvocation.Calls
): JsonObject | null => {
  const refusals: Array<Refusal> = []
  let { object } = attributes
  let mutated = false
  calls.begin(object)
  for (const invocation of [...policies.all(state, attributes)]) {
    const { binding, policy } = invocation
    if ("problem" in invocation) {
      refusals.push({ message: denied(policy, binding, invocation.problem), reason: "Forbidden" })
      continue
    }
    const { matched, params } = invocation
    const key = keyOf(invocation)
    const refuse = (message: string): void => {
      if (!policy.ignores) refusals.push({ message: denied(policy, binding, message), reason: "Invalid" })
    }
    const inputOf = () => Request.inputOf(state, { ...attributes, object }, matched, params, options)
    const met = Evaluation.conditionsMet(policy.conditions, Request.conditionInput(inputOf(), attributes))
    if (met !== true && met !== false) refuse(met.problem)
    if (met !== true || calls.skips(key)) continue
    for (const mutation of object === null ? [] : policy.mutations) {
      const result = mutatedBy(attributes, matched, mutation, inputOf())
      if ("problem" in result) refuse(result.problem)
      else {
        calls.patched(attributes.resource, object, result.object)
        object = result.object
        mutated = true
      }
    }
    calls.called(key, policy.spec.reinvocationPolicy)
  }
  // A kube-apiserver counts each mutation as a change, even if the object stays the same.
  if (mutated) calls.changed()
  calls.end(object)
  const [refusal] = refusals
  if (refusal !== undefined) throw failureOf(attributes, refusal, refusals)
  return object
}

const keyOf = ({ binding, params, policy }: Policies.Invocation<Compiled>): string => {
  const key = params === null ? "" : `${ObjectMeta.namespaceOf(params)}/${ObjectMeta.nameOf(params)}`
  return `${policy.name} ${binding} ${key}`
}

type Mutated = { readonly object: JsonObject } | { readonly problem: string }

/** The object after one mutation, in the version of the request. */
const mutatedBy = (
  attributes: Attributes.Attributes,
  matched: Kind,
  mutation: Compiled["mutations"][number],
  input: AdmissionExpressions.Input
): Mutated => {
  const { object } = input
  if (object === null) return { problem: "there is no object" }
  const result = Evaluation.evaluated(mutation, AdmissionExpressions.activate(input))
  if ("problem" in result) return result
  const own = attributes.kind === undefined ? matched : { custom: false, ...attributes.kind }
  const changed = mutation.applies ? applied(own, object, result.value) : patched(own, object, result.value)
  if ("problem" in changed) return changed
  const draft = Json.copy({ ...changed.object, apiVersion: object.apiVersion ?? null, kind: object.kind ?? null })
  if (attributes.kind !== undefined) return { object: draft }
  if (!matched.custom && matched !== attributes.resource)
    return { problem: unconvertible(matched, attributes.resource) }
  matched.strategy.default(draft)
  return { object: Attributes.converted(draft, matched, attributes.resource) ?? draft }
}

/** The error of a kube-apiserver that cannot convert a built-in object from the matched version back to that of the request. */
const unconvertible = (from: Kind, to: Kind): string =>
  `converting (${from.version}.${from.kind}) to (${to.version}.${to.kind}): unknown conversion`

/** The error of a kube-apiserver for a Scale, whose type the kube-apiserver does not find. */
const untypedScale =
  "error applying patch: failed to convert patch object to typed object: no corresponding type for autoscaling/v1, Kind=Scale"

const applied = (kind: Type.Schemed, object: JsonObject, value: unknown): Mutated => {
  const wrong = Constructors.misplaced(value, "Object")
  if (wrong.length > 0) return { problem: `type mismatch: ${wrong.join("\n")}` }
  const patch = {
    ...Json.object(Constructors.jsonOf(value)),
    apiVersion: object.apiVersion ?? "",
    kind: object.kind ?? ""
  }
  if (object.kind === "Scale" && object.apiVersion === "autoscaling/v1") return { problem: untypedScale }
  const type = Type.ofKind(kind)
  const errors = Typing.validate(type, patch, "refused")
  const untyped = "error applying patch: failed to convert patch object to typed object: "
  if (errors.length > 0) return { problem: `${untyped}${Typing.sentence(errors)}` }
  const whole = atomics(type, patch, "")
  if (whole.length > 0) {
    const rule = "error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs"
    return { problem: `${rule}: ${whole.join(", ")}` }
  }
  return { object: Json.object(Merge.merge(type, object, patch)) }
}

/** The paths of atomic values, which a policy can only replace as a whole. */
const atomics = (type: Type.Type, value: JsonValue, path: string): ReadonlyArray<string> => {
  if (Json.isObject(value) && type.map !== undefined) {
    const { atomic, fields } = type.map
    const nested = Object.entries(value).flatMap(([name, member = null]) => {
      const field = fields.get(name)
      return field === undefined ? [] : atomics(field.type, member, `${path}.${name}`)
    })
    return [...(atomic ? [path] : []), ...nested]
  }
  if (!Json.isList(value) || type.list === undefined) return []
  const { atomic, element } = type.list
  return [...(atomic ? [path] : []), ...value.flatMap((item, index) => atomics(element, item, `${path}[${index}]`))]
}

const patched = (kind: Type.Schemed, object: JsonObject, value: unknown): Mutated => {
  let result: JsonValue = object
  for (const one of Array.isArray(value) ? value : []) {
    if (!(one instanceof Constructors.Constructed)) continue
    const given = one.fields.get("value")
    const wrong = given instanceof Constructors.Constructed ? Constructors.misplaced(given, given.type) : []
    if (wrong.length > 0) return { problem: `type mismatch: ${wrong.join("\n")}` }
    const operation = Json.object(Constructors.jsonOf(one))
    try {
      result = jsonPatch(result, [operation])
    } catch (error) {
      if (!(error instanceof Failure.Failure)) throw error
      // After a failed test, the object stays the same.
      if (operation.op === "test") return { object }
      return { problem: `JSON Patch: ${inapplicable(operation)}` }
    }
  }
  return { object: decoded(kind, Json.object(result)) }
}

/** The error for an operation that cannot be applied. */
const inapplicable = ({ from, op, path }: JsonObject): string => {
  switch (op) {
    case "add":
    case "remove":
      return `${op} operation does not apply: doc is missing path: "${path}": missing value`
    case "replace":
      return `${op} operation does not apply: doc is missing path: ${path}: missing value`
    case "copy":
    case "move":
      return `${op} operation does not apply: doc is missing from path: ${from}: missing value`
    default:
      return `Unexpected kind: ${op}`
  }
}

/** The object after decoding by its kind. Throws a Failure (500) for an unknown field or an invalid value. */
const decoded = ({ custom, schema }: Type.Schemed, object: JsonObject): JsonObject => {
  if (custom) return object
  const { errors, value } = pruned(schema, object)
  if (errors.length > 0) throw Failure.internal(`strict decoding error: ${errors.join(", ")}`)
  return value
}

const pruned = (schema: Schema, object: JsonObject): UnknownFields.Pruned => {
  try {
    return UnknownFields.prune(schema, object)
  } catch (error) {
    throw error instanceof Failure.Failure ? Failure.internal(error.message) : error
  }
}

const denied = ({ name }: Compiled, binding: string | undefined, message: string): string =>
  binding === undefined
    ? `policy "${name}" denied request: ${message}`
    : `policy '${name}' with binding '${binding}' denied request: ${message}`

const failureOf = (
  attributes: Attributes.Attributes,
  { message, reason }: Refusal,
  refusals: ReadonlyArray<Refusal>
): Failure.Failure => {
  const causes = refusals.map((one) => ({ message: one.message }))
  const { code, details } = Failure.forbidden(attributes.resource, Request.shownName(attributes), "", causes)
  return new Failure.Failure({ code, reason, message, details })
}
