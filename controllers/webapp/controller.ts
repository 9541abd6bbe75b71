/**
 * The WebApp controller: each WebApp gets a Deployment and a Service with its name, which the controller keeps as in the spec, and a
 * status with their progress. Other fields of the spec add a route, an autoscaler, a PodDisruptionBudget, a NetworkPolicy, Jobs, or a
 * ControllerRevision with the last good pod template.
 *
 * The manager needs these permissions:
 *
 * - get, list, watch and patch WebApps, and patch `webapps/status`
 * - get, list, watch, create and patch the children, and delete all but the Deployment and the Service
 * - list and watch Pods
 * - get, list and watch ConfigMaps and Secrets
 * - list, create and patch Events
 */
import * as Cache from "@homeostat/runtime/cache/Cache"
import type * as Index from "@homeostat/runtime/cache/Index"
import * as Pods from "@homeostat/runtime/cache/Pods"
import * as ApiError from "@homeostat/runtime/client/ApiError"
import * as Client from "@homeostat/runtime/client/Client"
import * as Permission from "@homeostat/runtime/client/Permission"
import * as Refusal from "@homeostat/runtime/client/Refusal"
import * as Access from "@homeostat/runtime/controller/Access"
import * as Controller from "@homeostat/runtime/controller/Controller"
import * as Lasting from "@homeostat/runtime/controller/Lasting"
import * as Owned from "@homeostat/runtime/controller/Owned"
import * as Predicate from "@homeostat/runtime/controller/Predicate"
import * as Refused from "@homeostat/runtime/controller/Refused"
import * as Result from "@homeostat/runtime/controller/Result"
import * as Status from "@homeostat/runtime/controller/Status"
import * as Trigger from "@homeostat/runtime/controller/Trigger"
import {
  ControllerRevision,
  Deployment,
  Event,
  Job,
  NetworkPolicy,
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
import * as Resource from "@homeostat/runtime/resource/Resource"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Config from "./Config.ts"
import * as ConfigData from "./ConfigData.ts"
import { childrenOf, defaultContainer, manager, managers } from "./children.ts"
import * as Deadline from "./Deadline.ts"
import * as Delivery from "./Delivery.ts"
import * as Disruption from "./Disruption.ts"
import * as Exposure from "./Exposure.ts"
import { childOf } from "./Finding.ts"
import * as HeldTemplate from "./HeldTemplate.ts"
import * as JobPlan from "./JobPlan.ts"
import * as JobTemplate from "./JobTemplate.ts"
import * as MissingPod from "./MissingPod.ts"
import * as Others from "./Others.ts"
import * as Rollback from "./Rollback.ts"
import { conditionTypes, observe, podTrouble, untilLate } from "./status.ts"
import * as Undo from "./Undo.ts"
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
  indexes: [ConfigData.index],
  owns: [
    Deployment,
    Service,
    // StatefulSets and DaemonSets have ControllerRevisions too.
    Owned.kind(ControllerRevision, { removes: true, select: { labels: `app.kubernetes.io/managed-by=${manager}` } }),
    Owned.kind(NetworkPolicy, { removes: true }),
    Owned.kind(Job, { removes: true, select: { labels: JobTemplate.jobLabel } }),
    ...Exposure.kinds,
    ...Others.owns
  ],
  watches: [
    Trigger.on(Pod, {
      select: { labels: podLabels },
      // The Deployment's status reports most changes of a pod; only pod problems must be reported sooner.
      predicate: Predicate.named(
        "troubles: the pod has no new problem",
        ({ object, previous }) => troubleOf(object) !== troubleOf(previous)
      ),
      map: (pod) => [...deploymentsOf(pod), ...JobTemplate.webappsOf(pod)],
      indexes: [podIndex]
    }),
    ...Others.watches,
    ...ConfigData.watches
  ],
  transforms: [Pods.progress, ...Others.transforms, ...ConfigData.transforms],
  access: [Access.list(Event), ...ConfigData.access],
  inheritedFinalizers: ["apps.kubedojo.io/finalizer"],
  reconcile: (app) =>
    Effect.gen(function* () {
      const cached = Option.getOrUndefined(yield* Cache.get(Deployment, keyOf(app)))
      const { items: autoscalers } = yield* Others.autoscalersOf(app)
      const budgets = Disruption.isPossible(app) ? (yield* Others.budgetsOf(app)).items : []
      const references = Config.referencesOf(app.spec)
      const config = references.length === 0 ? undefined : yield* ConfigData.observe(app, references)
      const { items: pods } = yield* Cache.list(Pod, { index: { name: podIndex.name, value: keyString(keyOf(app)) } })
      const now = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
      const found = childrenOf(app, {
        deployment: cached,
        service:
          Delivery.of(app) === undefined ? undefined : Option.getOrUndefined(yield* Cache.get(Service, keyOf(app))),
        autoscalers,
        budgets,
        config,
        jobs: (yield* Cache.byOwner(Job, app)).items.filter((job) => controllerOf(job)?.uid === app.metadata.uid),
        revisions: app.spec.rollback === "Auto" ? (yield* Cache.byOwner(ControllerRevision, app)).items : [],
        pods,
        troubleOf: (container) => podTrouble(pods, container, now)?.message,
        now
      })
      const { children, container, existing, jobs, obstacle, otherBudget, rollback, scaling } = found
      for (const job of jobs.superseded) yield* Owned.remove(app, Job, keyOf(job), { propagation: "Foreground" })
      // The next reconcile has the newer spec, whose jobs may be others.
      if (children.job !== undefined && !(yield* isLatest(app))) return Result.done
      if (existing !== undefined && rollback.endsUndo) yield* Undo.release(existing)
      yield* HeldTemplate.report(app, found.deployment, existing)
      const { states } = yield* Owned.allSettled(app, children)
      const errors = Object.values(states).flatMap((state) => errorOf(state) ?? [])
      const failures = errors.filter(isFailure)
      const failure = failures.find((error) => !Refusal.isFailure(error)) ?? failures[0]
      // The runtime reports it in the status. A route that is forbidden leaves the report about the pods to this controller.
      const missing = errors.find(
        (error) => error !== errorOf(states.route) && (lacksPermission(error) || isOfRevision(error, states.revision))
      )
      if (missing !== undefined) return yield* missing
      // The API server may answer again in a moment, and the status would change twice.
      if (Refusal.isFailure(failure) && !(yield* Lasting.lasts)) return yield* failure
      const held = states.deployment && childOf(states.deployment, existing, obstacle)
      const deployment = Config.isMissing(config) ? (held ?? Config.waiting) : JobPlan.waiting(jobs, held)
      const service = childOf(states.service)
      const route = states.route && childOf<Exposure.Route>(states.route)
      const networkPolicy = states.networkPolicy && childOf(states.networkPolicy)
      const autoscaler = states.autoscaler && childOf(states.autoscaler)
      const budget = states.budget && childOf(states.budget)
      const complete = jobs.runs.length === 0 ? undefined : yield* jobsComplete(jobs, states.job, container, now)
      yield* Rollback.report(app, rollback)
      const status = observe(app, {
        nextAttempt: failure === undefined ? "" : yield* Refused.nextAttempt(failure),
        config,
        deployment,
        service,
        jobs: complete?.finding,
        route,
        networkPolicy,
        autoscaler,
        budget,
        otherBudget,
        container,
        scaling,
        rollback,
        pods,
        now
      })
      yield* Status.update(app, status, { conditionTypes })
      if (failure !== undefined) return yield* failure
      const never = Number.POSITIVE_INFINITY
      const wait = Math.min(
        untilLate(pods, now) ?? never,
        // The deadline changes nothing for a WebApp that has lost pods.
        (existing && status.phase !== "Degraded" ? Deadline.left(existing, pods, now) : undefined) ?? never,
        // The cache does not have a foreign Job, whose deletion would trigger the WebApp.
        complete?.finding?.reason === "NotOwned" ? 60_000 : never,
        complete?.again ?? never
      )
      return wait === never ? Result.done : Result.requeueAfter(wait)
    })
})

