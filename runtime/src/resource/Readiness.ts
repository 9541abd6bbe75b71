/**
 * Whether an object has reached the state of its spec, by the rules of kstatus, which `kubectl wait`, Flux and Argo CD follow too.
 *
 * The rules in order: an object that is being deleted is `Terminating`. It is `InProgress` if `status.observedGeneration` is older than
 * its generation, or if its condition Reconciling is True. It is `Failed` if its condition Stalled is True. Then the rules of its kind
 * decide. For other kinds the condition Ready decides. An object without that condition is `Current`. Unlike kstatus, the
 * `observedGeneration` of the conditions Ready, Reconciling and Stalled counts, too.
 *
 * | kind | `Current` when |
 * | --- | --- |
 * | Deployment, ReplicaSet, DaemonSet | all pods run the spec and are available |
 * | StatefulSet | all pods are ready, and those up to the partition run the spec. With `OnDelete` it is always `Current` |
 * | Job | it is complete. kstatus asks only whether the Job has started |
 * | Pod | it is ready, or has succeeded |
 * | PersistentVolumeClaim | it is bound. A claim that waits for its first pod stays `InProgress` |
 * | Service | it exists. For the type LoadBalancer it has a cluster IP. Nothing asks for the address of the load balancer |
 * | CustomResourceDefinition | the API server serves it |
 */
import * as Result from "effect/Result"
import {
  CustomResourceDefinition,
  DaemonSet,
  Deployment,
  Job,
  PersistentVolumeClaim,
  Pod,
  ReplicaSet,
  Service,
  StatefulSet
} from "./BuiltIn.ts"
import type { KubernetesObject } from "./KubernetesObject.ts"
import * as Resource from "./Resource.ts"

/** The state of an object. */
export interface Readiness {
  /**
   * `Current`: it has reached its spec. `InProgress`: its controller works on that. `Failed`: it does not reach its spec without a user.
   * `Terminating`: it is being deleted.
   */
  readonly state: "Current" | "InProgress" | "Failed" | "Terminating"
  /** Why, in words for people: `1 of 3 replicas are available`. */
  readonly message: string
}

const current = (message: string): Readiness => ({ state: "Current", message })
const inProgress = (message: string): Readiness => ({ state: "InProgress", message })
const failed = (message: string): Readiness => ({ state: "Failed", message })

/**
 * The part of a condition that the rules read. A status may have any content.
 *
 * @internal
 */
export interface Stated {
  readonly type?: unknown
  readonly status?: unknown
  readonly reason?: unknown
  readonly message?: unknown
  readonly observedGeneration?: unknown
}

const statusOf = (object: object): { readonly conditions?: unknown; readonly observedGeneration?: unknown } =>
  "status" in object && typeof object.status === "object" && object.status !== null ? object.status : {}

const isCondition = (entry: unknown): entry is Stated => typeof entry === "object" && entry !== null

const conditionOf = (object: object, type: string): Stated | undefined => {
  const { conditions } = statusOf(object)
  const entries: ReadonlyArray<unknown> = Array.isArray(conditions) ? conditions : []
  return entries.filter(isCondition).find((entry) => entry.type === type)
}

const isTrue = (condition: Stated | undefined): boolean => condition?.status === "True"

const wordsOf = ({ message, reason, status, type }: Stated): string =>
  typeof message === "string" && message !== "" ? message : String(reason ?? `${type} is ${status}`)

/** The conditions of kstatus. */
const summaries = ["Ready", "Reconciling", "Stalled"]

const isOlder = (report: { readonly observedGeneration?: unknown } | undefined, generation: number): boolean =>
  typeof report?.observedGeneration === "number" && report.observedGeneration < generation

/** The rules for all kinds, as far as they decide. */
const general = (object: KubernetesObject): Readiness | undefined => {
  const { deletionTimestamp, generation } = object.metadata
  if (deletionTimestamp !== undefined) return { state: "Terminating", message: "it is being deleted" }
  const reports = [statusOf(object), ...summaries.map((type) => conditionOf(object, type))]
  if (generation !== undefined && reports.some((report) => isOlder(report, generation))) {
    return inProgress("its controller has not seen its present spec")
  }
  const reconciling = conditionOf(object, "Reconciling")
  if (reconciling !== undefined && isTrue(reconciling)) return inProgress(wordsOf(reconciling))
  const stalled = conditionOf(object, "Stalled")
  return stalled !== undefined && isTrue(stalled) ? failed(wordsOf(stalled)) : undefined
}

