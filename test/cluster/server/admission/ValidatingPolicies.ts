/** Evaluates ValidatingAdmissionPolicies for a request, and refuses it if one of them denies it. */
import * as Failure from "../Failure.ts"
import type { JsonObject } from "../Json.ts"
import * as Json from "../Json.ts"
import * as ObjectMeta from "../ObjectMeta.ts"
import type { World, WriteOptions } from "../World.ts"
import type * as Attributes from "./Attributes.ts"
import * as Evaluation from "./Evaluation.ts"
import * as Expressions from "./Expressions.ts"
import * as Matching from "./Matching.ts"
import * as Params from "./Params.ts"
import * as Request from "./Request.ts"

const policies = "admissionregistration.k8s.io/validatingadmissionpolicies"
const bindings = "admissionregistration.k8s.io/validatingadmissionpolicybindings"

/** A policy with its expressions, compiled once. */
interface Compiled {
  readonly name: string
  readonly spec: JsonObject
  readonly ignores: boolean
  readonly conditions: ReadonlyArray<Evaluation.Expression>
  readonly validations: ReadonlyArray<Validation>
  readonly annotations: ReadonlyArray<Evaluation.Expression>
}

interface Validation extends Evaluation.Expression {
  readonly said: Expressions.Compiled | undefined
  readonly message: string
  readonly reason: string
}

/** A denial by one of the expressions. */
interface Denial {
  readonly message: string
  readonly reason?: string
}

const compiledOf = new WeakMap<JsonObject, Compiled>()

/** Throws a Failure if a policy denies the request. Warns of what a policy only warns of. */
export const check = (world: World, attributes: Attributes.Attributes, options: WriteOptions): void => {
  const bound = world.store.list(bindings)
  if (bound.length === 0 || Matching.isExempt(attributes)) return
  let denied: Failure.Failure | undefined
  for (const stored of world.store.list(policies)) {
    const policy = compiledOf.get(stored) ?? compile(stored)
    compiledOf.set(stored, policy)
    const own = bound.filter((binding) => Json.at(binding, "spec", "policyName") === policy.name)
    for (const failure of own.length === 0 ? [] : denials(world, policy, own, attributes, options)) denied ??= failure
  }
  if (denied !== undefined) throw denied
}

const compile = (stored: JsonObject): Compiled => {
  const spec = Json.object(stored.spec)
  const compiler = Evaluation.compilerOf(spec, Json.list(spec.variables).length > 0)
  return {
    name: ObjectMeta.nameOf(stored),
    spec,
    ignores: spec.failurePolicy === "Ignore",
    conditions: Evaluation.conditionsOf(spec),
    validations: Json.objects(spec.validations).map(({ expression, message, messageExpression, reason }) => {
      const source = String(expression)
      const said = Json.text(messageExpression) ?? ""
      return {
        source,
        compiled: compiler.compile(source, ["bool"]),
        said: said.trim() === "" ? undefined : compiler.compile(said, ["string"], false),
        message: (Json.text(message) ?? "").trim(),
        reason: Json.text(reason) ?? "Invalid"
      }
    }),
    annotations: Json.objects(spec.auditAnnotations).map(({ valueExpression }) => {
      const source = String(valueExpression).trim()
      return { source, compiled: compiler.compile(source, ["string", "null_type"]) }
    })
  }
}

function* denials(
  world: World,
  policy: Compiled,
  bound: ReadonlyArray<JsonObject>,
  attributes: Attributes.Attributes,
  options: WriteOptions
): Iterable<Failure.Failure> {
  const matched = Evaluation.matchedBy(world, policy.spec.matchConstraints, attributes)
  if (matched === undefined) return
  const paramKind = Params.kindOf(world, policy.spec.paramKind)
  if (typeof paramKind === "string") {
    if (!policy.ignores) yield failureOf(attributes, policy, undefined, { message: configured("policy", paramKind) })
    return
  }
  for (const binding of bound) {
    const spec = Json.object(binding.spec)
    if (spec.matchResources !== undefined && Evaluation.matchedBy(world, spec.matchResources, attributes) === undefined)
      continue
    const name = ObjectMeta.nameOf(binding)
    const params = Params.collect(world, paramKind, spec.paramRef, attributes)
    if (typeof params === "string") {
      if (!policy.ignores) yield failureOf(attributes, policy, name, { message: configured("binding", params) })
      continue
    }
    const actions = Json.list(spec.validationActions)
    for (const param of params) {
      const input = Request.inputOf(world, attributes, matched, param, options)
      const { annotations, decisions } = evaluate(policy, input, Request.conditionInput(input, attributes))
      for (const denial of decisions) {
        if (actions.includes("Deny")) yield failureOf(attributes, policy, name, denial)
        if (actions.includes("Warn")) {
          const by = `ValidatingAdmissionPolicy '${policy.name}' with binding '${name}'`
          options.warn(`Validation failed for ${by}: ${denial.message}`)
        }
      }
      for (const denial of annotations) yield failureOf(attributes, policy, name, denial)
    }
  }
}

const configured = (what: "policy" | "binding", problem: string): string => `failed to configure ${what}: ${problem}`

interface Evaluated {
  readonly decisions: ReadonlyArray<Denial>
  /** Errors of audit annotations, which deny whatever the binding's actions are. */
  readonly annotations: ReadonlyArray<Denial>
}

const nothing: Evaluated = { decisions: [], annotations: [] }

const evaluate = (policy: Compiled, input: Expressions.Input, condition: Expressions.Input): Evaluated => {
  const met = Evaluation.conditionsMet(policy.conditions, condition)
  if (met === false) return nothing
  if (met !== true) return policy.ignores ? nothing : { decisions: [{ message: met.problem }], annotations: [] }
  const activation = Expressions.activate(input)
  const decisions = policy.validations.flatMap((validation): ReadonlyArray<Denial> => {
    const result = Evaluation.evaluated(validation, activation)
    if ("problem" in result) return policy.ignores ? [] : [{ message: result.problem }]
    if (result.value === true) return []
    return [{ message: messageOf(validation, activation), reason: validation.reason }]
  })
  const annotations = policy.annotations.flatMap((annotation): ReadonlyArray<Denial> => {
    const result = Evaluation.evaluated(annotation, activation)
    return "problem" in result && !policy.ignores ? [{ message: result.problem }] : []
  })
  return { decisions, annotations }
}

/** The most bytes of a message. */
const mostMessage = 5 * 1024

const messageOf = ({ message, said, source }: Validation, activation: Expressions.Activation): string => {
  const result = said === undefined || "problem" in said ? undefined : said.evaluate(activation)
  const text = result !== undefined && "value" in result && typeof result.value === "string" ? result.value.trim() : ""
  if (text !== "" && !text.includes("\n") && Buffer.byteLength(text) <= mostMessage) return text
  return message === "" ? `failed expression: ${source.trim()}` : message
}

const codes: { readonly [reason: string]: number } = {
  Forbidden: 403,
  Unauthorized: 401,
  RequestEntityTooLarge: 413
}

const failureOf = (
  attributes: Attributes.Attributes,
  policy: Compiled,
  binding: string | undefined,
  { message, reason = "Invalid" }: Denial
): Failure.Failure => {
  const by = binding === undefined ? "" : ` with binding '${binding}'`
  const denied = `ValidatingAdmissionPolicy '${policy.name}'${by} denied request: ${message}`
  const forbidden = Failure.forbidden(attributes.resource, Request.shownName(attributes), denied, [{ message: denied }])
  return new Failure.Failure({
    code: codes[reason] ?? 422,
    reason,
    message: forbidden.message,
    details: forbidden.details
  })
}
