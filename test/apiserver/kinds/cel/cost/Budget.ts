/** The budget of cost units for the rules of an object. */
import type * as Expression from "../Expression.ts"
import * as CostLimits from "./CostLimits.ts"
import type { Declared } from "./Declared.ts"

/** The rest of a budget. */
export interface Budget {
  /** Evaluates an expression and subtracts its cost. Returns undefined if the budget is too small for the expression. */
  readonly evaluate: (
    program: Expression.Program,
    declared: () => Declared | undefined,
    context: Expression.Context
  ) => Expression.Result | undefined
  /** Whether the budget is used up, so that evaluation stops. */
  readonly isOver: () => boolean
  /** Whether kube-apiserver would report the same errors so far. */
  readonly isEnough: () => boolean
}

const estimates = new WeakMap<Expression.Program, number>()

const greatestCost = (program: Expression.Program, declared: () => Declared | undefined): number => {
  const known = estimates.get(program) ?? program.greatestCost(declared())
  estimates.set(program, known)
  return known
}

/** Returns a budget that subtracts the estimated greatest cost of each evaluation, without counting. It may run out too early. */
export const estimated = (): Budget => {
  let left = CostLimits.perRequest
  return {
    evaluate: (program, declared, context) => {
      const cost = greatestCost(program, declared)
      left = cost > CostLimits.perCall ? -1 : left - cost
      return left < 0 ? undefined : program.evaluate(context)
    },
    isOver: () => left < 0,
    isEnough: () => left >= 0
  }
}

/** Returns a budget that counts and subtracts the actual cost of each evaluation. */
export const counted = (): Budget => {
  let left = CostLimits.perRequest
  return {
    evaluate: (program, _, context) => {
      if (left <= 0) {
        left = -1
        return undefined
      }
      const { cost, result } = program.measure(context)
      left = cost > left ? -1 : left - cost
      if (left < 0) return undefined
      if ("problem" in result && result.problem === CostLimits.cancelled) left = -1
      return result
    },
    isOver: () => left < 0,
    isEnough: () => true
  }
}
