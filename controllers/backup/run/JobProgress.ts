/** The progress of a mover's Job, from the Job and its pods, as Kubernetes' Job controller and the kubelet report them. Pure. */
import type { Job, Pod } from "@homeostat/runtime/resource/BuiltIn"
import { controllerOf, type KubernetesObject } from "@homeostat/runtime/resource/KubernetesObject"
import * as Duration from "effect/Duration"
import * as Names from "../kinds/Names.ts"
import * as MoverReport from "../mover/MoverReport.ts"
import * as MoverJob from "./MoverJob.ts"
import type * as Outcome from "./Outcome.ts"
import { millis } from "./Text.ts"

/** The progress of a Job. Times are epoch milliseconds. A Job that has ended may still have to be deleted. */
export type Progress =
  | Starting
  | {
      readonly _tag: "Running"
      readonly message: string
      /** The mover has ended, and another container of its pod has not. */
      readonly ended?: { readonly ending: Outcome.Ending; readonly at: number }
    }
  | { readonly _tag: "Ended"; readonly ending: Outcome.Ending; readonly at: number }

/** No container of the current attempt runs yet. */
export interface Starting {
  readonly _tag: "Starting"
  readonly since: number
  /** Why it does not start, if known. */
  readonly obstacle: Obstacle | undefined
  readonly message: string
}

/** Why a pod does not start. */
export interface Obstacle {
  readonly reason: "ImagePullFailed" | "Unschedulable" | "ContainerConfigError"
  readonly image: string
  readonly message: string
}

/** The kubelet's reasons. Image pulls and missing Secrets can recover, so the run fails only after the timeout. */
const obstacles: { readonly [waiting: string]: Obstacle["reason"] } = {
  ErrImagePull: "ImagePullFailed",
  ImagePullBackOff: "ImagePullFailed",
  InvalidImageName: "ImagePullFailed",
  ErrImageNeverPull: "ImagePullFailed",
  ImageInspectError: "ImagePullFailed",
  CreateContainerConfigError: "ContainerConfigError",
  CreateContainerError: "ContainerConfigError",
  RunContainerError: "ContainerConfigError"
}

/** The pods of a Job among those of movers, the oldest first. */
export const podsOf = (job: Job, pods: ReadonlyArray<Pod>): ReadonlyArray<Pod> =>
  pods
    .filter((pod) => controllerOf(pod)?.uid === job.metadata.uid)
    .sort((one, other) => one.metadata.creationTimestamp.localeCompare(other.metadata.creationTimestamp))

/** Whether a Job has finished, with success or failure. */
export const isOver = (job: Job): boolean => hasSucceeded(job) || failure(job) !== undefined

/** Whether a Job has succeeded. */
export const hasSucceeded = (job: Job): boolean => conditionOf(job, "Complete") !== undefined

/** Whether a pod has finished, so that it holds no lock. */
export const isPodOver = ({ status }: Pod): boolean => status?.phase === "Succeeded" || status?.phase === "Failed"

const conditionOf = (job: Job, type: string) =>
  job.status?.conditions?.find((condition) => condition.type === type && condition.status === "True")

const failure = (job: Job) => conditionOf(job, "Failed")

const containerOf = (pod: Pod) => pod.status?.containerStatuses?.find(({ name }) => name === MoverJob.container)

const terminated = (pod: Pod) => containerOf(pod)?.state?.terminated

/**
 * The progress of a Job. For a finished Job, read its pods from the server: the cache may have the end of the Job without those of the
 * pods.
 */
export const read = (job: Job, all: ReadonlyArray<Pod>): Progress => {
  const pods = podsOf(job, all)
  return isOver(job) ? ended(job, pods) : goingOn(job, pods)
}

/** The longest delay before the Job controller creates another pod, in milliseconds: after that, a missing pod was rejected. */
const longestPause = 600_000

