/** The limits of evaluations in cost units, and kube-apiserver's errors when an expression exceeds them. */

/** The limit for one evaluation. */
export const perCall = 1_000_000

/** The limit for all rules of an object, or for all expressions of a policy. */
export const perRequest = 10_000_000

/** The limit for all match conditions of a policy or a webhook. */
export const perConditions = 2_500_000

/** The error of an evaluation that exceeds `perCall`. */
export const cancelled = "operation cancelled: actual cost limit exceeded"

/** The error of an evaluation for which the rest of the budget is too small. */
export const exhausted = "validation failed due to running out of cost budget, no further validation rules will be run"
