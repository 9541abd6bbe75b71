/** The status of a WebApp, from an observation. Pure. */
import type * as Status from "@homeostat/runtime/controller/Status"
import type { Deployment, Pod, Service } from "@homeostat/runtime/resource/BuiltIn"
import * as Condition from "@homeostat/runtime/resource/Condition"
import { container } from "./children.ts"
import type { WebApp, WebAppStatus } from "./WebApp.ts"

/** A child, and why it could not be applied. */
export type Child<A> =
  | { readonly object: A; readonly problem?: undefined }
  | {
      readonly object?: A | undefined
      readonly problem: { readonly reason: "NotOwned" | "Invalid"; readonly message: string }
    }

/** The observation of a reconcile. */
export interface Observation {
  readonly deployment: Child<Deployment>
  readonly service: Child<Service>
  /** The WebApp's cached pods. */
  readonly pods: ReadonlyArray<Pod>
  /** An autoscaler sets the number of replicas of the Deployment. */
  readonly scaledByOthers: boolean
}

/** The status of a condition and its reason. */
interface Finding {
  readonly status: "True" | "False" | "Unknown"
  readonly reason: string
  readonly message: string
  /** It cannot continue without a user. */
  readonly stalled?: boolean
}

/** The whole status of a WebApp, without conditions of other managers and times, which `Status.update` keeps. */
export const observe = (app: WebApp, seen: Observation): Status.Desired<WebAppStatus> => {
  const deployment = deploymentFinding(app, seen)
  const service: Finding =
    seen.service.problem !== undefined
      ? { status: "False", ...seen.service.problem, stalled: true }
      : { status: "True", reason: "Available", message: `Service ${app.metadata.name} offers port ${app.spec.port}` }
  const failing = [deployment, service].find(({ status }) => status !== "True")
  const stalled = [deployment, service].find((finding) => finding.stalled === true)
  const ready: Finding =
    failing === undefined
      ? { status: "True", reason: "AllReplicasReady", message: deployment.message }
      : { ...failing, reason: failing === service || stalled !== undefined ? failing.reason : "ReplicasNotReady" }

  const condition = (type: string, { status, reason, message }: Finding): Condition.Draft => ({
    type,
    status,
    reason,
    message
  })
  const conditions = [
    condition(Condition.Ready, ready),
    condition("DeploymentReady", deployment),
    condition("ServiceReady", service),
    // Both are present only while they are True, as in kstatus.
    ...(failing !== undefined && stalled === undefined
      ? [condition(Condition.Reconciling, { ...failing, status: "True" })]
      : []),
    ...(stalled !== undefined ? [condition(Condition.Stalled, { ...stalled, status: "True" })] : [])
  ]

  const { object } = seen.deployment
  const rollout = object?.status
  return {
    observedGeneration: app.metadata.generation ?? 0,
    phase: phaseOf(app, {
      stalled: stalled !== undefined,
      ready: failing === undefined,
      lacking: (rollout?.availableReplicas ?? 0) < wantedReplicas(app, seen),
      serving: (rollout?.readyReplicas ?? 0) > 0
    }),
    replicas: rollout?.replicas ?? 0,
    updatedReplicas: rollout?.updatedReplicas ?? 0,
    readyReplicas: rollout?.readyReplicas ?? 0,
    availableReplicas: rollout?.availableReplicas ?? 0,
    ...(object === undefined ? {} : { selector: selectorText(object) }),
    conditions
  }
}

/**
 * Running only if every pod runs this generation. After that, a lack of pods is Degraded until the spec changes: only a complete
 * rollout can degrade.
 */
const phaseOf = (
  app: WebApp,
  seen: {
    readonly stalled: boolean
    readonly ready: boolean
    /** Fewer pods are available than desired. */
    readonly lacking: boolean
    /** At least one pod of any revision is ready. */
    readonly serving: boolean
  }
): NonNullable<WebAppStatus["phase"]> => {
  if (seen.stalled) return "Failed"
  if (seen.ready) return "Running"
  const before = app.status
  const wasComplete =
    (before?.phase === "Running" || before?.phase === "Degraded") &&
    before.observedGeneration === app.metadata.generation
  if (wasComplete && seen.lacking) return "Degraded"
  return seen.serving ? "Deploying" : "Pending"
}

const wantedReplicas = (app: WebApp, { deployment, scaledByOthers }: Observation): number =>
  scaledByOthers && deployment.object !== undefined ? (deployment.object.spec?.replicas ?? 1) : app.spec.replicas