const goingOn = (job: Job, pods: ReadonlyArray<Pod>): Progress => {
  const present = pods.filter((pod) => !isPodOver(pod)).at(-1)
  const tries = (job.spec?.backoffLimit ?? 0) + 1
  const failed = pods.filter(({ status }) => status?.phase === "Failed")
  const [, full] = failed.filter(isOutOfStorage)
  if (full !== undefined) {
    const ending = { _tag: "Evicted", message: full.status?.message ?? "", isRepeated: true } as const
    return { _tag: "Ended", ending, at: millis(terminated(full)?.finishedAt) ?? madeAt(full) }
  }
  const words = MoverReport.parse(failed.map(terminated).at(-1)?.message).message
  const counted = failed.filter((pod) => !isDisrupted(pod)).length
  const before =
    counted === 0
      ? ""
      : ` (try ${Math.min(counted + 1, tries)} of ${tries}${words === "" ? "" : `; the one before: ${words}`})`
  if (present === undefined && pods.some(({ status }) => status?.phase === "Succeeded")) return hasEnded
  if (present === undefined && failed.length > 0) {
    const last = Math.max(...failed.map((pod) => millis(terminated(pod)?.finishedAt) ?? madeAt(pod)))
    return {
      _tag: "Starting",
      since: last + longestPause,
      obstacle: undefined,
      message: `The mover is retried${before}`
    }
  }
  if (present?.metadata.deletionTimestamp !== undefined) {
    const { deletionTimestamp, name } = present.metadata
    const node = present.spec?.nodeName ?? "its node"
    return {
      _tag: "Running",
      message: `Pod ${name} has been terminating since ${deletionTimestamp}. If it does not stop, check ${node}`
    }
  }
  if (present !== undefined && containerOf(present)?.state?.running !== undefined) {
    return { _tag: "Running", message: `The mover runs${before}` }
  }
  const container = present && terminated(present)
  if (container !== undefined) {
    const { exitCode, finishedAt, message, reason } = container
    const at = millis(finishedAt)
    if (at === undefined) return hasEnded
    const mover = MoverJob.moverOf(job)
    return { ...hasEnded, ended: { ending: { _tag: "Exited", exitCode, text: message, reason, mover }, at } }
  }
  const obstacle = present === undefined ? undefined : obstacleOf(present)
  return {
    _tag: "Starting",
    since: present === undefined ? withoutPodSince(job) : (millis(present.metadata.creationTimestamp) ?? 0),
    obstacle,
    message:
      obstacle === undefined
        ? present === undefined
          ? `Job ${job.metadata.name} has no pod yet`
          : `Pod ${present.metadata.name} starts${before}`
        : obstacle.reason === "ImagePullFailed"
          ? `The image ${obstacle.image} cannot be pulled: ${obstacle.message}`
          : `Pod ${present?.metadata.name} cannot start: ${obstacle.message}`
  }
}

/** The interval of looks at a mover that starts, in milliseconds. */
export const lookMillis = 15_000

/** After this time a pod whose mover has ended has a sidecar that does not end, in milliseconds. */
const sidecarMillis = 60_000

/** When to treat a mover that has ended as the end of its Job, in epoch milliseconds; undefined if it has not ended. */
export const deadlineOf = (progress: Progress): number | undefined =>
  progress._tag === "Running" && progress.ended !== undefined ? progress.ended.at + sidecarMillis : undefined

/** The progress at a time: a Job whose mover ended long enough ago has ended, although a sidecar of its pod has not. */
export const settled = (progress: Progress, now: number): Progress => {
  const deadline = deadlineOf(progress)
  if (progress._tag !== "Running" || progress.ended === undefined || deadline === undefined) return progress
  return deadline <= now ? { _tag: "Ended", ...progress.ended } : progress
}

/** The pod has ended, and the Job controller has not counted it yet. */
const hasEnded: Progress & { readonly _tag: "Running" } = { _tag: "Running", message: "The mover has ended" }

/** Since when a Job has no pod: its creation, or the deletion of its pod, which changed its status. */
const withoutPodSince = ({ metadata: { creationTimestamp, managedFields = [] } }: Job): number =>
  Math.max(
    millis(creationTimestamp) ?? 0,
    ...managedFields.map(({ subresource, time }) => (subresource === "status" ? (millis(time) ?? 0) : 0))
  )

const obstacleOf = (pod: Pod): Obstacle | undefined => {
  const container = containerOf(pod)
  const image = container?.image ?? pod.spec?.containers[0]?.image ?? ""
  const waiting = container?.state?.waiting
  const reason = waiting?.reason === undefined ? undefined : obstacles[waiting.reason]
  if (waiting !== undefined && reason !== undefined) {
    return { reason, image, message: MoverReport.clean(waiting.message ?? waiting.reason ?? reason) }
  }
  const scheduled = pod.status?.conditions?.find(({ type }) => type === "PodScheduled")
  return scheduled?.status === "False"
    ? { reason: "Unschedulable", image, message: MoverReport.clean(scheduled.message ?? "no node takes it") }
    : undefined
}

