/** The Events of a kubelet about a pod, as `kubectl describe pod` shows them. */
import * as Client from "@homeostat/runtime/client/Client"
import type { Pod } from "@homeostat/runtime/resource/BuiltIn"
import type { KubernetesObject } from "@homeostat/runtime/resource/KubernetesObject"
import * as Resource from "@homeostat/runtime/resource/Resource"
import * as Time from "@homeostat/runtime/resource/Time"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"

/** `v1` Event. Kubelets still write these instead of those of `events.k8s.io`. */
interface CoreEvent extends KubernetesObject {
  readonly involvedObject: { readonly [field: string]: string }
  readonly type: "Normal" | "Warning"
  readonly reason: string
  readonly message: string
  readonly source: { readonly component: string; readonly host: string }
  readonly firstTimestamp: string
  readonly lastTimestamp: string
  readonly count: number
}

const CoreEvent = Resource.make<CoreEvent>({ group: "", version: "v1", kind: "Event", plural: "events" })

/** The schedule on which a kubelet retries a request that failed. */
export const calm = Schedule.spaced("1 second")

/** An Event of a pod, or of one of its containers. */
export interface PodEvent {
  /** Default `Normal`. */
  readonly type?: "Normal" | "Warning" | undefined
  readonly reason: string
  readonly message: string
  readonly container?: string | undefined
}

/** Writes the nth Event about a pod. A failed write loses the Event, as in a real kubelet. */
export const write = (
  node: string,
  pod: Pod,
  count: number,
  { container, message, reason, type = "Normal" }: PodEvent
) =>
  Effect.gen(function* () {
    const { name, namespace = "default", resourceVersion, uid } = pod.metadata
    const millis = yield* Clock.currentTimeMillis
    const now = Time.seconds(millis)
    // Client-go uses nanoseconds here. The number distinguishes the Events of one millisecond.
    const suffix = (BigInt(millis) * 1_000_000n + BigInt(count)).toString(16)
    yield* Client.create(CoreEvent, {
      metadata: { namespace, name: `${name}.${suffix}` },
      involvedObject: {
        apiVersion: "v1",
        kind: "Pod",
        namespace,
        name,
        uid,
        resourceVersion,
        ...(container === undefined ? {} : { fieldPath: `spec.containers{${container}}` })
      },
      type,
      reason,
      message,
      source: { component: "kubelet", host: node },
      firstTimestamp: now,
      lastTimestamp: now,
      count: 1
    })
  }).pipe(Effect.ignore)
