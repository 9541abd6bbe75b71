/**
 * Follows all objects of a kind. It is simpler than a cache: it keeps only the last state of each object.
 * Each watch starts with the whole state. After an error of the server, it retries a second later.
 */
import * as Client from "@homeostat/runtime/client/Client"
import type { Selection } from "@homeostat/runtime/client/Options"
import type { KubernetesObject } from "@homeostat/runtime/resource/KubernetesObject"
import type { Resource } from "@homeostat/runtime/resource/Resource"
import * as Effect from "effect/Effect"

/** Receives the objects. It may receive the same state of an object again. */
export interface Listener<A, R> {
  readonly seen: (object: A) => Effect.Effect<void, never, R>
  /** The object was deleted. The argument is its last state. */
  readonly gone: (object: A) => Effect.Effect<void, never, R>
}

/** The pause before the next attempt after an error of the server. */
const pause = "1 second"

/** Follows the objects, and never ends by itself. */
export const follow = <A extends KubernetesObject, R>(
  kind: Resource<A, never>,
  selection: Selection,
  { gone, seen }: Listener<A, R>
): Effect.Effect<never, never, R | Client.Client> => {
  const known = new Map<string, A>()
  const miss = (uid: string) => {
    const object = known.get(uid)
    known.delete(uid)
    return object === undefined ? Effect.void : gone(object)
  }
  const once = Effect.gen(function* () {
    const unheard = new Set(known.keys())
    const watch = yield* Client.watch(kind, { ...selection, initialEvents: true })
    while (true) {
      for (const event of yield* watch.next) {
        if (event.type === "ERROR") return yield* Effect.sleep(pause)
        if (event.type === "BOOKMARK") {
          if (event.initialEventsEnd) yield* Effect.forEach(unheard, miss, { discard: true })
          continue
        }
        const { uid } = event.object.metadata
        unheard.delete(uid)
        const object = yield* Effect.fromResult(kind.decode(event.object))
        known.set(uid, object)
        yield* event.type === "DELETED" ? miss(uid) : seen(object)
      }
    }
  }).pipe(Effect.scoped)
  return once.pipe(
    Effect.catch((error) => (error._tag === "Ended" ? Effect.void : Effect.sleep(pause))),
    Effect.forever
  )
}
