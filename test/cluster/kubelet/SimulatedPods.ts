/**
 * The behaviour of a pod whose image is not mapped to a program. It starts, and then runs on, or completes if its restartPolicy allows
 * that. Annotations let it fail, and a test can set the behaviour of each pod by a function.
 */

import type { Pod } from "@homeostat/runtime/resource/BuiltIn"
import * as Duration from "effect/Duration"
import * as RestartPolicy from "./RestartPolicy.ts"

/** On a pod: its image cannot be pulled. The value, if any, is the text of the registry's error. */
export const imagePullError = "envtest/image-pull-error"

/** On a pod: its containers exit with code 1, or the code that is the value, soon after each start. */
export const crashLoop = "envtest/crash-loop"

/** On a pod: it is evicted soon after its start. The value, if any, is the message. */
export const evicted = "envtest/evict"

/**
 * On a pod: the probes of its containers that fail, such as `readiness` or `liveness,startup`. The kubelet looks at it with each probe, so a
 * test can add it to a running pod and remove it again.
 */
export const failingProbes = "envtest/failing-probes"

/** How long pretended containers take. */
export interface Times {
  /** From the first event of a pod until its containers are ready. */
  readonly startUp: Duration.Duration
  /** From the start to the end of a container that completes. */
  readonly run: Duration.Duration
}

/** As fast as can be watched. */
export const defaults: Times = { startUp: Duration.millis(100), run: Duration.millis(500) }

/** How a container ends. */
export interface End {
  /** After which time. */
  readonly after: Duration.DurationInput
  readonly exitCode: number
  /** Its termination message. Default: none. */
  readonly message?: string | undefined
}

/** The behaviour of a pretended container. By default, it runs until the pod is deleted. */
export interface Plan {
  /** How it ends by itself, counted from its start. */
  readonly ends?: End | undefined
  /** The end at a deletion, unless the grace period is shorter. Default: at once, with code 143, as by SIGTERM. */
  readonly stopped?: End | undefined
  /**
   * Why it does not start: a reason of a container's status (`ImagePullBackOff`, `CreateContainerConfigError`), or
   * `FailedMount`, which only an Event reports. The kubelet checks it every ten seconds of the Clock.
   */
  readonly waits?: { readonly reason: string; readonly message: string } | undefined
  /**
   * The probes that fail, if the container has them. After `failureThreshold` failures, a container without readiness is not Ready, and one
   * that does not live or start restarts. The kubelet asks for the plan with each probe. Default: none.
   */
  readonly failingProbes?: ReadonlyArray<"liveness" | "readiness" | "startup"> | undefined
  /** The kubelet evicts the whole pod, after this time. */
  readonly evicted?: { readonly after: Duration.DurationInput; readonly message: string } | undefined
}

/** The behaviour of a pod. */
export interface PodPlan extends Plan {
  /** The behaviour of single containers by name, in place of that of the pod. It can name init containers and sidecars. */
  readonly containers?: { readonly [name: string]: Omit<Plan, "evicted"> } | undefined
}

/**
 * The behaviour of a pod, for its containers without the init containers; undefined: the default. By default, an init container succeeds at
 * once, and a sidecar (an init container with `restartPolicy: Always`) runs until the other containers have ended.
 */
export type Pods = (pod: Pod) => PodPlan | undefined

/** Between two looks whether a container may start now. */
export const patience = Duration.seconds(10)

/**
 * The plan for a container of a pod. Those of a Job's pods complete; so do all that come before the others.
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
 * The probes of a container that fail now.
 *
 * @internal
 */
export const failing = (pod: Pod, container: string, times: Times, pods?: Pods): ReadonlyArray<string> => [
  ...(plan(pod, container, times, pods).failingProbes ?? []),
  ...(pod.metadata.annotations?.[failingProbes]?.match(/\w+/g) ?? [])
]

/**
 * When the kubelet evicts a pod, and what it says then; undefined: it does not.
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
