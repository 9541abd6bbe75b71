/**
 * The spread of a WebApp's pods over nodes and zones. Pure.
 *
 * Without it, kube-scheduler spreads the pods by constraints of its own, with less weight. The field has no default: kube-scheduler gives a
 * node without the label of a constraint no points. In a cluster without zones, a constraint for zones would end the spread over nodes.
 */
import type { Pod } from "@homeostat/runtime/resource/BuiltIn"
import * as Schema from "effect/Schema"
import type { Selector } from "./Selector.ts"

/** The places over which the pods spread. */
export const Spread = Schema.Literals(["Nodes", "Zones"])

const keys = {
  Nodes: ["kubernetes.io/hostname"],
  Zones: ["topology.kubernetes.io/zone", "kubernetes.io/hostname"]
} as const

type Constraints = NonNullable<NonNullable<Pod["spec"]>["topologySpreadConstraints"]>

/**
 * The constraints of the pods. A pod is scheduled even if they cannot be met.
 *
 * @param selector the selector of the Deployment
 */
export const of = (spread: typeof Spread.Type, selector: Selector): Constraints =>
  keys[spread].map((topologyKey) => ({
    maxSkew: 1,
    topologyKey,
    whenUnsatisfiable: "ScheduleAnyway",
    labelSelector: selector,
    // Otherwise the pods of the old revision count, and a rollout leaves the pods where these were not.
    matchLabelKeys: ["pod-template-hash"]
  }))
