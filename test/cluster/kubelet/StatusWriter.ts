/**
 * Writes the status of a pod, and detects a status that another client wrote, such as a restored one. The kubelet ignores the conditions
 * of other clients.
 */
import * as Client from "@homeostat/runtime/client/Client"
import { Pod } from "@homeostat/runtime/resource/BuiltIn"
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"
import * as Events from "./Events.ts"
import * as PodStatus from "./PodStatus.ts"

/** Writes the status of a pod. */
export interface StatusWriter {
  /** Computes the status at its turn, and writes it. Retries until the API server accepts the status, or the pod is gone. */
  readonly write: (status: Effect.Effect<PodStatus.Status>) => Effect.Effect<void, never, Client.Client>
  /** Compares a pod from the watch with the last written status. */
  readonly seen: (pod: Pod) => Effect.Effect<void>
}

/**
 * Makes a writer for a pod from its current object. `written` receives each response. `foreign` runs when another client has written the
 * status.
 */
export const make = (
  first: Pod,
  written: (pod: Pod) => void,
  foreign: Effect.Effect<unknown>
): Effect.Effect<StatusWriter> =>
  Effect.gen(function* () {
    const { name, namespace = "default", uid } = first.metadata
    const turn = yield* Semaphore.make(1)
    let own = first
    let latest = first
    let isWriting = false

    const versionOf = ({ metadata }: Pod) => Number(metadata.resourceVersion)
    // The watch can deliver a write before its response.
    const compare = Effect.suspend(() => {
      const isForeign = versionOf(latest) > versionOf(own) && !PodStatus.isSame(latest, own)
      return isForeign && !isWriting ? foreign : Effect.void
    })

    return {
      write: (status) =>
        Effect.gen(function* () {
          isWriting = true
          const patch = PodStatus.patch(uid, yield* status)
          own = yield* Client.status.patch(Pod, { namespace, name }, patch, { fieldManager: "kubelet" })
          written(own)
        }).pipe(
          Effect.retry({
            while: ({ _tag }) => _tag !== "NotFound" && _tag !== "Conflict" && _tag !== "Invalid",
            schedule: Events.calm
          }),
          Effect.ignoreCause({ log: "Debug" }),
          Effect.ensuring(
            Effect.suspend(() => {
              isWriting = false
              return compare
            })
          ),
          turn.withPermits(1)
        ),
      seen: (pod) =>
        Effect.suspend(() => {
          latest = pod
          return compare
        })
    }
  })
