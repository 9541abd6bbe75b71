/** The status of a WebApp, from an observation. Pure. */
import * as Refusal from "@homeostat/runtime/client/Refusal"
import * as Owned from "@homeostat/runtime/controller/Owned"
import type * as Status from "@homeostat/runtime/controller/Status"
import { TerminalError } from "@homeostat/runtime/controller/TerminalError"
import type { Deployment, Pod, Service } from "@homeostat/runtime/resource/BuiltIn"
import * as Condition from "@homeostat/runtime/resource/Condition"
import type { KubernetesObject } from "@homeostat/runtime/resource/KubernetesObject"
import * as Probes from "./Probes.ts"
import type { WebApp, WebAppStatus } from "./WebApp.ts"

/** A child, and why it could not be applied. */
export type Child<A> =
  | { readonly object: A; readonly problem?: undefined }
  | {
      readonly object?: A | undefined
      readonly problem: { readonly reason: "NotOwned" | "Invalid" | "Waiting"; readonly message: string }
    }

/**
 * A child for the status.
 *
 * @param existing the cached child, if the WebApp owns it
 * @param obstacle why the controller cannot own the child, if it is not the child's owner
 */
export const childOf = <A extends KubernetesObject>(
  state: Owned.State<A>,
  existing?: A | undefined,
  obstacle?: string | undefined
): Child<A> => {
  if (state._tag === "Applied") return state
  if (state._tag === "Waiting") {
    const message = `it waits for ${state.waitsFor.join(" and ")}`
    return { object: state.object, problem: { reason: "Waiting", message } }
  }
  const { error } = state
  if (error instanceof Owned.NotOwned) return { problem: { reason: "NotOwned", message: obstacle ?? error.message } }
  const message = error instanceof TerminalError ? error.message : Refusal.describe(error)
  return { object: existing, problem: { reason: "Invalid", message } }
}

/** The observation of a reconcile. */
export interface Observation {
  readonly deployment: Child<Deployment>
  readonly service: Child<Service>
  /** The WebApp's cached pods. */
  readonly pods: ReadonlyArray<Pod>
  /** The controller does not set the replicas of the Deployment. */
  readonly scaledByOthers: boolean
  /** The name of the container with the image. */
  readonly container: string
  /** Milliseconds since 1970. */
  readonly now: number
}

/** The status of a condition and its reason. */
interface Finding {
  readonly status: "True" | "False" | "Unknown"
  readonly reason: string
  readonly message: string
  /** It cannot continue without a user. */
  readonly stalled?: boolean
}

const problemFinding = (problem: NonNullable<Child<unknown>["problem"]>): Finding => ({
  status: "False",
  ...problem,
  stalled: problem.reason !== "Waiting"
})

/** The whole status of a WebApp, without conditions of other managers and times, which `Status.update` keeps. */
export const observe = (app: WebApp, seen: Observation): Status.Desired<WebAppStatus> => {
  const deployment = deploymentFinding(app, seen)
  const service: Finding =
    seen.service.problem !== undefined
      ? problemFinding(seen.service.problem)
      : { status: "True", reason: "Available", message: `Service ${app.metadata.name} offers port ${app.spec.port}` }
  const failing = [deployment, service].find(({ status }) => status !== "True")
  const stalled = [deployment, service].find((finding) => finding.stalled === true)
  const ready: Finding =
    failing === undefined
      ? deployment
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
      stopped: wantedReplicas(app, seen) === 0,
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
    /** No pods are desired. */
    readonly stopped: boolean
    /** Fewer pods are available than desired. */
    readonly lacking: boolean
    /** At least one pod of any revision is ready. */
    readonly serving: boolean
  }
): NonNullable<WebAppStatus["phase"]> => {
  if (seen.stalled) return "Failed"
  if (seen.ready) return seen.stopped ? "Stopped" : "Running"
  if (wasComplete(app) && seen.lacking) return "Degraded"
  return seen.serving ? "Deploying" : "Pending"
}

/** All pods of this generation were there before. */
const wasComplete = ({ metadata, status }: WebApp): boolean =>
  (status?.phase === "Running" || status?.phase === "Degraded") && status.observedGeneration === metadata.generation

const wantedReplicas = (app: WebApp, { deployment, scaledByOthers }: Observation): number =>
  scaledByOthers && deployment.object !== undefined ? (deployment.object.spec?.replicas ?? 1) : app.spec.replicas

