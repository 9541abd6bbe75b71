/** GET of one object or of a collection. */

import type { ServerState } from "../admission/ServerState.ts"
import * as Failure from "../model/Failure.ts"
import type { JsonObject } from "../model/Json.ts"
import { allFromStorage, type Kind } from "../model/Kind.ts"
import * as Update from "./Update.ts"

/** One object in the version of its kind. Throws a Failure (404). */
export const get = (state: ServerState, kind: Kind, namespace: string, name: string): JsonObject => {
  const stored = Update.storedAs(state, { kind, namespace, name })
  if (stored === undefined) throw Failure.notFound(kind, name)
  return kind.fromStorage(stored)
}

/** All objects, or the objects of one namespace. */
export const all = (state: ServerState, kind: Kind, namespace?: string): ReadonlyArray<JsonObject> =>
  allFromStorage(kind, state.store.list(kind.storage, kind.namespaced ? namespace : undefined))
