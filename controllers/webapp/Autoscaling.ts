/**
 * The autoscaling of a WebApp: its field in the spec, the HorizontalPodAutoscaler of its Deployment, and the condition Autoscaled. Pure.
 *
 * An autoscaler that the controller did not create takes precedence. With two of them, the HPA controller would scale nothing.
 */
import * as Owned from "@homeostat/runtime/controller/Owned"
import type { Deployment, HorizontalPodAutoscaler } from "@homeostat/runtime/resource/BuiltIn"
import type * as Condition from "@homeostat/runtime/resource/Condition"
import * as Field from "@homeostat/runtime/resource/Field"
import { controllerOf, type Desired, type KubernetesObject } from "@homeostat/runtime/resource/KubernetesObject"
import * as Schema from "effect/Schema"
import * as Delivery from "./Delivery.ts"

const count = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1000 }))

const utilization = (resource: string, more: string) =>
  Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1000 }))).annotate({
    description: `The average use of ${resource} to aim at, in percent of the pods' requests${more}.`
  })

/** The range of the replicas, and the use of resources that the autoscaler aims at. */
export const Autoscaling = Schema.Struct({
  min: Schema.optionalKey(count).annotate({
    description: "The least pods that run; 2 by default."
  }),
  max: count.annotate({ description: "The most pods that run." }),
  cpu: utilization("CPU", "; 80 by default if memory is not set"),
  memory: utilization("memory", "")
}).pipe(
  Field.rule({
    rule: "(has(self.min) ? self.min : 2) <= self.max",
    message: "min (2 by default) must be less than or equal to max"
  })
)

/** The parts of a WebApp that decide on its replicas. */
export interface Scaled extends KubernetesObject {
  readonly spec: { readonly replicas: number; readonly autoscaling?: typeof Autoscaling.Type }
}

/** The fewest pods that the autoscaler keeps. */
export const leastOf = ({ min = 2 }: typeof Autoscaling.Type): number => min

/** The source of the replicas of the Deployment, and the number that the controller sets. */
export interface Scaling {
  /** `Spec`: the controller sets them. `Autoscaler`: its own autoscaler does. `Others`: another autoscaler does, or did last. */
  readonly by: "Spec" | "Autoscaler" | "Others"
  /** The replicas that the controller sets. */
  readonly replicas: number
  /** Whether the controller keeps an autoscaler of its own. */
  readonly isWanted: boolean
  /** The autoscaler of another manager. */
  readonly other?: HorizontalPodAutoscaler | undefined
}

/** The annotation of a Deployment that an autoscaler scaled, with the replicas of the WebApp's spec at that time. */
export const replicasAnnotation = "apps.kubedojo.io/replicas"

/**
 * Decides who sets the replicas.
 *
 * - A new Deployment starts with the replicas that the autoscaler wants, and otherwise with those of the spec, within the range of the
 *   autoscaler: without replicas it would start with one.
 * - `replicas: 0` stops the pods. The own autoscaler is idle then, because the HPA controller ignores a Deployment with 0 replicas.
 * - The own autoscaler is gone before the replicas of the spec apply again. It would revert them otherwise.
 * - After another autoscaler was deleted, the replicas stay until the spec asks for another number.
 *
 * @param existing the cached Deployment
 * @param autoscalers the cached autoscalers of the Deployment and of the WebApp
 */
export const of = (
  app: Scaled,
  existing: Deployment | undefined,
  autoscalers: ReadonlyArray<HorizontalPodAutoscaler>
): Scaling => {
  const { autoscaling, replicas } = app.spec
  const others = autoscalers
    .filter((each) => !isOwn(app, each))
    .sort((one, another) => (one.metadata.name < another.metadata.name ? -1 : 1))
  const isDelivered = Delivery.of(app) !== undefined
  const isWanted = autoscaling !== undefined && others.length === 0 && !isDelivered
  const scalesDeployment = ({ spec }: HorizontalPodAutoscaler) => spec?.scaleTargetRef.kind === "Deployment"
  const scaler = isWanted ? autoscalers[0] : isDelivered ? undefined : others.find(scalesDeployment)
  // The HPA controller reports 0 before it has computed a number.
  const asked = existing === undefined && replicas > 0 ? (scaler?.status?.desiredReplicas ?? 0) : 0
  const first = asked > 0 ? asked : replicas
  const start = isWanted && first > 0 ? Math.min(Math.max(first, leastOf(autoscaling)), autoscaling.max) : first
  const by = ((): Scaling["by"] => {
    if (existing === undefined) return "Spec"
    if (isDelivered) return "Others"
    if (others.some(scalesDeployment)) return "Others"
    if (autoscalers.length > others.length || isWanted) {
      return replicas === 0 || existing.spec?.replicas === 0 ? "Spec" : "Autoscaler"
    }
    return existing.metadata.annotations?.[replicasAnnotation] === String(replicas) ? "Others" : "Spec"
  })()
  return { by, replicas: start, isWanted, other: others[0] }
}

