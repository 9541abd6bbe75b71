/** The limits of the costs of evaluations, and the errors of a kube-apiserver when an expression reaches them. */

/** The most that one evaluation may cost. */
export const perCall = 1_000_000

/** The most that the rules of an object, or the expressions of a policy, may cost together. */
export const perRequest = 10_000_000

/** The most that the match conditions of a policy or a webhook may cost together. */
export const perConditions = 2_500_000

/** The error of an evaluation that costs too much. */
export const cancelled = "operation cancelled: actual cost limit exceeded"

/** The error of an evaluation for which nothing is left. */
export const exhausted = "validation failed due to running out of cost budget, no further validation rules will be run"
