/**
 * Passes the server's answers to our own writes to the cache, which shows them before its watch does.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { KubernetesObject, ObjectKey } from "../resource/KubernetesObject.ts"
import type * as Resource from "../resource/Resource.ts"

/** A write that succeeded. Dry runs and `deleteAll`, whose answer does not say what became of each object, are none. */
export interface Write {
  readonly resource: Resource.Any
  readonly verb: "create" | "update" | "patch" | "apply" | "delete"
  readonly subresource?: string | undefined
  readonly key: ObjectKey
  /**
   * The object as the server answered with it, managedFields included; it is the writer's too, so not to be changed. Absent
   * when a deletion is answered by a Status. Of subresource `scale`, a Scale.
   */
  readonly object: KubernetesObject | undefined
  /** Of the object that was deleted, when a Status names it. */
  readonly uid?: string | undefined
}

/** Runs in the writer's fiber, between the parsing of the answer and whatever the writer does next. It must not throw. */
export type Listener = (write: Write) => void

/** Between the writer and those who listen. */
export interface Writes {
  readonly publish: (write: Write) => void
  /** Listens until the scope closes. */
  readonly listen: (listener: Listener) => Effect.Effect<void, never, Scope.Scope>
}

/** A publication without listeners. */
export const make = (): Writes => {
  const listeners = new Set<Listener>()
  return {
    publish: (write) => {
      for (const listener of listeners) listener(write)
    },
    listen: (listener) =>
      Effect.acquireRelease(
        Effect.sync(() => {
          // A wrapper, so that one function given twice listens twice.
          const entry: Listener = (write) => listener(write)
          listeners.add(entry)
          return entry
        }),
        (entry) => Effect.sync(() => listeners.delete(entry))
      )
  }
}