/** The condition JobsComplete, and after how many milliseconds to look for the pod of a Job again. */
const jobsComplete = (plan: JobPlan.JobPlan, state: Owned.State<Job> | undefined, container: string, now: number) =>
  Effect.gen(function* () {
    const obstacle = `Job ${plan.next?.name} exists and has another owner (delete it, or rename the job)`
    const { object: job = plan.next?.job, problem } = state === undefined ? {} : childOf(state, undefined, obstacle)
    const pods = job === undefined ? [] : (yield* Cache.byOwner(Pod, job)).items
    const { again, note } = yield* MissingPod.of(job, pods, now)
    return { finding: JobPlan.finding(plan, { job, problem, pods, podless: note, container, now }), again }
  })

/** Whether the API server has no newer spec. */
const isLatest = (app: WebApp) =>
  Client.get(Resource.metadataOnly(WebApp), keyOf(app)).pipe(
    Effect.map(
      ({ metadata: { generation, uid } }) => uid === app.metadata.uid && generation === app.metadata.generation
    ),
    Effect.catchTag("NotFound", () => Effect.succeed(false))
  )

/** The problem that a pod has, or has soon: a container that runs may become ready in time. */
const troubleOf = (object: unknown): string | undefined =>
  podTrouble(object === undefined ? [] : [object as Pod], defaultContainer, Number.POSITIVE_INFINITY)?.message

const errorOf = (state: Owned.State<KubernetesObject> | undefined) =>
  state?._tag === "Failed" ? state.error : undefined

/** Whether the manager lacks a permission. A quota, a policy or a webhook forbids a child, too, and its condition reports that. */
const lacksPermission = (error: Owned.Refused): boolean =>
  error instanceof ApiError.Forbidden &&
  (Permission.missing(error) !== undefined || ApiError.isNamespaceTerminating(error))

/** Whether the ControllerRevision cannot be applied, about which no condition is. */
const isOfRevision = (error: Owned.Refused, revision: Owned.State<KubernetesObject> | undefined): boolean =>
  (error instanceof ApiError.Forbidden || Refusal.isFailure(error)) && error === errorOf(revision)

/**
 * Whether an error of a child fails the attempt, after the other children were applied. A child of another owner, or of a kind that is not
 * served, fails nothing: the change or removal of that child, or the kind, triggers the WebApp.
 */
const isFailure = (error: Owned.Refused): boolean =>
  !(error instanceof Owned.NotOwned || error instanceof Owned.NotServed)
