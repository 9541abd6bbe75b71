/** Evaluates ValidatingAdmissionPolicies, which may deny a request. */

import * as AdmissionExpressions from "../kinds/cel/AdmissionExpressions.ts"
import * as CostLimits from "../kinds/cel/cost/CostLimits.ts"
import type * as Attributes from "../model/Attributes.ts"
import * as Failure from "../model/Failure.ts"
import * as Json from "../model/Json.ts"
import * as Request from "./AdmissionRequest.ts"
import * as Evaluation from "./Evaluation.ts"
import * as Policies from "./Policies.ts"
import type { ServerState, WriteOptions } from "./ServerState.ts"

/** A policy with its compiled expressions. */
interface Compiled extends Policies.Policy {
  readonly validations: ReadonlyArray<Validation>
  readonly annotations: ReadonlyArray<Evaluation.Expression>
}

interface Validation extends Evaluation.Expression {
  readonly messageExpression: AdmissionExpressions.Compiled | undefined
  readonly message: string
  readonly reason: string
}

/** A denial by one of the expressions. */
interface Denial {
  readonly message: string
  readonly reason?: string
}

/** Throws a Failure if a policy denies the request. Adds the warnings of policies that only warn. */
export const check = (state: ServerState, attributes: Attributes.Attributes, options: WriteOptions): void => {
  // Evaluates all policies, because each of them may warn.
  const [denied] = [...denials(state, attributes, options)]
  if (denied !== undefined) throw denied
}

const policies = Policies.make(
  "admissionregistration.k8s.io/validatingadmissionpolicies",
  "admissionregistration.k8s.io/validatingadmissionpolicybindings",
  (spec): Pick<Compiled, "validations" | "annotations"> => {
    const compiler = Evaluation.compilerOf(spec, Json.list(spec.variables).length > 0)
    return {
      validations: Json.objects(spec.validations).map(({ expression, message, messageExpression, reason }) => {
        const source = String(expression)
        const expressed = Json.text(messageExpression) ?? ""
        return {
          source,
          compiled: compiler.compile(source, ["bool"]),
          messageExpression: expressed.trim() === "" ? undefined : compiler.compile(expressed, ["string"], false),
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
)

function* denials(
  state: ServerState,
  attributes: Attributes.Attributes,
  options: WriteOptions
): Iterable<Failure.Failure> {
  for (const invocation of policies.all(state, attributes)) {
    const { binding, policy } = invocation
    if ("problem" in invocation) {
      yield failureOf(attributes, policy, binding, { message: invocation.problem })
      continue
    }
    const { bindingSpec, matched, params } = invocation
    const actions = Json.list(bindingSpec.validationActions)
    const input = Request.inputOf(state, attributes, matched, params, options)
    const { annotations, decisions } = evaluate(policy, input, Request.conditionInput(input, attributes))
    for (const denial of decisions) {
      if (actions.includes("Deny")) yield failureOf(attributes, policy, binding, denial)
      if (actions.includes("Warn")) {
        const by = `ValidatingAdmissionPolicy '${policy.name}' with binding '${binding}'`
        options.warn(`Validation failed for ${by}: ${denial.message}`)
      }
    }
    for (const denial of annotations) yield failureOf(attributes, policy, binding, denial)
  }
}

interface Evaluated {
  readonly decisions: ReadonlyArray<Denial>
  /** The errors of audit annotations, which deny the request regardless of the binding's actions. */
  readonly annotations: ReadonlyArray<Denial>
}

const nothing: Evaluated = { decisions: [], annotations: [] }

const evaluate = (
  policy: Compiled,
  input: AdmissionExpressions.Input,
  condition: AdmissionExpressions.Input
): Evaluated => {
  const met = Evaluation.conditionsMet(policy.conditions, condition)
  if (met === false) return nothing
  if (met !== true) return policy.ignores ? nothing : { decisions: [{ message: met.problem }], annotations: [] }
  const activation = AdmissionExpressions.activate(input)
  const decisions: Array<Denial> = []
  for (const validation of policy.validations) {
    const result = Evaluation.evaluated(validation, activation)
    if ("problem" in result && result.isLast === true) return failed(policy, result.problem)
    if ("problem" in result) decisions.push(...failed(policy, result.problem).decisions)
    else if (result.value !== true) {
      const message = messageOf(validation, activation)
      if (typeof message === "string") decisions.push({ message, reason: validation.reason })
      else decisions.push(...failed(policy, message.problem).decisions)
    }
  }
  const audit = AdmissionExpressions.activate(input)
  const annotations: Array<Denial> = []
  for (const annotation of policy.annotations) {
    const result = Evaluation.evaluated(annotation, audit)
    if ("problem" in result && result.isLast === true) return failed(policy, result.problem)
    if ("problem" in result && !policy.ignores) annotations.push({ message: result.problem })
  }
  return { decisions, annotations }
}

/** The decision of a policy after an error. */
const failed = ({ ignores }: Compiled, problem: string): Evaluated =>
  ignores ? nothing : { decisions: [{ message: problem }], annotations: [] }

/** The maximum length of a message, in bytes. */
const mostMessage = 5 * 1024

const messageOf = (
  { message, messageExpression, source }: Validation,
  activation: AdmissionExpressions.Activation
): string | { readonly problem: string } => {
  const result =
    messageExpression === undefined || "problem" in messageExpression
      ? undefined
      : messageExpression.evaluate(activation)
  if (activation.left < 0) return { problem: `failed messageExpression: ${CostLimits.exhausted}` }
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
