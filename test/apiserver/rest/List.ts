/** GET of a collection: the selected objects at one revision, in pages. */

import * as Failure from "../model/Failure.ts"
import type { JsonObject } from "../model/Json.ts"
import { apiVersionOf, type Kind } from "../model/Kind.ts"
import { keyOfObject } from "../model/ObjectMeta.ts"
import * as Continue from "../storage/Continue.ts"
import type { Store } from "../storage/Store.ts"
import * as Query from "./Query.ts"
import type { Selection } from "./Selection.ts"

/** Some objects of a kind at one revision. */
export interface Page {
  readonly items: ReadonlyArray<JsonObject>
  readonly resourceVersion: string
  /** The continue token; empty if the list is complete. */
  readonly continue: string
  /** The number of remaining objects; undefined if the list does not report it. */
  readonly remaining: number | undefined
}

/** The revision of a list, exact or at least. */
interface Moment {
  readonly revision: number | undefined
  readonly exact: boolean
  /** The first key of the page. */
  readonly start: string
  readonly limit: number
}

/** The revision that the server must reach before it can respond. Throws a Failure (400). */
export const required = (options: Query.ListOptions): number => {
  const { revision } = momentOf(options)
  return revision ?? 0
}

/** The requested page. Throws a Failure (400, 410). */
export const page = (store: Store, kind: Kind, selection: Selection, options: Query.ListOptions): Page => {
  const moment = momentOf(options)
  const revision = moment.exact && moment.revision !== undefined ? moment.revision : store.revision
  const all = moment.exact
    ? store.listAt(kind.storage, revision, selection.namespace)
    : store.list(kind.storage, selection.namespace)
  if (all === undefined) throw expired(moment)
  const prefix = selection.namespace === undefined ? "" : `${selection.namespace}/`
  const start = moment.start === "" ? "" : prefix + moment.start
  const items: Array<JsonObject> = []
  let from = 0
  if (start !== "") while (from < all.length && keyAt(all, from) < start) from++
  // One call of a conversion webhook converts all objects that the page may need.
  const most = moment.limit === 0 || selection.selective ? undefined : from + moment.limit
  const converted = kind.cached?.(all.slice(from, most))
  for (let index = from; index < all.length; index++) {
    const stored = all[index]
    if (stored === undefined) break
    const object = converted?.[index - from] ?? kind.fromStorage(stored)
    if (!selection.takes(object)) continue
    items.push(object)
    if (items.length !== moment.limit || index === all.length - 1) continue
    return {
      items,
      resourceVersion: String(revision),
      continue: Continue.encode({ revision, start: Continue.after(keyAt(all, index).slice(prefix.length)) }),
      remaining: selection.selective ? undefined : all.length - 1 - index
    }
  }
  return { items, resourceVersion: String(revision), continue: "", remaining: undefined }
}

/** A page as the list in a response. */
export const listOf = (kind: Kind, { continue: next, items, remaining, resourceVersion }: Page): JsonObject => ({
  kind: kind.listKind,
  apiVersion: apiVersionOf(kind),
  metadata: {
    resourceVersion,
    // Lists of custom kinds always have a continue token.
    ...((next !== "" || kind.custom) && { continue: next }),
    ...(remaining !== undefined && { remainingItemCount: remaining })
  },
  items: kind.custom ? items : items.map(({ apiVersion, kind, ...item }) => item)
})

const keyAt = (all: ReadonlyArray<JsonObject>, index: number): string => {
  const stored = all[index]
  return stored === undefined ? "" : keyOfObject(stored)
}

const momentOf = (options: Query.ListOptions): Moment => {
  const { limit, resourceVersionMatch: match } = options
  if (options.continue !== "") {
    const { revision, start } = Continue.decode(options.continue)
    if (options.resourceVersion !== "" && options.resourceVersion !== "0") {
      throw Failure.badRequest("specifying resource version is not allowed when using continue")
    }
    return { revision: revision < 0 ? undefined : revision, exact: revision >= 0, start, limit }
  }
  const revision = Query.revision(options.resourceVersion, (message) =>
    Failure.badRequest(`invalid resource version: ${message}`)
  )
  // For resourceVersion 0, a kube-apiserver returns all objects from its watch cache, without pages.
  if (revision === 0) return { revision: undefined, exact: false, start: "", limit: 0 }
  const exact = revision !== undefined && (match === "Exact" || (match === "" && limit > 0))
  return { revision, exact, start: "", limit }
}

const expired = ({ start }: Moment): Failure.Failure => {
  if (start === "") return Failure.expired("The resourceVersion for the provided list is too old.")
  const { code, reason, message } = Failure.expired(inconsistent)
  return new Failure.Failure({ code, reason, message, continue: Continue.encode({ revision: -1, start }) })
}

const inconsistent =
  "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list."
