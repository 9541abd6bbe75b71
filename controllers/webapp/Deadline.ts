/**
 * The progress deadline where kube-controller-manager does not watch it. Pure.
 *
 * kube-controller-manager watches no rollout while the Deployment has the condition Progressing with the reason `NewReplicaSetAvailable` and
 * only pods of the newest template:
 *
 * - During a scale-out. The condition is about the last rollout.
 * - In some rollouts with `Recreate`. The old pods stop between two syncs, or the write of `NewReplicaSetCreated` meets a conflict. The
 *   ReplicaSet exists in the next sync, which then does not set the reason again.
 */
import type { Deployment, Pod } from "@homeostat/runtime/resource/BuiltIn"

/** The annotation of the Deployment with the time when the controller last changed its pod template. */
export const startedAnnotation = "apps.kubedojo.io/rollout-started"

/** kube-controller-manager notices a missed deadline within this time. */
const patience = 5000

/** The number with which a Deployment has no deadline. */
const unlimited = 2_147_483_647

/** A Deployment that does not have its pods yet, with its deadline. */
interface Unfinished {
  /** Milliseconds without progress after which a rollout has failed. */
  readonly allowed: number
  readonly conditions: NonNullable<NonNullable<Deployment["status"]>["conditions"]>
}

const unfinished = ({ metadata, spec, status = {} }: Deployment): Unfinished | undefined => {
  const { paused = false, progressDeadlineSeconds = 600, replicas: wanted = 1 } = spec ?? {}
  const { availableReplicas = 0, conditions = [], observedGeneration = 0, updatedReplicas = 0 } = status
  const isObserved = observedGeneration >= (metadata.generation ?? 0)
  const isComplete = availableReplicas >= wanted && updatedReplicas >= wanted
  if (!isObserved || isComplete || paused || progressDeadlineSeconds === unlimited) return undefined
  return { allowed: progressDeadlineSeconds * 1000, conditions }
}

const existing = (pods: ReadonlyArray<Pod>) => pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined)

/** When pods were created, and when those that are ready became so. */
const progressOf = (pods: ReadonlyArray<Pod>): ReadonlyArray<string | undefined> =>
  existing(pods).flatMap(({ metadata, status }) => {
    const ready = status?.conditions?.find((each) => each.type === "Ready" && each.status === "True")
    return [metadata.creationTimestamp, ready?.lastTransitionTime]
  })

const latest = (times: ReadonlyArray<string | undefined>): number =>
  Math.max(...times.map((time) => Date.parse(time ?? "")).filter((time) => !Number.isNaN(time)))

/**
 * When the present pods have made no progress for the deadline, in milliseconds since 1970: pods of the newest template that are not
 * available. Undefined if all are, and while kube-controller-manager watches the deadline.
 *
 * @param pods the cached pods of the Deployment
 */
export const ofPods = (deployment: Deployment, pods: ReadonlyArray<Pod>): number | undefined => {
  const { allowed, conditions } = unfinished(deployment) ?? {}
  const { replicas = 0, updatedReplicas = 0 } = deployment.status ?? {}
  const reported = (type: string) => conditions?.find((condition) => condition.type === type)
  if (allowed === undefined || reported("Progressing")?.reason !== "NewReplicaSetAvailable") return undefined
  // The cache of the pods may be behind that of the Deployment.
  if (replicas !== updatedReplicas || existing(pods).length < replicas) return undefined
  const since = latest([
    ...progressOf(pods),
    deployment.metadata.annotations?.[startedAnnotation],
    ...["Available", "ReplicaFailure"].map((type) => reported(type)?.lastTransitionTime)
  ])
  return Number.isFinite(since) ? since + allowed : undefined
}

/**
 * When the rollout of the present template has failed although kube-controller-manager has not reported anything about it, in milliseconds
 * since 1970. Undefined if kube-controller-manager has reported something, and without {@link startedAnnotation}.
 *
 * @param pods the cached pods of the Deployment
 */
export const ofTemplate = (deployment: Deployment, pods: ReadonlyArray<Pod>): number | undefined => {
  const { allowed, conditions } = unfinished(deployment) ?? {}
  const started = Date.parse(deployment.metadata.annotations?.[startedAnnotation] ?? "")
  if (allowed === undefined || conditions === undefined || Number.isNaN(started)) return undefined
  const progressing = conditions.find(({ type }) => type === "Progressing")
  const isReported = Date.parse(progressing?.lastUpdateTime ?? "") >= started
  return isReported ? undefined : Math.max(started, latest(progressOf(pods))) + allowed + patience
}

/** Milliseconds until the next of these deadlines; undefined if there is none in the future. */
export const left = (deployment: Deployment, pods: ReadonlyArray<Pod>, now: number): number | undefined => {
  const all = [ofPods(deployment, pods), ofTemplate(deployment, pods)]
  const future = all.flatMap((due) => (due === undefined || due <= now ? [] : [due - now]))
  return future.length === 0 ? undefined : Math.min(...future)
}