/** The first count that is too small, in words. */
const lacking = (wanted: number, counts: { readonly [what: string]: number | undefined }): string | undefined => {
  const short = Object.entries(counts).find(([, count = 0]) => count < wanted)
  return short === undefined ? undefined : `${short[1] ?? 0} of ${wanted} replicas ${short[0]}`
}

const deployment = (object: Deployment): Readiness => {
  const { spec, status = {} } = object
  const wanted = spec?.replicas ?? 1
  const progressing = conditionOf(object, "Progressing")
  if (progressing?.reason === "ProgressDeadlineExceeded") return failed(wordsOf(progressing))
  const { availableReplicas, readyReplicas, replicas = 0, updatedReplicas } = status
  const short = lacking(wanted, {
    exist: replicas,
    "run the present spec": updatedReplicas,
    "are ready": readyReplicas,
    "are available": availableReplicas
  })
  if (short !== undefined) return inProgress(short)
  if (replicas > (updatedReplicas ?? 0))
    return inProgress(`${replicas - (updatedReplicas ?? 0)} old replicas still run`)
  return isTrue(conditionOf(object, "Available"))
    ? current(`${wanted} of ${wanted} replicas are available`)
    : inProgress("it is not available yet")
}

const replicaSet = (object: ReplicaSet): Readiness => {
  const wanted = object.spec?.replicas ?? 1
  const failure = conditionOf(object, "ReplicaFailure")
  if (failure !== undefined && isTrue(failure)) return inProgress(wordsOf(failure))
  const { availableReplicas, readyReplicas, replicas } = object.status ?? {}
  const short = lacking(wanted, { exist: replicas, "are ready": readyReplicas, "are available": availableReplicas })
  if (short !== undefined) return inProgress(short)
  return (replicas ?? 0) > wanted
    ? inProgress(`${(replicas ?? 0) - wanted} superfluous replicas still run`)
    : current(`${wanted} of ${wanted} replicas are available`)
}

const statefulSet = ({ spec, status }: StatefulSet): Readiness => {
  if (spec?.updateStrategy?.type === "OnDelete") return current("its pods are replaced when they are deleted")
  const wanted = spec?.replicas ?? 1
  const { currentRevision, readyReplicas, replicas = 0, updatedReplicas = 0, updateRevision } = status ?? {}
  const short = lacking(wanted, { exist: replicas, "are ready": readyReplicas })
  if (short !== undefined) return inProgress(short)
  if (replicas > wanted) return inProgress(`${replicas - wanted} superfluous replicas still run`)
  const partition = spec?.updateStrategy?.rollingUpdate?.partition ?? 0
  if (partition > 0) {
    return updatedReplicas < wanted - partition
      ? inProgress(`${updatedReplicas} of ${wanted - partition} replicas run the present spec`)
      : current(`${wanted} of ${wanted} replicas are ready, up to the partition`)
  }
  return status?.observedGeneration === undefined || currentRevision !== updateRevision
    ? inProgress(`${updatedReplicas} of ${wanted} replicas run the present spec`)
    : current(`${wanted} of ${wanted} replicas are ready`)
}

const daemonSet = ({ status }: DaemonSet): Readiness => {
  if (status?.observedGeneration === undefined) return inProgress("its controller has not seen it")
  const { currentNumberScheduled, desiredNumberScheduled: wanted, numberAvailable, numberReady } = status
  const short = lacking(wanted, {
    exist: currentNumberScheduled,
    "run the present spec": status.updatedNumberScheduled,
    "are ready": numberReady,
    "are available": numberAvailable
  })
  return short === undefined ? current(`${wanted} of ${wanted} replicas are available`) : inProgress(short)
}

