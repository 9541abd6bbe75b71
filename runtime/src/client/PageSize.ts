/**
 * The sizes of the pages of lists. Objects belong to other users, and 500 of the largest ones take 750 MB. So the answer to a page has at most
 * {@link mostBytes}, or one object. Pages of ordinary objects are not affected.
 */
import * as Resource from "../resource/Resource.ts"

/** Objects per page, as in client-go's pager: few enough to bound the memory, and enough to make paging cheap. */
export const most = 500

/**
 * The largest answer with more than one object, in bytes. With its objects, it takes several times as much memory, and to parse it blocks the
 * process for up to a twentieth of a second.
 */
export const mostBytes = 4 * 1024 * 1024

/** The bytes that a page should have, because its objects may be larger than those of the page before. */
const wantedBytes = 0.75 * mostBytes

/** A page for the memory of sizes. */
interface Page {
  readonly items: ReadonlyArray<unknown>
  readonly length: number
}

/** The sizes of pages by kind. */
export interface PageSizes {
  /** The objects to ask for: at most `limit`, and fewer if those of the last page of the kind were large. */
  readonly limitFor: (resource: Resource.Any, limit: number) => number
  /** A page has arrived. */
  readonly arrived: (resource: Resource.Any, page: Page) => void
}

/** Knows no page. */
export const make = (): PageSizes => {
  /** The objects per page of kinds with large ones. */
  const limits = new Map<string, number>()
  return {
    limitFor: (resource, limit) =>
      limits.size === 0 ? limit : Math.min(limit, limits.get(Resource.identityOf(resource)) ?? limit),
    arrived: (resource, { items, length }) => {
      if (items.length === 0) return
      const next = Math.max(1, Math.floor((wantedBytes / length) * items.length))
      if (next < most) limits.set(Resource.identityOf(resource), next)
      else if (limits.size > 0) limits.delete(Resource.identityOf(resource))
    }
  }
}

/** The limit after a page of this limit was too large. The server has read all of its objects, so the next one is a lot smaller. */
export const smaller = (limit: number): number => Math.max(1, Math.floor(limit / 8))
