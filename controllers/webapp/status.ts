/** The status of a WebApp, from an observation. Pure. */
import type * as Status from "@homeostat/runtime/controller/Status"
import type {
  Deployment,
  HorizontalPodAutoscaler,
  NetworkPolicy,
  Pod,
  PodDisruptionBudget,
  Service
} from "@homeostat/runtime/resource/BuiltIn"
import * as Condition from "@homeostat/runtime/resource/Condition"
import * as Text from "@homeostat/runtime/resource/Text"
import * as Autoscaling from "./Autoscaling.ts"
import * as Config from "./Config.ts"
import * as Deadline from "./Deadline.ts"
import * as Delivery from "./Delivery.ts"
import * as Disruption from "./Disruption.ts"
import * as Exposure from "./Exposure.ts"
import { type Child, type Finding, problemFinding } from "./Finding.ts"
import * as NetworkAccess from "./NetworkAccess.ts"
import * as Probes from "./Probes.ts"
import * as Rollback from "./Rollback.ts"
import * as Selector from "./Selector.ts"
import { longestSelector, type WebApp, type WebAppStatus } from "./WebApp.ts"

/** The conditions that exist only while their field is used. */
export const conditionTypes = [
  Config.conditionType,
  "JobsComplete",
  Exposure.conditionType,
  Autoscaling.conditionType,
  Disruption.conditionType,
  NetworkAccess.conditionType
]

/** The observation of a reconcile. */
export interface Observation {
  /** The referenced ConfigMaps and Secrets; absent without references. */
  readonly config?: Config.Observed | undefined
  readonly deployment: Child<Deployment>
  readonly service: Child<Service>
  /** Absent without `spec.expose`. */
  readonly route?: Child<Exposure.Route> | undefined
  /** The condition JobsComplete; undefined for a WebApp without jobs. */
  readonly jobs?: Finding | undefined
  /** The WebApp's cached pods. */
  readonly pods: ReadonlyArray<Pod>
  /** The source of the replicas of the Deployment. */
  readonly scaling: Autoscaling.Scaling
  readonly networkPolicy?: Child<NetworkPolicy> | undefined
  readonly autoscaler?: Child<HorizontalPodAutoscaler> | undefined
  readonly budget?: Child<PodDisruptionBudget> | undefined
  /** The budget of another manager that selects the pods. */
  readonly otherBudget?: PodDisruptionBudget | undefined
  /** The name of the container with the image. */
  readonly container: string
  readonly rollback?: Partial<Pick<Rollback.Choice, "isHeld" | "lastGood" | "rolledBack">> | undefined
  /** Ends the messages of the conditions of kstatus while the API server refuses a child: when the next attempt is. */
  readonly nextAttempt?: string | undefined
  /** Milliseconds since 1970. */
  readonly now: number
}

