/** Publishes the server's responses to writes to the cache, which shows them before its watch does. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { KubernetesObject, ObjectKey } from "../resource/KubernetesObject.ts"
import type * as Resource from "../resource/Resource.ts"

/** A successful write. Dry runs and `deleteAll` are excluded; the response to `deleteAll` does not have the objects. */
export interface Write {
  readonly resource: Resource.Any
  readonly verb: "create" | "update" | "patch" | "apply" | "delete"
  readonly subresource?: string | undefined
  readonly key: ObjectKey
  /**
   * The object in the server's response, with managedFields. The writer has the same object, so do not change it. Absent if the
   * response to a deletion is a Status. A Scale for the subresource `scale`.
   */
  readonly object: KubernetesObject | undefined
  /** The UID of the deleted object, if a Status names it. */
  readonly uid?: string | undefined
}

/** Runs in the writer's fiber, after the response was parsed and before the writer continues. It must not throw. */
export type Listener = (write: Write) => void

/** Publishes writes to listeners. */
export interface WriteBroadcaster {
  readonly publish: (write: Write) => void
  /** Listens until the scope closes. */
  readonly listen: (listener: Listener) => Effect.Effect<void, never, Scope.Scope>
}

/** Without listeners. */
export const make = (): WriteBroadcaster => {
  const listeners = new Set<Listener>()
  return {
    publish: (write) => {
      for (const listener of listeners) listener(write)
    },
    listen: (listener) =>
      Effect.acquireRelease(
        Effect.sync(() => {
          // A wrapper, so that a function that is registered twice is called twice.
          const entry: Listener = (write) => listener(write)
          listeners.add(entry)
          return entry
        }),
        (entry) => Effect.sync(() => listeners.delete(entry))
      )
  }
}