const deploymentFinding = (app: WebApp, seen: Observation): Finding => {
  const { object, problem } = seen.deployment
  if (problem !== undefined) return problemFinding(problem)
  const status = object.status
  const wanted = wantedReplicas(app, seen)
  const judged =
    status?.observedGeneration !== undefined && status.observedGeneration >= (object.metadata.generation ?? 0)
  if (!judged) {
    // A change of another client, such as an autoscaler, does not end what was true.
    const before = Condition.find(app.status?.conditions, "DeploymentReady")
    if (before?.status === "True" && wasComplete(app)) return { ...before, status: "True" }
    return { status: "Unknown", reason: "RolloutInProgress", message: "The rollout of the present spec has not begun" }
  }

  const { replicas = 0, updatedReplicas = 0, readyReplicas = 0, availableReplicas = 0 } = status
  const ready = `${readyReplicas}/${wanted} ready`
  const reported = (type: string) => status.conditions?.find((condition) => condition.type === type)
  const trouble = podTrouble(seen.pods, seen.container, seen.now)
  const failure = reported("ReplicaFailure")?.status === "True" ? reported("ReplicaFailure") : undefined
  const progressing = reported("Progressing")
  if (progressing?.status === "False" && progressing.reason === "ProgressDeadlineExceeded") {
    const cause = trouble?.message ?? failure?.message ?? progressing.message ?? "the progress deadline has passed"
    return { status: "False", reason: "ProgressDeadlineExceeded", message: `${ready}: ${cause}`, stalled: true }
  }
  // The ReplicaSet controller tries again, so that a larger quota or a webhook that answers again is enough.
  if (failure !== undefined) {
    const message = `${ready}: ${failure.message ?? failure.reason ?? "pods cannot be created"}`
    return { status: "False", reason: "ReplicaFailure", message }
  }
  const isUpdated = updatedReplicas === replicas
  if (isUpdated && replicas === wanted && availableReplicas === wanted) {
    return wanted === 0
      ? { status: "True", reason: "ScaledToZero", message: `${ready}: ${zero(app)}` }
      : { status: "True", reason: "AllReplicasReady", message: ready }
  }
  if (object.spec?.paused === true) {
    return { status: "False", reason: "Paused", message: `${ready}: the Deployment is paused` }
  }
  // An autoscaler added pods, which may take long to start, and the others still serve.
  const before = app.status?.phase === "Running" && wasComplete(app) ? app.status.availableReplicas : undefined
  const canStart = trouble === undefined || trouble.reason === notReady
  if (
    canStart &&
    before !== undefined &&
    before > 0 &&
    isUpdated &&
    replicas <= wanted &&
    before <= availableReplicas
  ) {
    return { status: "True", reason: "ScalingOut", message: ready }
  }
  if (trouble !== undefined) return { status: "False", reason: trouble.reason, message: `${ready}: ${trouble.message}` }
  return updatedReplicas < wanted || replicas > updatedReplicas
    ? {
        status: "False",
        reason: "RolloutInProgress",
        message: `${ready}: ${updatedReplicas} of ${wanted} pods run the present spec${replicas > updatedReplicas ? ", the old revision still serves" : ""}`
      }
    : { status: "False", reason: "ReplicasNotReady", message: ready }
}

const zero = ({ spec }: WebApp): string =>
  spec.replicas === 0 ? "spec.replicas is 0" : "the Deployment is scaled to 0 (scale it to start its pods)"

/** The kubelet's reasons why a container does not run. Image pulls can recover, so none is final. */
const reasons: { readonly [waiting: string]: string } = {
  ErrImagePull: "ImagePullFailed",
  ImagePullBackOff: "ImagePullFailed",
  InvalidImageName: "ImagePullFailed",
  CreateContainerConfigError: "ContainerConfigError",
  CreateContainerError: "ContainerConfigError",
  CrashLoopBackOff: "CrashLoopBackOff"
}

/** Within this time a container that runs need not be ready: a usual start is not a problem. */
const patience = 5000

/** The reason of a container that runs and is not ready. */
const notReady = "ContainerNotReady"

/** A problem of pods. */
interface Trouble {
  readonly reason: string
  readonly message: string
}

/**
 * The problem of the newest pods: those of the ReplicaSet with the newest pod, or of all with one of the same second. Reported within
 * seconds, before the Deployment's own progress deadline.
 *
 * @param container the name of the container with the image; a message names the others
 * @param now milliseconds since 1970
 */
