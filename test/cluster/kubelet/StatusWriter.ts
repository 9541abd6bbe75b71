/**
 * Writes the status of a pod, and notices a status that another client wrote, such as a restored one. The kubelet ignores the conditions of
 * other clients.
 */
import * as Client from "@homeostat/runtime/client/Client"
import { Pod } from "@homeostat/runtime/resource/BuiltIn"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Events from "./Events.ts"
import * as PodStatus from "./PodStatus.ts"

/** Writes the status of a pod. */
export interface StatusWriter {
  /** Writes the status that it is given at its turn. Tries again until the API server takes the status, or the pod is gone. */
  readonly write: (status: Effect.Effect<PodStatus.Status>) => Effect.Effect<void, never, Client.Client>
  /** Compares a pod of a watch with what was written last. */
  readonly seen: (pod: Pod) => Effect.Effect<void>
  /** Ends when another client has written the status. */
  readonly foreign: Effect.Effect<void>
}

/** A writer for the pod that the API server has so far. `written` receives each answer. */
export const make = (first: Pod, written: (pod: Pod) => void): Effect.Effect<StatusWriter> =>
  Effect.gen(function* () {
    const { name, namespace = "default", uid } = first.metadata
    const turn = yield* Effect.makeSemaphore(1)
    const signals = yield* Queue.sliding<void>(1)
    let own = first
    let latest = first
    let isWriting = false

    const versionOf = ({ metadata }: Pod) => Number(metadata.resourceVersion)
    // The watch can be faster than the answer of a write.
    const compare = Effect.suspend(() => {
      const isForeign = versionOf(latest) > versionOf(own) && !PodStatus.isSame(latest, own)
      return isForeign && !isWriting ? Queue.offer(signals, undefined) : Effect.void
    })
    const busy = (is: boolean) =>
      Effect.sync(() => {
        isWriting = is
      })

    return {
      write: (status) =>
        Effect.gen(function* () {
          const patch = PodStatus.patch(uid, yield* status)
          own = yield* Client.status.patch(Pod, { namespace, name }, patch, { fieldManager: "kubelet" })
          written(own)
        }).pipe(
          Effect.retry({
            while: ({ _tag }) => _tag !== "NotFound" && _tag !== "Conflict" && _tag !== "Invalid",
            schedule: Events.calm
          }),
          Effect.ignoreLogged,
          (effect) =>
            Effect.acquireUseRelease(
              busy(true),
              () => effect,
              () => busy(false)
            ),
          turn.withPermits(1),
          Effect.zipRight(compare)
        ),
      seen: (pod) =>
        Effect.suspend(() => {
          latest = pod
          return compare
        }),
      foreign: Queue.take(signals)
    }
  })