const deploymentFinding = (app: WebApp, seen: Observation): Finding => {
  const { object, problem } = seen.deployment
  if (problem !== undefined) return { status: "False", ...problem, stalled: true }
  const status = object.status
  const wanted = wantedReplicas(app, seen)
  const judged =
    status?.observedGeneration !== undefined && status.observedGeneration >= (object.metadata.generation ?? 0)
  if (!judged) {
    return { status: "Unknown", reason: "RolloutInProgress", message: "The rollout of the present spec has not begun" }
  }

  const { replicas = 0, updatedReplicas = 0, readyReplicas = 0, availableReplicas = 0 } = status
  const ready = `${readyReplicas}/${wanted} ready`
  const reported = (type: string) => status.conditions?.find((condition) => condition.type === type)
  const progressing = reported("Progressing")
  if (progressing?.status === "False" && progressing.reason === "ProgressDeadlineExceeded") {
    const cause = podTrouble(seen.pods)?.message ?? progressing.message ?? "the progress deadline has passed"
    return { status: "False", reason: "ProgressDeadlineExceeded", message: `${ready}: ${cause}`, stalled: true }
  }
  const failure = reported("ReplicaFailure")
  if (failure?.status === "True") {
    return {
      status: "False",
      reason: "ReplicaFailure",
      message: `${ready}: ${failure.message ?? failure.reason ?? "pods cannot be created"}`,
      stalled: true
    }
  }
  if (updatedReplicas === wanted && replicas === wanted && availableReplicas === wanted) {
    return { status: "True", reason: "AllReplicasReady", message: ready }
  }
  if (object.spec?.paused === true) {
    return { status: "False", reason: "Paused", message: `${ready}: the Deployment is paused` }
  }
  const trouble = podTrouble(seen.pods)
  if (trouble !== undefined) return { status: "False", reason: trouble.reason, message: `${ready}: ${trouble.message}` }
  return updatedReplicas < wanted || replicas > updatedReplicas
    ? {
        status: "False",
        reason: "RolloutInProgress",
        message: `${ready}: ${updatedReplicas} of ${wanted} pods run the present spec${replicas > updatedReplicas ? ", the old revision still serves" : ""}`
      }
    : { status: "False", reason: "ReplicasNotReady", message: ready }
}

/** The kubelet's reasons why a container does not run. Image pulls can recover, so none is final. */
const reasons: { readonly [waiting: string]: string } = {
  ErrImagePull: "ImagePullFailed",
  ImagePullBackOff: "ImagePullFailed",
  InvalidImageName: "ImagePullFailed",
  CreateContainerConfigError: "ContainerConfigError",
  CreateContainerError: "ContainerConfigError",
  CrashLoopBackOff: "CrashLoopBackOff"
}

/**
 * The problem of the newest pods: those of the ReplicaSet with the newest pod, or of all with one of the same second. Reported within
 * seconds, before the Deployment's own progress deadline.
 */
export const podTrouble = (
  pods: ReadonlyArray<Pod>
): { readonly reason: string; readonly message: string } | undefined => {
  const revisionOf = (pod: Pod) => pod.metadata.labels?.["pod-template-hash"]
  const newest = pods
    .map(({ metadata }) => metadata.creationTimestamp)
    .sort()
    .at(-1)
  const revisions = new Set(pods.filter(({ metadata }) => metadata.creationTimestamp === newest).map(revisionOf))
  for (const pod of pods) {
    if (pod.metadata.deletionTimestamp !== undefined || !revisions.has(revisionOf(pod))) continue
    for (const { name, state, lastState } of pod.status?.containerStatuses ?? []) {
      const waiting = state?.waiting
      const reason = waiting?.reason === undefined ? undefined : reasons[waiting.reason]
      if (waiting === undefined || reason === undefined) continue
      const died = lastState?.terminated
      const exit =
        died === undefined ? "" : ` (exit code ${died.exitCode}${died.reason === undefined ? "" : `, ${died.reason}`})`
      const who = name === container ? "" : `container ${name}: `
      return { reason, message: `${who}${waiting.message ?? waiting.reason}${exit}` }
    }
    const scheduled = pod.status?.conditions?.find(({ type }) => type === "PodScheduled")
    if (scheduled?.status === "False") {
      return { reason: "Unschedulable", message: scheduled.message ?? "a pod finds no node" }
    }
  }
  return undefined
}

/** A selector as text, for `kubectl` and the scale subresource. */
const selectorText = (deployment: Deployment): string =>
  Object.entries(deployment.spec?.selector.matchLabels ?? {})
    .map(([key, value]) => `${key}=${value}`)
    .sort()
    .join(",")