/** The whole status of a WebApp, without conditions of other managers and times, which `Status.update` keeps. */
export const observe = (app: WebApp, seen: Observation): Status.Desired<WebAppStatus> => {
  const { lastGood, rolledBack } = seen.rollback ?? {}
  const deployment = Rollback.finding(deploymentFinding(app, seen), rolledBack)
  const service: Finding =
    seen.service.problem !== undefined
      ? problemFinding(seen.service.problem)
      : { status: "True", reason: "Available", message: offerOf(app) }
  const config: Finding | undefined = seen.config && Config.finding(seen.config)
  const network = seen.networkPolicy?.problem && problemFinding(seen.networkPolicy.problem)
  const route = Exposure.findingOf(app, seen.route)
  const url = seen.route?.object && Exposure.urlOf(app)
  const { jobs } = seen
  const isWaiting = seen.deployment.problem?.reason === "Waiting"
  const delivery = isWaiting ? [jobs, deployment, service] : [deployment, service, jobs]
  const pods = [config, ...delivery, network].filter((each) => each !== undefined)
  const all = route === undefined ? pods : [...pods, route]
  const failing = all.find(isFailing)
  const stalled = all.find(isStalled)
  const ready: Finding =
    failing === undefined
      ? deployment
      : {
          ...failing,
          reason:
            stalled !== undefined || failing.reason === "Unavailable" || (failing !== deployment && failing !== route)
              ? failing.reason
              : notReadyOf(failing === route)
        }

  const { nextAttempt = "" } = seen
  const timed = (finding: Finding, cause = finding): Finding =>
    isRefused(cause) ? { ...finding, message: finding.message + nextAttempt } : finding

  const condition = (type: string, { status, reason, message }: Finding): Condition.Draft => ({
    type,
    status,
    reason,
    message
  })
  const conditions = [
    condition(Condition.Ready, timed(ready, failing)),
    condition("DeploymentReady", deployment),
    condition("ServiceReady", service),
    config && condition(Config.conditionType, config),
    jobs && condition("JobsComplete", jobs),
    route && condition(Exposure.conditionType, route),
    // A WebApp with another owner's Deployment has neither of these children.
    seen.networkPolicy && NetworkAccess.condition(app, seen.networkPolicy.problem),
    Autoscaling.condition(app, seen.scaling, seen.autoscaler ?? {}),
    (seen.otherBudget ?? seen.budget) &&
      Disruption.condition(app, seen.scaling, seen.otherBudget, seen.budget?.problem),
    Rollback.condition(app, seen.rollback),
    // Both are present only while they are True, as in kstatus.
    failing && stalled === undefined
      ? condition(Condition.Reconciling, timed({ ...failing, status: "True" }))
      : undefined,
    stalled && condition(Condition.Stalled, timed({ ...stalled, status: "True" }))
  ].filter((each) => each !== undefined)

  const { object } = seen.deployment
  const rollout = object?.status
  const status: { -readonly [Field in keyof Status.Desired<WebAppStatus>]: Status.Desired<WebAppStatus>[Field] } = {
    observedGeneration: app.metadata.generation ?? 0,
    phase: phaseOf(app, {
      stalled: pods.some(isStalled),
      ready: !pods.some(isFailing),
      stopped: wantedReplicas(seen) === 0,
      lacking: config?.status === "False" || (rollout?.availableReplicas ?? 0) < wantedReplicas(seen),
      serving: (rollout?.readyReplicas ?? 0) > 0
    }),
    replicas: rollout?.replicas ?? 0,
    updatedReplicas: isWaiting ? 0 : (rollout?.updatedReplicas ?? 0),
    readyReplicas: rollout?.readyReplicas ?? 0,
    availableReplicas: rollout?.availableReplicas ?? 0
  }
  const selector = object && Selector.textOf(object.spec?.selector ?? {})
  // The API server would refuse the whole status with a longer selector.
  if (selector !== undefined && selector.length <= longestSelector) status.selector = selector
  if (url !== undefined) status.url = url
  if (lastGood !== undefined) status.lastGood = lastGood
  status.conditions = conditions
  return status
}

const isFailing = ({ status }: Finding): boolean => status !== "True"

/** Whether the API server refuses the child. */
const isRefused = ({ reason }: Finding): boolean => reason === "Forbidden" || reason === "Invalid"

const isStalled = ({ stalled }: Finding): boolean => stalled === true

const notReadyOf = (isRoute: boolean): string => (isRoute ? "RouteNotReady" : "ReplicasNotReady")

/**
 * Speaks of the pods and the Service, and not of the route: a pod that runs does not become Pending without a Gateway.
 *
 * Running only if every pod runs this generation. After that, a lack of pods or of their configuration is Degraded until the spec
 * changes: only a complete rollout can degrade.
 */