export const podTrouble = (pods: ReadonlyArray<Pod>, container: string, now: number): Trouble | undefined => {
  const newest = newestOf(pods)
  return (
    firstOf(newest, (pod) => waiting(pod, container)) ??
    firstOf(newest, unschedulable) ??
    firstOf(newest, (pod) => unready(pod, container, now))
  )
}

/**
 * Milliseconds until {@link podTrouble} may find that a container, which runs now, is not ready in time. Undefined if no container can
 * become late.
 */
export const untilLate = (pods: ReadonlyArray<Pod>, now: number): number | undefined => {
  const left = newestOf(pods)
    .flatMap((pod) => startingIn(pod).map(({ late }) => late - now))
    .filter((millis) => millis > 0)
  return left.length === 0 ? undefined : Math.min(...left)
}

const firstOf = <A, B>(values: ReadonlyArray<A>, find: (value: A) => B | undefined): B | undefined => {
  for (const value of values) {
    const found = find(value)
    if (found !== undefined) return found
  }
  return undefined
}

const newestOf = (pods: ReadonlyArray<Pod>): ReadonlyArray<Pod> => {
  const revisionOf = (pod: Pod) => pod.metadata.labels?.["pod-template-hash"]
  const newest = pods
    .map(({ metadata }) => metadata.creationTimestamp)
    .sort()
    .at(-1)
  const revisions = new Set(pods.filter(({ metadata }) => metadata.creationTimestamp === newest).map(revisionOf))
  return pods.filter((pod) => pod.metadata.deletionTimestamp === undefined && revisions.has(revisionOf(pod)))
}

/** A container that cannot start. */
const waiting = ({ status }: Pod, container: string): Trouble | undefined =>
  firstOf([...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])], (each) => {
    const waiting = each.state?.waiting
    const reason = waiting?.reason === undefined ? undefined : reasons[waiting.reason]
    if (waiting === undefined || reason === undefined) return undefined
    const died = each.lastState?.terminated
    const exit =
      died === undefined ? "" : ` (exit code ${died.exitCode}${died.reason === undefined ? "" : `, ${died.reason}`})`
    return { reason, message: `${prefix(each.name, container)}${waiting.message ?? waiting.reason}${exit}` }
  })

const prefix = (name: string, container: string): string => (name === container ? "" : `container ${name}: `)

const unschedulable = ({ status }: Pod): Trouble | undefined => {
  const scheduled = status?.conditions?.find(({ type }) => type === "PodScheduled")
  return scheduled?.status === "False"
    ? { reason: "Unschedulable", message: scheduled.message ?? "a pod finds no node" }
    : undefined
}

/** The containers that run, but are not ready. */
const startingIn = ({ spec, status }: Pod) =>
  (status?.containerStatuses ?? []).flatMap(({ name, ready, started, state }) => {
    const declared = spec?.containers.find((each) => each.name === name)
    const probe = started === false ? (declared?.startupProbe ?? declared?.readinessProbe) : declared?.readinessProbe
    if (ready || state?.running === undefined || probe === undefined) return []
    const since = Date.parse(state.running.startedAt ?? "")
    const kind = probe === declared?.readinessProbe ? "readiness" : "startup"
    return [{ name, probe, kind, late: since + patience + (probe.initialDelaySeconds ?? 0) * 1000 }]
  })

/** A container that runs, and has not become ready in time. */
const unready = (pod: Pod, container: string, now: number): Trouble | undefined =>
  firstOf(startingIn(pod), ({ kind, late, name, probe }) => {
    if (now < late) return undefined
    const check = name === container ? ` (check spec.port and spec.probes.${kind})` : ""
    return {
      reason: notReady,
      message: `${prefix(name, container)}the container runs, but ${Probes.failureOf(probe)}${check}`
    }
  })

/** A selector as text, for `kubectl` and the scale subresource. */
const selectorText = (deployment: Deployment): string => {
  const { matchExpressions = [], matchLabels = {} } = deployment.spec?.selector ?? {}
  const labels = Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`)
  const expressions = matchExpressions.map(({ key, operator, values = [] }) =>
    operator === "Exists"
      ? key
      : operator === "DoesNotExist"
        ? `!${key}`
        : `${key} ${operator === "In" ? "in" : "notin"} (${[...values].sort().join(",")})`
  )
  return [...labels.sort(), ...expressions.sort()].join(",")
}
