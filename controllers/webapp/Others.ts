/**
 * The autoscalers and budgets of the cluster, which other managers may have made for the pods of a WebApp. The cache keeps little of them,
 * and their status triggers a WebApp only where the controller reports it.
 */
import * as Budget from "@homeostat/runtime/cache/Budget"
import * as Cache from "@homeostat/runtime/cache/Cache"
import type * as Index from "@homeostat/runtime/cache/Index"
import * as Transform from "@homeostat/runtime/cache/Transform"
import * as Owned from "@homeostat/runtime/controller/Owned"
import * as Predicate from "@homeostat/runtime/controller/Predicate"
import * as Trigger from "@homeostat/runtime/controller/Trigger"
import { Deployment, HorizontalPodAutoscaler, PodDisruptionBudget } from "@homeostat/runtime/resource/BuiltIn"
import {
  controllerOf,
  type KubernetesObject,
  keyOf,
  keyString,
  type ObjectKey
} from "@homeostat/runtime/resource/KubernetesObject"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Selector from "./Selector.ts"
import { WebApp } from "./WebApp.ts"

/** Whether a WebApp controls an object, or did before it was deleted with `--cascade=orphan`. */
const isOwned = ({ metadata }: KubernetesObject): boolean => {
  const controller = controllerOf({ metadata })
  return controller === undefined
    ? metadata.annotations?.[Owned.intentAnnotation] !== undefined
    : controller.kind === WebApp.kind && controller.apiVersion.startsWith(`${WebApp.group}/`)
}

/** The replicas that a new Deployment starts with. */
const replicasOf = ({ status }: HorizontalPodAutoscaler) => ({ desiredReplicas: status?.desiredReplicas })

const scalingConditions = new Set(["AbleToScale", "ScalingActive"])

/** The cache has the autoscalers and budgets of all tenants, which may be large. */
export const transforms = [
  Transform.of(
    HorizontalPodAutoscaler,
    (autoscaler) =>
      isOwned(autoscaler)
        ? {
            ...autoscaler,
            status: {
              ...replicasOf(autoscaler),
              conditions: autoscaler.status?.conditions
                ?.filter(({ type }) => scalingConditions.has(type))
                .map(({ message, reason, status, type }) => ({ type, status, reason, message }))
            }
          }
        : {
            apiVersion: "autoscaling/v2",
            kind: "HorizontalPodAutoscaler",
            metadata: Transform.existence(autoscaler).metadata,
            spec: { scaleTargetRef: autoscaler.spec?.scaleTargetRef },
            status: replicasOf(autoscaler)
          },
    { maxBytes: Budget.foreignBytes }
  ),
  Transform.of(
    PodDisruptionBudget,
    (budget) =>
      isOwned(budget)
        ? { ...budget, status: undefined }
        : {
            apiVersion: "policy/v1",
            kind: "PodDisruptionBudget",
            metadata: Transform.existence(budget).metadata,
            spec: { selector: budget.spec?.selector }
          },
    { maxBytes: Budget.foreignBytes }
  )
]

/** The HPA controller and the disruption controller write the status of each object every few seconds. */
const changed = Predicate.named(
  "changed: the fields that the controller reads are unchanged",
  ({ object, previous }) => previous === undefined || !Bun.deepEquals(partsOf(object), partsOf(previous), true)
)

type Changing = KubernetesObject & { readonly status?: { readonly desiredReplicas?: number | undefined } | undefined }

/** Without the metadata that every write changes, and without the replicas: only the creation of a Deployment needs them. */
const partsOf = ({ metadata, status, ...parts }: Changing) => {
  const { managedFields: _, resourceVersion: __, ...rest } = metadata
  const { desiredReplicas: ___, ...reported } = status ?? {}
  return { ...parts, metadata: rest, status: reported }
}

/** The kinds of these children. */
export const owns = [
  Owned.kind(HorizontalPodAutoscaler, { removes: true, predicate: changed }),
  Owned.kind(PodDisruptionBudget, { removes: true, predicate: changed })
]

/** The WebApp that an autoscaler scales, itself or by its Deployment. */
const targetsOf = (autoscaler: HorizontalPodAutoscaler): ReadonlyArray<ObjectKey> => {
  const { apiVersion = "", kind, name } = autoscaler.spec?.scaleTargetRef ?? {}
  const isOfWebApp = kind === WebApp.kind && apiVersion.startsWith(`${WebApp.group}/`)
  return name !== undefined && (kind === "Deployment" || isOfWebApp) ? [{ ...keyOf(autoscaler), name }] : []
}

/** The Deployments of WebApps with pods that a budget selects. */
const selectedBy = (budget: PodDisruptionBudget): Effect.Effect<ReadonlyArray<ObjectKey>, never, Cache.Cache> =>
  isOwned(budget)
    ? Effect.succeed([])
    : Effect.map(Cache.list(Deployment, { namespace: budget.metadata.namespace }), ({ items }) =>
        items.filter((each) => isOwned(each) && Selector.matches(budget.spec?.selector, podLabelsOf(each))).map(keyOf)
      )

/** The labels of the pods of a Deployment. */
export const podLabelsOf = ({ spec }: Deployment): Selector.Labels => spec?.template.metadata?.labels ?? {}

const targetIndex: Index.Definition = {
  name: "webapp.target",
  values: (wire) =>
    Result.match(HorizontalPodAutoscaler.decode(wire), {
      onFailure: () => [],
      onSuccess: (autoscaler) => targetsOf(autoscaler).map(keyString)
    })
}

/** The budgets that WebApps do not own, by namespace: those of 10,000 WebApps would make each reconcile slow. */
const otherIndex: Index.Definition = {
  name: "webapp.others",
  values: (budget) => (isOwned(budget) ? [] : [budget.metadata.namespace ?? ""])
}

/** The triggers of objects that WebApps do not own. */
export const watches = [
  Trigger.on(HorizontalPodAutoscaler, { map: targetsOf, predicate: changed, indexes: [targetIndex] }),
  Trigger.on(PodDisruptionBudget, {
    map: selectedBy,
    // A term begins with every WebApp.
    predicate: Predicate.and(changed, ({ initial }) => !initial),
    indexes: [otherIndex]
  })
]

/** The autoscalers of a WebApp and of its Deployment. */
export const autoscalersOf = (app: WebApp) =>
  Cache.list(HorizontalPodAutoscaler, { index: { name: targetIndex.name, value: keyString(keyOf(app)) } })

/** The budgets of the namespace that WebApps do not own. */
export const budgetsOf = ({ metadata: { namespace = "" } }: WebApp) =>
  Cache.list(PodDisruptionBudget, { index: { name: otherIndex.name, value: namespace } })