const phaseOf = (
  app: WebApp,
  seen: {
    readonly stalled: boolean
    readonly ready: boolean
    /** No pods are desired. */
    readonly stopped: boolean
    /** Fewer pods are available than desired, or new pods could not start. */
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
const wasComplete = ({ metadata, status }: WebApp): boolean => {
  if (status?.phase !== "Running" && status?.phase !== "Degraded") return false
  // A report of the runtime about a failed attempt has the new generation, and leaves the phase and this condition.
  const { observedGeneration } = Condition.find(status.conditions, "DeploymentReady") ?? {}
  return (observedGeneration ?? status.observedGeneration) === metadata.generation
}

const wantedReplicas = ({ deployment, scaling }: Observation): number =>
  scaling.by !== "Spec" && deployment.object !== undefined ? (deployment.object.spec?.replicas ?? 1) : scaling.replicas

const deploymentFinding = (app: WebApp, seen: Observation): Finding => {
  const { object, problem } = seen.deployment
  if (problem !== undefined) return problemFinding(problem)
  const status = object.status
  const wanted = wantedReplicas(seen)
  const judged =
    status?.observedGeneration !== undefined && status.observedGeneration >= (object.metadata.generation ?? 0)
  if (!judged) {
    // A change of another client, such as an autoscaler, does not end what was true.
    const before = Condition.find(app.status?.conditions, "DeploymentReady")
    if (before?.status === "True" && wasComplete(app)) return { ...before, status: "True" }
    return { status: "Unknown", reason: "RolloutInProgress", message: "the rollout of the present spec has not begun" }
  }

  const { replicas = 0, updatedReplicas = 0, readyReplicas = 0, availableReplicas = 0 } = status
  const ready = `${readyReplicas}/${wanted} ready`
  const delivery = deliveryOf(app)
  const reported = (type: string) => status.conditions?.find((condition) => condition.type === type)
  const trouble = podTrouble(seen.pods, seen.container, seen.now)
  const failure = reported("ReplicaFailure")?.status === "True" ? reported("ReplicaFailure") : undefined
  const progressing = reported("Progressing")
  const isMissed = progressing?.status === "False" && progressing.reason === "ProgressDeadlineExceeded"
  const isOverdue = (Deadline.ofPods(object, seen.pods) ?? Number.POSITIVE_INFINITY) <= seen.now
  if (isMissed || (isOverdue && !wasComplete(app))) {
    const reason = isMissed ? progressing.message : undefined
    const cause = trouble?.message ?? failure?.message ?? reason ?? "the progress deadline has passed"
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
      ? { status: "True", reason: "ScaledToZero", message: `${ready}: ${delivery ?? zero(app)}` }
      : {
          status: "True",
          reason: "AllReplicasReady",
          message: delivery === undefined ? ready : `${ready}: ${delivery}`
        }
  }
  if (object.spec?.paused === true) {
    return { status: "False", reason: "Paused", message: `${ready}: the Deployment is paused` }
  }
  // An autoscaler added pods, which may take some time to start, and the others still serve.
  const before = app.status?.phase === "Running" && wasComplete(app) ? app.status.availableReplicas : undefined
  const canStart = trouble === undefined || trouble.reason === notReady
  if (
    canStart &&
    !isOverdue &&
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

/** The message about a Service that exists. The controller of a `Delivery` may change its selector and its ports. */
const offerOf = (app: WebApp): string => {
  const delivery = Delivery.of(app)
  const { name } = app.metadata
  return delivery === undefined
    ? `Service ${name} offers port ${app.spec.port}`
    : `Service ${name} exists, and ${delivery} sets its selector and ports`
}

const deliveryOf = (app: WebApp): string | undefined => {
  const name = Delivery.of(app)
  return name === undefined ? undefined : `${name} sets the replicas (annotation ${Delivery.annotation})`
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
  // Every reconcile runs it.
  if (pods.length === 0) return pods
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
    const words = lastWords(died?.message)
    return { reason, message: `${prefix(each.name, container)}${waiting.message ?? waiting.reason}${exit}${words}` }
  })

/** The most characters of a condition's message that come from the log of a program. */
const mostWords = 256

/** The end of the termination message of a container as one line: `": Error: connect ECONNREFUSED"`. Empty without a message. */
const lastWords = (message: string | undefined): string => {
  const line = Text.printable((message ?? "").slice(-4 * mostWords).replaceAll(/\s+/g, " ")).trim()
  if (line === "") return ""
  // kube-apiserver replaces half a character, and the status would differ from the intended one forever.
  return `: ${line.length <= mostWords ? line : `…${line.slice(-mostWords)}`}`.toWellFormed()
}

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
