/**
 * The behaviour of a simulated pod: a pod whose image is not mapped to a program. It starts and keeps running, or completes if its
 * restartPolicy allows that. Annotations let it fail, and a test can set the behaviour of each pod by a function.
 */

import type { Pod } from "@homeostat/runtime/resource/BuiltIn"
import * as Duration from "effect/Duration"
import * as RestartPolicy from "./RestartPolicy.ts"

/** Annotation of a pod: its image cannot be pulled. The value, if not empty, is the error message of the registry. */
export const imagePullError = "envtest/image-pull-error"

/** Annotation of a pod: its containers exit soon after each start, with the value as their code (default 1). */
export const crashLoop = "envtest/crash-loop"

/** Annotation of a pod: the kubelet evicts the pod soon after its start. The value, if not empty, is the message. */
export const evicted = "envtest/evict"

/**
 * Annotation of a pod: the probes of its containers that fail, such as `readiness` or `liveness,startup`. The kubelet reads the annotation
 * with each probe, so a test can add it to a running pod and remove it again.
 */
export const failingProbes = "envtest/failing-probes"

/** The durations of simulated containers. */
export interface Times {
  /** From the first event of a pod until its containers are ready. */
  readonly startUp: Duration.Duration
  /** From the start to the end of a container that completes. */
  readonly run: Duration.Duration
}

/** The defaults: as short as a watch can still observe. */
export const defaults: Times = { startUp: Duration.millis(100), run: Duration.millis(500) }

/** The exit of a container. */
export interface End {
  /** The time until the exit. */
  readonly after: Duration.Input
  readonly exitCode: number
  /** The termination message. Default: none. */
  readonly message?: string | undefined
}

/** The behaviour of a simulated container. By default, it runs until the pod is deleted. */
export interface Plan {
  /** The exit of the container by itself; `after` counts from its start. */
  readonly ends?: End | undefined
  /** The exit after a deletion, unless the grace period is shorter. Default: at once, with code 143, as after SIGTERM. */
  readonly stopped?: End | undefined
  /**
   * Why the container does not start: a waiting reason of its status (`ImagePullBackOff`, `CreateContainerConfigError`), or `FailedMount`,
   * which only an Event reports. The kubelet checks the plan every ten seconds of the Clock.
   */
  readonly waits?: { readonly reason: string; readonly message: string } | undefined
  /**
   * The probes that fail, if the container has them. After `failureThreshold` failed readiness probes, the container is not Ready. After
   * `failureThreshold` failed liveness or startup probes, it restarts. The kubelet reads the plan with each probe. Default: none.
   */
  readonly failingProbes?: ReadonlyArray<"liveness" | "readiness" | "startup"> | undefined
  /** The kubelet evicts the whole pod after this time. */
  readonly evicted?: { readonly after: Duration.Input; readonly message: string } | undefined
}

/** The behaviour of a pod. */
export interface PodPlan extends Plan {
  /**
   * The behaviour of single containers by name, which overrides that of the pod. The names may be those of init containers and sidecars.
   */
  readonly containers?: { readonly [name: string]: Omit<Plan, "evicted"> } | undefined
}

/**
 * Returns the behaviour of a pod, which applies to its containers without the init containers; undefined: the default. By default, an init
 * container succeeds at once, and a sidecar (an init container with `restartPolicy: Always`) runs until the other containers have ended.
 */
export type Pods = (pod: Pod) => PodPlan | undefined

/** The time between two checks whether a container may start. */
export const patience = Duration.seconds(10)

/**
 * Returns the plan of a container. By default, the containers of a Job's pods and all init containers complete.
 *
 * @internal
 */
export const plan = (pod: Pod, container: string, times: Times, pods: Pods = () => undefined): Plan => {
  const asked = pods(pod)
  const own = asked?.containers?.[container]
  if (own !== undefined) return own
  if (RestartPolicy.isSidecar(pod, container)) return {}
  if (pod.spec?.initContainers?.some(({ name }) => name === container)) return { ends: { after: 0, exitCode: 0 } }
  if (asked !== undefined) return asked
  const crash = pod.metadata.annotations?.[crashLoop]
  if (crash !== undefined) {
    const code = Number.parseInt(crash, 10)
    return { ends: { after: times.run, exitCode: code > 0 ? code : 1 } }
  }
  return pod.metadata.ownerReferences?.some(({ kind }) => kind === "Job") === true
    ? { ends: { after: times.run, exitCode: 0 } }
    : {}
}

/**
 * Returns the probes of a container that fail now.
 *
 * @internal
 */
export const failing = (pod: Pod, container: string, times: Times, pods?: Pods): ReadonlyArray<string> => [
  ...(plan(pod, container, times, pods).failingProbes ?? []),
  ...(pod.metadata.annotations?.[failingProbes]?.match(/\w+/g) ?? [])
]

/**
 * Returns when the kubelet evicts a pod, and the message; undefined: the kubelet does not evict it.
 *
 * @internal
 */
export const eviction = (pod: Pod, times: Times, pods: Pods = () => undefined): Plan["evicted"] => {
  const asked = pods(pod)?.evicted
  const message = pod.metadata.annotations?.[evicted]
  if (asked !== undefined || message === undefined) return asked
  return {
    after: Duration.sum(times.startUp, times.run),
    message: message === "" ? "The node was low on resource: memory." : message
  }
}