/** Whether the WebApp controls an autoscaler, or did before it was deleted with `--cascade=orphan` and created again. */
const isOwn = (app: Scaled, { metadata }: HorizontalPodAutoscaler): boolean => {
  const controller = controllerOf({ metadata })
  const wasOwn = metadata.name === app.metadata.name && metadata.annotations?.[Owned.intentAnnotation] !== undefined
  return controller === undefined ? wasOwn : controller.uid === app.metadata.uid
}

/** The autoscaler of the Deployment. It has the name of the WebApp. */
export const desired = (
  app: Scaled,
  autoscaling: typeof Autoscaling.Type,
  labels: { readonly [key: string]: string }
): Desired<HorizontalPodAutoscaler> => {
  const { name } = app.metadata
  const { memory, cpu = memory === undefined ? 80 : undefined, max } = autoscaling
  const metric = (resource: string, averageUtilization: number | undefined) =>
    averageUtilization === undefined
      ? []
      : [{ type: "Resource", resource: { name: resource, target: { type: "Utilization", averageUtilization } } }]
  return {
    metadata: { name, labels },
    spec: {
      scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name },
      minReplicas: leastOf(autoscaling),
      maxReplicas: max,
      metrics: [...metric("cpu", cpu), ...metric("memory", memory)]
    }
  }
}

/** The fields that the controller owns alone: another metric would scale the pods by another rule. */
export const exclusive = [["spec", "metrics"]] as const

/** The type of the condition. */
export const conditionType = "Autoscaled"

/**
 * The condition Autoscaled; undefined without `spec.autoscaling`.
 *
 * @param autoscaler the own autoscaler, or why it could not be applied
 */
export const condition = (
  app: Scaled,
  { other }: Scaling,
  autoscaler: {
    readonly object?: HorizontalPodAutoscaler | undefined
    readonly problem?: { readonly reason: string; readonly message: string } | undefined
  }
): Condition.Draft | undefined => {
  const { autoscaling, replicas } = app.spec
  if (autoscaling === undefined) return undefined
  const draft = (status: Condition.Draft["status"], reason: string, message: string): Condition.Draft => ({
    type: conditionType,
    status,
    reason,
    message
  })
  const delivery = Delivery.of(app)
  if (delivery !== undefined) {
    const message = `${delivery} sets the replicas (remove the annotation ${Delivery.annotation}, or spec.autoscaling)`
    return draft("False", "Delivered", message)
  }
  if (other !== undefined) {
    const target = other.spec?.scaleTargetRef
    return draft(
      "False",
      "OtherAutoscaler",
      `HorizontalPodAutoscaler ${other.metadata.name} already scales ${target?.kind} ${target?.name} (delete it, or remove spec.autoscaling)`
    )
  }
  if (autoscaler.problem !== undefined) {
    return draft("False", autoscaler.problem.reason, autoscaler.problem.message)
  }
  if (replicas === 0) return draft("False", "ScaledToZero", "spec.replicas is 0")
  const reported = (type: string) => autoscaler.object?.status?.conditions?.find((each) => each.type === type)
  const name = `HorizontalPodAutoscaler ${app.metadata.name}`
  const able = reported("AbleToScale")
  const active = reported("ScalingActive")
  const failed = [able, active].find((each) => each?.status === "False")
  if (failed !== undefined) {
    return draft("False", failed.reason ?? "ScalingInactive", messageOf(failed.message) ?? `${name} cannot scale`)
  }
  return active?.status === "True"
    ? draft("True", "ScalingActive", `${name} keeps ${leastOf(autoscaling)} to ${autoscaling.max} replicas`)
    : draft("Unknown", "ScalingUnknown", `${name} has no status yet`)
}

/** The message of the HPA controller. Its message about a missing request names another pod each time. */
const messageOf = (message: string | undefined): string | undefined => {
  const [, resource, container] = /missing request for (\S+) in container (\S+)/.exec(message ?? "") ?? []
  return resource === undefined
    ? message
    : `container ${container} has no request for ${resource} (set spec.resources.requests.${resource})`
}
