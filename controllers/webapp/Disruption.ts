/**
 * The PodDisruptionBudget of a WebApp: its field in the spec, the budget, and the condition DisruptionBudgetReady. Pure.
 *
 * The API server refuses each eviction of a pod with two budgets, so the controller keeps none where another budget selects the pods.
 */
import type { PodDisruptionBudget } from "@homeostat/runtime/resource/BuiltIn"
import type * as Condition from "@homeostat/runtime/resource/Condition"
import * as Field from "@homeostat/runtime/resource/Field"
import type { Desired } from "@homeostat/runtime/resource/KubernetesObject"
import * as Schema from "effect/Schema"
import * as Autoscaling from "./Autoscaling.ts"
import * as Selector from "./Selector.ts"

/** How many pods may be unavailable at a time because of evictions. */
export const Disruption = Schema.Struct({
  maxUnavailable: Schema.optionalKey(
    Field.IntOrString.pipe(
      Field.rule({
        rule: "type(self) == string ? self.matches('^([1-9][0-9]?|100)%$') : self >= 1",
        message: "must be at least 1, or from 1% to 100%"
      })
    )
  ).annotate({
    description: "The most pods that may be unavailable because of evictions: a number, or a percentage such as 25%."
  }),
  none: Schema.optionalKey(Schema.Struct({})).annotate({
    description: "No PodDisruptionBudget: a drain may evict all pods at once."
  })
}).pipe(
  Field.rule({
    rule: "has(self.maxUnavailable) != has(self.none)",
    message: "set exactly one of maxUnavailable and none"
  })
)

interface App extends Autoscaling.Scaled {
  readonly spec: Autoscaling.Scaled["spec"] & { readonly disruptionBudget?: typeof Disruption.Type }
}

/**
 * Whether the WebApp has a budget. Below two pods it would allow every eviction.
 *
 * @param scaling who sets the replicas
 */
export const isWanted = ({ spec }: App, scaling: Autoscaling.Scaling): boolean => {
  if (spec.disruptionBudget?.none !== undefined || spec.replicas === 0) return false
  const least =
    scaling.isWanted && spec.autoscaling !== undefined ? Autoscaling.leastOf(spec.autoscaling) : spec.replicas
  return least >= 2
}

/** Whether the WebApp may have a budget, so that the other budgets of its pods matter. */
export const isPossible = ({ spec }: App): boolean => spec.replicas >= 2 || spec.autoscaling !== undefined

/**
 * The first of the budgets that selects the pods.
 *
 * @param others the budgets of other managers in the namespace
 * @param labels the labels of the pods
 */
export const selecting = (
  others: ReadonlyArray<PodDisruptionBudget>,
  labels: Selector.Labels
): PodDisruptionBudget | undefined =>
  others
    .filter(({ spec }) => Selector.matches(spec?.selector, labels))
    .sort((one, other) => (one.metadata.name < other.metadata.name ? -1 : 1))[0]

/** The budget. A pod that is not ready can always be evicted, so that a broken rollout does not block the drain of a node. */
export const desired = (
  app: App,
  selector: Selector.Selector,
  labels: Selector.Labels
): Desired<PodDisruptionBudget> => ({
  metadata: { name: app.metadata.name, labels },
  spec: {
    maxUnavailable: app.spec.disruptionBudget?.maxUnavailable ?? 1,
    selector,
    unhealthyPodEvictionPolicy: "AlwaysAllow"
  }
})

/** The fields that the controller owns alone: another key of the selector would select fewer pods. */
export const exclusive = [["spec", "selector"]] as const

/** The type of the condition. */
export const conditionType = "DisruptionBudgetReady"

/**
 * The condition DisruptionBudgetReady; undefined if the spec does not mention the budget and the controller can keep it.
 *
 * @param other the budget of another manager that selects the pods
 * @param problem why the own budget could not be applied
 */
export const condition = (
  { metadata, spec }: App,
  scaling: Autoscaling.Scaling,
  other: PodDisruptionBudget | undefined,
  problem: { readonly reason: string; readonly message: string } | undefined
): Condition.Draft | undefined => {
  if (!isWanted({ metadata, spec }, scaling)) return undefined
  const type = conditionType
  if (other !== undefined) {
    const message = `PodDisruptionBudget ${other.metadata.name} already selects the pods (delete it, or set spec.disruptionBudget.none)`
    return { type, status: "False", reason: "OtherBudget", message }
  }
  if (problem !== undefined) return { type, status: "False", ...problem }
  const { maxUnavailable } = spec.disruptionBudget ?? {}
  if (maxUnavailable === undefined) return undefined
  const message = `PodDisruptionBudget ${metadata.name} has maxUnavailable ${maxUnavailable}`
  return { type, status: "True", reason: "Applied", message }
}