const isDisrupted = (pod: Pod): boolean =>
  pod.status?.conditions?.some(({ status, type }) => type === "DisruptionTarget" && status === "True") === true

/** The kubelet evicted the pod because of its files: another pod would download as much. */
const isOutOfStorage = ({ status }: Pod): boolean =>
  status?.reason === "Evicted" && /ephemeral[- ](local )?storage|EmptyDir volume/.test(status.message ?? "")

const ended = (job: Job, pods: ReadonlyArray<Pod>): Progress => {
  const failed = failure(job)
  const last = pods
    .filter((pod) => terminated(pod) !== undefined)
    .sort((one, other) => (terminated(one)?.finishedAt ?? "").localeCompare(terminated(other)?.finishedAt ?? ""))
    .at(-1)
  const container = last === undefined ? undefined : terminated(last)
  const at =
    millis(container?.finishedAt) ??
    millis(job.status?.completionTime) ??
    millis((failed ?? conditionOf(job, "Complete"))?.lastTransitionTime) ??
    0
  const end = (ending: Outcome.Ending): Progress => ({ _tag: "Ended", ending, at })
  if (failed?.reason === "DeadlineExceeded") {
    return end({ _tag: "DeadlineExceeded", seconds: job.spec?.activeDeadlineSeconds ?? 0 })
  }
  const evicted = pods.filter(isDisrupted).at(-1)
  // An evicted pod was ended from outside, and its container's message does not matter.
  if (failed !== undefined && evicted !== undefined && (last === undefined || last === evicted)) {
    return end({ _tag: "Evicted", message: evicted.status?.message ?? disruption(evicted) })
  }
  // The kubelet failed the pod for its resource usage, or could not run it: only its own message exists.
  const over = pods.filter(isPodOver).at(-1)
  if (
    failed !== undefined &&
    over?.status?.reason !== undefined &&
    MoverReport.parse(container?.message).reason === undefined
  ) {
    return end({ _tag: "Evicted", message: over.status.message ?? over.status.reason })
  }
  if (container === undefined) return end({ _tag: "Lost", succeeded: failed === undefined })
  // The Job and the newest pod may differ if a pod is gone: then its result is lost.
  if ((container.exitCode === 0) !== (failed === undefined)) {
    return end({ _tag: "Lost", succeeded: failed === undefined })
  }
  const { exitCode, message, reason } = container
  return end({ _tag: "Exited", exitCode, text: message, reason, mover: MoverJob.moverOf(job) })
}

const disruption = (pod: Pod): string =>
  pod.status?.conditions?.find(({ type }) => type === "DisruptionTarget")?.message ?? "the pod was disrupted"

/** Whether a mover has exceeded its start timeout. */
export const isLate = ({ since }: Starting, startTimeout: Duration.Duration, now: number): boolean =>
  since + Duration.toMillis(startTimeout) <= now

/** The ending of a mover that did not start in time. */
export const notStarted = ({ message, obstacle }: Starting, startTimeout: Duration.Duration): Outcome.Ending =>
  obstacle?.reason === "ImagePullFailed"
    ? { _tag: "ImagePullFailed", image: obstacle.image, message: obstacle.message }
    : { _tag: "NotStarted", seconds: Math.round(Duration.toSeconds(startTimeout)), message }

/** The creation time of an object. Epoch milliseconds. */
export const madeAt = ({ metadata }: KubernetesObject): number => Date.parse(metadata.creationTimestamp)

/** The tick of a scheduled run. Epoch milliseconds. */
export const scheduledAt = (job: Job): number | undefined =>
  millis(job.metadata.annotations?.[Names.scheduledAtAnnotation])

/** The claims of a Job. */
export const claims = (job: Job): ReadonlyArray<string> => listed(job, Names.claimsAnnotation)

/** The claims of the same run for other Jobs. */
export const remaining = (job: Job): ReadonlyArray<string> => listed(job, Names.remainingAnnotation)

const listed = ({ metadata }: Job, annotation: string): ReadonlyArray<string> =>
  (metadata.annotations?.[annotation] ?? "").split(",").filter((name) => name !== "")
