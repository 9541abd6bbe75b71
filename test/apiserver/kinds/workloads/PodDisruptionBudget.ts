/** policy/v1 PodDisruptionBudget. */
import * as FieldError from "../../model/FieldError.ts"
import type { JsonObject } from "../../model/Json.ts"
import * as Json from "../../model/Json.ts"
import * as Check from "../Check.ts"
import { type Definition, type Errors, spec, statusStrategy, strategy } from "../Definition.ts"
import * as Templates from "./Templates.ts"

const counts = { currentHealthy: 0, desiredHealthy: 0, disruptionsAllowed: 0, expectedPods: 0 }

const main = strategy({
  shape: "policy/v1.PodDisruptionBudget",
  status: counts,
  generation: spec,
  validate: (object) => validate(Json.object(object.spec))
})

function* validate(given: JsonObject): Errors {
  const { maxUnavailable, minAvailable } = given
  if (minAvailable !== undefined && maxUnavailable !== undefined) {
    yield FieldError.invalid(
      "spec",
      {
        MinAvailable: minAvailable,
        Selector: given.selector ?? null,
        MaxUnavailable: maxUnavailable,
        UnhealthyPodEvictionPolicy: given.unhealthyPodEvictionPolicy ?? null
      },
      "minAvailable and maxUnavailable cannot be both set"
    )
  }
  for (const [name, value] of [
    ["minAvailable", minAvailable],
    ["maxUnavailable", maxUnavailable]
  ] as const) {
    if (value === undefined) continue
    yield* Templates.countOrShare(`spec.${name}`, value)
    yield* Templates.atMostAll(`spec.${name}`, value)
  }
  yield* Check.labelSelector("spec.selector", given.selector)
  const policy = given.unhealthyPodEvictionPolicy
  if (policy !== undefined) {
    yield* Check.word("spec.unhealthyPodEvictionPolicy", policy, ["AlwaysAllow", "IfHealthyBudget"])
  }
}

/** The definition of PodDisruptionBudget. */
export const podDisruptionBudget: Definition = {
  group: "policy",
  version: "v1",
  kind: "PodDisruptionBudget",
  strategy: main,
  status: statusStrategy(main, "policy/v1.PodDisruptionBudget", {
    validateUpdate: (object) => Templates.counts("status", Json.object(object.status), Object.keys(counts), [])
  })
}
