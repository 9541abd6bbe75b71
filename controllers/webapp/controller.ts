/**
 * The WebApp controller: each WebApp gets a Deployment and a Service with its name, which the controller keeps as in the spec, and a
 * status with their progress.
 *
 * Needs the permissions to get, list, watch and patch WebApps, Deployments and Services. Creates the latter two. Needs also to patch
 * `webapps/status`, to list and watch Pods and HorizontalPodAutoscalers, and to create and patch Events.
 */
import * as Cache from "@homeostat/runtime/cache/Cache"
import * as Transform from "@homeostat/runtime/cache/Transform"
import * as ApiError from "@homeostat/runtime/client/ApiError"
import * as Controller from "@homeostat/runtime/controller/Controller"
import * as Owned from "@homeostat/runtime/controller/Owned"
import * as Predicate from "@homeostat/runtime/controller/Predicate"
import * as Result from "@homeostat/runtime/controller/Result"
import * as Status from "@homeostat/runtime/controller/Status"
import * as Trigger from "@homeostat/runtime/controller/Trigger"
import { Deployment, HorizontalPodAutoscaler, Pod, Service } from "@homeostat/runtime/resource/BuiltIn"
import {
  controllerOf,
  type KubernetesObject,
  keyOf,
  keyString,
  type ObjectKey
} from "@homeostat/runtime/resource/KubernetesObject"
import type * as Resource from "@homeostat/runtime/resource/Resource"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import { childrenOf, defaultContainer, manager, managers } from "./children.ts"
import { childOf, observe, podTrouble, untilLate } from "./status.ts"
import { WebApp } from "./WebApp.ts"

const podLabels = `app.kubernetes.io/managed-by in (${managers.join(",")})`

/** A pod's Deployment. Labels do not identify it, because a Deployment that was taken over has its own. */
const deploymentsOf = (pod: KubernetesObject): ReadonlyArray<ObjectKey> => {
  const holder = controllerOf(pod)
  const revision = pod.metadata.labels?.["pod-template-hash"]
  return holder?.kind === "ReplicaSet" && revision !== undefined && holder.name.endsWith(`-${revision}`)
    ? [{ ...keyOf(pod), name: holder.name.slice(0, -revision.length - 1) }]
    : []
}

/** The Deployment of an autoscaler, if its target is one. */
const targetsOf = (autoscaler: HorizontalPodAutoscaler): ReadonlyArray<ObjectKey> => {
  const target = autoscaler.spec?.scaleTargetRef
  return target?.kind === "Deployment" ? [{ ...keyOf(autoscaler), name: target.name }] : []
}

/** Deployment and WebApp have the same key, so that this index finds the objects of a WebApp. */
const deploymentIndex = "webapp.deployment"

const byDeployment = <A extends KubernetesObject>(
  kind: Resource.Resource<A, never>,
  keysOf: (object: A) => ReadonlyArray<ObjectKey>
) => ({
  name: deploymentIndex,
  values: (wire: KubernetesObject) =>
    Either.match(kind.decode(wire), { onLeft: () => [], onRight: (object) => keysOf(object).map(keyString) })
})

/** The WebApp controller. */
export const controller = Controller.make("webapp", {
  for: WebApp,
  fieldManager: manager,
  owns: [Deployment, Service],
  watches: [
    Trigger.on(Pod, {
      labelSelector: podLabels,
      // The Deployment's status reports most changes of a pod; only pod problems must be reported sooner.
      predicate: Predicate.named(
        "troubles: nothing is wrong with the pod that was not before",
        ({ object, previous }) => troubleOf(object) !== troubleOf(previous)
      ),
      map: deploymentsOf,
      indexes: [byDeployment(Pod, deploymentsOf)]
    }),
    Trigger.on(HorizontalPodAutoscaler, {
      map: targetsOf,
      indexes: [byDeployment(HorizontalPodAutoscaler, targetsOf)]
    })
  ],
  transforms: [
    // The cache has the autoscalers of all tenants, which may be large.
    Transform.of(HorizontalPodAutoscaler, (autoscaler) => ({
      apiVersion: "autoscaling/v2",
      kind: "HorizontalPodAutoscaler",
      metadata: Transform.existence(autoscaler).metadata,
      spec: { scaleTargetRef: autoscaler.spec?.scaleTargetRef }
    }))
  ],
  inheritedFinalizers: ["apps.kubedojo.io/finalizer"],
  reconcile: (app) =>
    Effect.gen(function* () {
      const index = { name: deploymentIndex, value: keyString(keyOf(app)) }
      // An autoscaler of the Deployment sets its replicas; one of the WebApp sets `spec.replicas` and needs no handling.
      const isAutoscaled = (yield* Cache.list(HorizontalPodAutoscaler, { index })).items.length > 0
      const cached = Option.getOrUndefined(yield* Cache.get(Deployment, keyOf(app)))
      const { children, existing, obstacle, ...chosen } = childrenOf(app, { deployment: cached, isAutoscaled })
      const { states } = yield* Owned.allSettled(app, children)
      const failure = failureOf(states)
      if (failure instanceof ApiError.Forbidden) return yield* failure
      const deployment = childOf(states.deployment, existing, obstacle)
      const service = childOf(states.service)
      const { items: pods } = yield* Cache.list(Pod, { index })
      const now = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
      yield* Status.update(app, observe(app, { ...chosen, deployment, service, pods, now }))
      if (failure !== undefined) return yield* failure
      const wait = untilLate(pods, now)
      return wait === undefined ? Result.done : Result.requeueAfter(wait)
    })
})

/** The problem that a pod has, or has soon: a container that runs may become ready in time. */
const troubleOf = (object: unknown): string | undefined =>
  podTrouble(object === undefined ? [] : [object as Pod], defaultContainer, Number.POSITIVE_INFINITY)?.message

/**
 * The first error of a child, which fails the attempt after the other children were applied. A child of another owner fails nothing: its
 * change or removal triggers the WebApp.
 */
const failureOf = (states: { readonly [name: string]: Owned.State<KubernetesObject> | undefined }) =>
  Object.values(states)
    .flatMap((state) => (state?._tag === "Failed" ? [state.error] : []))
    .find((error) => !(error instanceof Owned.NotOwned))