const job = (object: Job): Readiness => {
  const failure = conditionOf(object, "Failed")
  if (failure !== undefined && isTrue(failure)) return failed(wordsOf(failure))
  const wanted = object.spec?.completions ?? 1
  const { failed: failures = 0, succeeded = 0 } = object.status ?? {}
  if (isTrue(conditionOf(object, "Complete"))) return current("it is complete")
  if (isTrue(conditionOf(object, "Suspended"))) return inProgress("it is suspended")
  return inProgress(`${succeeded} of ${wanted} pods succeeded${failures > 0 ? `, ${failures} failed` : ""}`)
}

const pod = (object: Pod): Readiness => {
  const { containerStatuses = [], phase = "Pending" } = object.status ?? {}
  if (phase === "Succeeded") return current("it has succeeded")
  if (phase === "Failed") return failed(object.status?.message ?? "it has failed")
  const ready = conditionOf(object, "Ready")
  if (isTrue(ready)) return current("it is ready")
  const crashing = containerStatuses.find(({ state }) => state?.waiting?.reason === "CrashLoopBackOff")
  if (crashing !== undefined) return failed(`container ${crashing.name} crashes again and again`)
  const scheduled = conditionOf(object, "PodScheduled")
  return inProgress(scheduled?.status === "False" ? wordsOf(scheduled) : `its phase is ${phase}, and it is not ready`)
}

const claim = ({ status }: PersistentVolumeClaim): Readiness =>
  status?.phase === "Bound" ? current("it is bound") : inProgress(`its phase is ${status?.phase ?? "Pending"}`)

const service = ({ spec }: Service): Readiness =>
  spec?.type === "LoadBalancer" && (spec.clusterIP ?? "") === ""
    ? inProgress("it has no IP address yet")
    : current("it exists")

const definition = (object: CustomResourceDefinition): Readiness => {
  const names = conditionOf(object, "NamesAccepted")
  if (names?.status === "False") return failed(wordsOf(names))
  return isTrue(conditionOf(object, "Established"))
    ? current("the API server serves it")
    : inProgress("the API server does not serve it yet")
}

type Rule = (wire: KubernetesObject) => Readiness

const rule = <A extends KubernetesObject>(
  kind: Resource.Resource<A, never>,
  judge: (object: A) => Readiness
): readonly [string, Rule] => [
  Resource.nameOf(kind),
  (wire) =>
    Result.match(kind.decode(wire), {
      onFailure: ({ message }) => inProgress(message),
      onSuccess: (object) => judge(object)
    })
]

const rules: ReadonlyMap<string, Rule> = new Map([
  rule(Deployment, deployment),
  rule(ReplicaSet, replicaSet),
  rule(StatefulSet, statefulSet),
  rule(DaemonSet, daemonSet),
  rule(Job, job),
  rule(Pod, pod),
  rule(PersistentVolumeClaim, claim),
  rule(Service, service),
  rule(CustomResourceDefinition, definition)
])

/**
 * Whether the status of a built-in kind has rules here.
 *
 * @internal
 */
export const hasRule = (kind: Resource.Any): boolean => rules.has(Resource.nameOf(kind))

const byCondition = (object: KubernetesObject): Readiness => {
  const ready = conditionOf(object, "Ready")
  if (ready === undefined) return current("it exists")
  return isTrue(ready) ? current(wordsOf(ready)) : inProgress(wordsOf(ready))
}

/**
 * The readiness of an object.
 *
 * @example
 * ```ts
 * const deployment = yield* Owned.apply(site, BuiltIn.Deployment, {
 *   metadata: { name: "shop" },
 *   spec: {
 *     replicas: 3,
 *     selector: { matchLabels: { app: "shop" } },
 *     template: { metadata: { labels: { app: "shop" } }, spec: { containers: [{ name: "web", image: "nginx:1.27" }] } }
 *   }
 * })
 * Readiness.of(BuiltIn.Deployment, deployment).message // => "0 of 3 replicas exist"
 * ```
 */
export const of = (kind: Resource.Any, object: KubernetesObject): Readiness =>
  general(object) ?? (rules.get(Resource.nameOf(kind)) ?? byCondition)(object)
