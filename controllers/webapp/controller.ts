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
import * as Refusal from "@homeostat/runtime/client/Refusal"
import * as Controller from "@homeostat/runtime/controller/Controller"
import * as Owned from "@homeostat/runtime/controller/Owned"
import * as Predicate from "@homeostat/runtime/controller/Predicate"
import * as Result from "@homeostat/runtime/controller/Result"
import * as Status from "@homeostat/runtime/controller/Status"
import * as Trigger from "@homeostat/runtime/controller/Trigger"
import {
  ControllerRevision,
  Deployment,
  HorizontalPodAutoscaler,
  Pod,
  Service
} from "@homeostat/runtime/resource/BuiltIn"
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
import {
  containerOf,
  defaultContainer,
  desiredDeployment,
  desiredService,
  exclusiveInDeployment,
  exclusiveInService,
  isScaledByOthers,
  manager,
  managers,
  templateOf
} from "./children.ts"
import * as Rollback from "./Rollback.ts"
import { type Child, observe, podTrouble, untilLate } from "./status.ts"
import * as Undo from "./Undo.ts"
import { WebApp } from "./WebApp.ts"

/** `"true"` on a Deployment or Service without a controlling owner transfers it to the WebApp with its name. */
export const adoptAnnotation = "apps.kubedojo.io/adopt"

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
  owns: [Deployment, Service, Rollback.revisions],
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
      const existing = Option.getOrUndefined(yield* Cache.get(Deployment, keyOf(app)))
      const scaledByOthers = isScaledByOthers(app, existing, isAutoscaled)
      const found = containerOf(existing)
      const container = found ?? defaultContainer
      const { items: pods } = yield* Cache.list(Pod, { index })
      const now = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
      const { items: revisions } = yield* Cache.byOwner(ControllerRevision, app)
      const choice = Rollback.choose(app, {
        existing,
        revisions,
        template: templateOf(app, container, existing),
        container,
        cause: podTrouble(pods, container, now)?.message,
        now
      })
      if (existing !== undefined && choice.endsUndo) yield* Undo.release(existing)
      const deployment = yield* child(
        Owned.apply(app, Deployment, desiredDeployment(app, { container, existing, scaledByOthers, choice }), {
          exclusive: exclusiveInDeployment(app, container),
          adoptAnnotation: found === undefined ? undefined : adoptAnnotation,
          handOver: scaledByOthers ? ({ spec }) => ({ spec: { replicas: spec?.replicas } }) : undefined
        }),
        existing,
        found === undefined ? severalContainers : undefined
      )
      // The Service does not wait until the API server accepts the Deployment.
      const service = yield* child(
        Owned.apply(app, Service, desiredService(app, deployment.object), {
          exclusive: exclusiveInService,
          adoptAnnotation
        })
      )
      const failed = [deployment, service].find(({ error }) => error !== undefined)?.error
      if (failed instanceof ApiError.Forbidden) return yield* failed
      if (choice.revision !== undefined) yield* Owned.apply(app, ControllerRevision, choice.revision)
      for (const { metadata } of revisions) {
        if (metadata.name !== choice.revision?.metadata.name) yield* Owned.remove(app, ControllerRevision, metadata)
      }
      yield* Rollback.report(app, choice)
      yield* Status.update(
        app,
        observe(app, { deployment, service, pods, scaledByOthers, container, rollback: choice, now })
      )
      if (failed !== undefined) return yield* failed
      const wait = untilLate(pods, now)
      return wait === undefined ? Result.done : Result.requeueAfter(wait)
    })
})

/** The problem that a pod has, or has soon: a container that runs may become ready in time. */
const troubleOf = (object: unknown): string | undefined =>
  podTrouble(object === undefined ? [] : [object as Pod], defaultContainer, Number.POSITIVE_INFINITY)?.message

/** The result of applying a child. */
type Applied<A> = Child<A> & {
  /** The error of the attempt, after the other child was applied. */
  readonly error?: ApiError.Forbidden | ApiError.Invalid | ApiError.ServerError
}

const severalContainers = `its Deployment cannot be adopted: several containers (rename the one with the image to ${defaultContainer})`

/**
 * Applies a child. If the API server rejects it, the other child is still applied. A child of another owner is reported without a
 * retry, because its change or removal triggers the WebApp.
 *
 * @param existing the cached child
 * @param obstacle why the controller cannot own the child, if it is not the child's owner
 */
const child = <A, E, R>(
  apply: Effect.Effect<A, E | Refused, R>,
  existing?: A | undefined,
  obstacle?: string | undefined
): Effect.Effect<Applied<A>, E, R> =>
  Effect.matchEffect(apply, {
    onSuccess: (object) => Effect.succeed<Applied<A>>({ object }),
    onFailure: (error): Effect.Effect<Applied<A>, E> => {
      if (error instanceof Owned.NotOwned) {
        return Effect.succeed({ problem: { reason: "NotOwned", message: obstacle ?? error.message } })
      }
      const isRefused = error instanceof ApiError.Forbidden || Refusal.isRejection(error) || Refusal.isMistyped(error)
      if (!isRefused) return Effect.fail(error as E)
      return Effect.succeed({
        object: existing,
        error,
        problem: { reason: "Invalid", message: Refusal.describe(error) }
      })
    }
  })

type Refused = Owned.NotOwned | ApiError.Forbidden | ApiError.Invalid | ApiError.ServerError
