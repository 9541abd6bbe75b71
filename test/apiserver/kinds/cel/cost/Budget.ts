/** The cost that is left for the rules of an object. */
import type * as Expression from "../Expression.ts"
import * as CostLimits from "./CostLimits.ts"
import type { Declared } from "./Declared.ts"

/** What is left. */
export interface Budget {
  /** Evaluates an expression, and takes its cost. Gives undefined if there is not enough for it. */
  readonly evaluate: (
    program: Expression.Program,
    declared: () => Declared | undefined,
    context: Expression.Context
  ) => Expression.Result | undefined
  /** Whether no more rules are evaluated. */
  readonly isOver: () => boolean
  /** Whether the errors so far are those of a kube-apiserver. */
  readonly isEnough: () => boolean
}

const estimates = new WeakMap<Expression.Program, number>()

const greatestCost = (program: Expression.Program, declared: () => Declared | undefined): number => {
  const known = estimates.get(program) ?? program.greatestCost(declared())
  estimates.set(program, known)
  return known
}

/** Takes the greatest cost that each evaluation can have, so that nothing is counted. It may not be enough. */
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

/** Takes the cost that each evaluation has. */
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
