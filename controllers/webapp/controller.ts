/**
 * The WebApp controller: each WebApp gets a Deployment and a Service with its name, which the controller keeps as in the spec, and a
 * status with their progress. By its spec it also gets a PodDisruptionBudget, a HorizontalPodAutoscaler and a NetworkPolicy.
 *
 * Needs the permissions to get, list, watch and patch WebApps, and to patch `webapps/status`. Needs also to get, list, watch, create and
 * patch the children, and to delete the latter three. Needs also to list and watch Pods, and to create and patch Events.
 */
import * as Cache from "@homeostat/runtime/cache/Cache"
import type * as Index from "@homeostat/runtime/cache/Index"
import * as ApiError from "@homeostat/runtime/client/ApiError"
import * as Controller from "@homeostat/runtime/controller/Controller"
import * as Owned from "@homeostat/runtime/controller/Owned"
import * as Predicate from "@homeostat/runtime/controller/Predicate"
import * as Result from "@homeostat/runtime/controller/Result"
import * as Status from "@homeostat/runtime/controller/Status"
import * as Trigger from "@homeostat/runtime/controller/Trigger"
import { Deployment, NetworkPolicy, Pod, Service } from "@homeostat/runtime/resource/BuiltIn"
import {
  controllerOf,
  type KubernetesObject,
  keyOf,
  keyString,
  type ObjectKey
} from "@homeostat/runtime/resource/KubernetesObject"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { childrenOf, defaultContainer, manager, managers } from "./children.ts"
import * as Others from "./Others.ts"
import { childOf, conditionTypes, observe, podTrouble, untilLate } from "./status.ts"
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

/** Deployment and WebApp have the same key, so that this index finds the objects of a WebApp. */
const podIndex: Index.Definition = { name: "webapp.deployment", values: (pod) => deploymentsOf(pod).map(keyString) }

/** The WebApp controller. */
export const controller = Controller.make("webapp", {
  for: WebApp,
  fieldManager: manager,
  owns: [Deployment, Service, Owned.kind(NetworkPolicy, { removes: true }), ...Others.owns],
  watches: [
    Trigger.on(Pod, {
      labelSelector: podLabels,
      // The Deployment's status reports most changes of a pod; only pod problems must be reported sooner.
      predicate: Predicate.named(
        "troubles: nothing is wrong with the pod that was not before",
        ({ object, previous }) => troubleOf(object) !== troubleOf(previous)
      ),
      map: deploymentsOf,
      indexes: [podIndex]
    }),
    ...Others.watches
  ],
  transforms: Others.transforms,
  inheritedFinalizers: ["apps.kubedojo.io/finalizer"],
  reconcile: (app) =>
    Effect.gen(function* () {
      const cached = Option.getOrUndefined(yield* Cache.get(Deployment, keyOf(app)))
      const { items: autoscalers } = yield* Others.autoscalersOf(app)
      const { items: budgets } = yield* Others.budgetsOf(app)
      const { children, existing, obstacle, ...chosen } = childrenOf(app, { deployment: cached, autoscalers, budgets })
      const { states } = yield* Owned.allSettled(app, children)
      const failure = failureOf(states)
      if (failure instanceof ApiError.Forbidden) return yield* failure
      const deployment = childOf(states.deployment, existing, obstacle)
      const service = childOf(states.service)
      const networkPolicy = states.networkPolicy && childOf(states.networkPolicy)
      const autoscaler = states.autoscaler && childOf(states.autoscaler)
      const budget = states.budget && childOf(states.budget)
      const { items: pods } = yield* Cache.list(Pod, { index: { name: podIndex.name, value: keyString(keyOf(app)) } })
      const now = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
      const status = observe(app, { ...chosen, deployment, service, networkPolicy, autoscaler, budget, pods, now })
      yield* Status.update(app, status, { conditionTypes })
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
