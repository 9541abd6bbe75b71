/** Matches and evaluates the resources, match conditions and expressions of validating and mutating policies. */

import * as AdmissionExpressions from "../kinds/cel/AdmissionExpressions.ts"
import * as CostLimits from "../kinds/cel/cost/CostLimits.ts"
import type * as Attributes from "../model/Attributes.ts"
import type { JsonObject, Json as JsonValue } from "../model/Json.ts"
import * as Json from "../model/Json.ts"
import type { Kind } from "../model/Kind.ts"
import * as Matching from "./Matching.ts"
import type { ServerState } from "./ServerState.ts"

/** An expression and its compiled program. */
export interface Expression {
  readonly source: string
  readonly compiled: AdmissionExpressions.Compiled
}

/** The match conditions of a policy or a webhook. */
export const conditionsOf = (spec: JsonObject): ReadonlyArray<Expression> => {
  const compiler = AdmissionExpressions.compiler({ composed: false, params: Json.isObject(spec.paramKind) })
  return Json.objects(spec.matchConditions).map(({ expression }) => {
    const source = String(expression)
    return { source, compiled: compiler.compile(source, ["bool"]) }
  })
}

/** A compiler with the variables of a policy. */
export const compilerOf = (spec: JsonObject, composed: boolean): AdmissionExpressions.Compiler => {
  const compiler = AdmissionExpressions.compiler({ composed, params: Json.isObject(spec.paramKind) })
  for (const { expression, name } of Json.objects(spec.variables)) compiler.declare(String(name), String(expression))
  return compiler
}

/** The version of the resource that `matchResources` match; undefined if they do not match. Without rules they match every resource. */
export const matchedBy = (
  state: ServerState,
  value: JsonValue | undefined,
  attributes: Attributes.Attributes
): Kind | undefined => {
  const resources = Json.object(value)
  const { excludeResourceRules, matchPolicy, resourceRules } = resources
  if (!Matching.selects(state, resources, attributes)) return undefined
  if (Matching.matched(state, excludeResourceRules, matchPolicy, attributes) !== undefined) return undefined
  return Json.list(resourceRules).length === 0
    ? attributes.resource
    : Matching.matched(state, resourceRules, matchPolicy, attributes)
}

/**
 * Evaluates an expression. Returns its value, or the error message of a kube-apiserver. If `isLast` is true, the expressions exceed the
 * cost limit, and the remaining ones are not evaluated.
 */
export const evaluated = (
  { compiled, source }: Expression,
  activation: AdmissionExpressions.Activation
): { readonly value: unknown } | { readonly problem: string; readonly isLast?: boolean } => {
  if ("problem" in compiled) return { problem: `compilation error: ${compiled.problem}` }
  const result = compiled.evaluate(activation)
  if (activation.left < 0) return { problem: CostLimits.exhausted, isLast: true }
  return "problem" in result ? { problem: `expression '${source}' resulted in error: ${result.problem}` } : result
}

/** True if all match conditions are true, or their errors. A false condition decides, even if another condition fails. */
export const conditionsMet = (
  conditions: ReadonlyArray<Expression>,
  input: AdmissionExpressions.Input
): boolean | { readonly problem: string } => {
  if (conditions.length === 0) return true
  const activation = AdmissionExpressions.activate(input, CostLimits.perConditions)
  const problems = new Set<string>()
  for (const condition of conditions) {
    const result = evaluated(condition, activation)
    if ("problem" in result && result.isLast === true) return result
    if ("problem" in result) problems.add(result.problem)
    else if (result.value === false) return false
  }
  if (problems.size === 0) return true
  const [only = ""] = problems
  return { problem: problems.size === 1 ? only : `[${[...problems].join(", ")}]` }
}
