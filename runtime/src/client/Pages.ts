/**
 * Lists objects of tenants in small pages and keeps only a part of each object. A tenant may have thousands of objects
 * of a megabyte each, and all tenants share the manager's memory.
 *
 * Errors: those of `Client.list`.
 */

import * as Effect from "effect/Effect"
import type { KubernetesObject } from "../resource/KubernetesObject.ts"
import type { Resource } from "../resource/Resource.ts"
import * as Client from "./Client.ts"
import type { PageOptions } from "./Options.ts"

/** Objects per page. */
export const size = 50

/** The objects of a list, at a resourceVersion if that is given. */
interface Selected
  extends Pick<
    PageOptions,
    "namespace" | "labelSelector" | "fieldSelector" | "resourceVersion" | "resourceVersionMatch"
  > {
  /** Pages to read at most. Default: all. */
  readonly mostPages?: number | undefined
}

/** Calls `visit` for each matching object of a kind, page by page, until it returns true. */
const walk = <A extends KubernetesObject>(
  kind: Resource<A, never>,
  { fieldSelector, labelSelector, mostPages = Number.POSITIVE_INFINITY, namespace, ...version }: Selected,
  visit: (object: A) => boolean
) =>
  Effect.gen(function* () {
    let next: string | undefined
    let read = 0
    do {
      // The token has the version of the first page.
      const from = next === undefined ? version : { continue: next }
      const page: Client.List<A> = yield* Client.list(kind, {
        ...{ fieldSelector, labelSelector, namespace, limit: size },
        ...from
      })
      if (page.items.some(visit)) return
      next = page.continue
      read++
    } while (read < mostPages && next !== undefined && next !== "")
  })

/** Lists the matching objects of a kind page by page, and returns the result of `keep` for each, without `undefined`. */
export const all = <A extends KubernetesObject, B>(
  kind: Resource<A, never>,
  selected: Selected,
  keep: (object: A) => B | undefined
) =>
  Effect.suspend(() => {
    const kept: Array<B> = []
    const visit = (object: A): boolean => {
      const part = keep(object)
      if (part !== undefined) kept.push(part)
      return false
    }
    return Effect.as(walk(kind, selected, visit), kept)
  })

/** Returns the first result of `keep` that is not `undefined`, and reads no page after that. */
export const find = <A extends KubernetesObject, B>(
  kind: Resource<A, never>,
  selected: Selected,
  keep: (object: A) => B | undefined
) =>
  Effect.suspend(() => {
    let found: B | undefined
    const visit = (object: A): boolean => {
      found = keep(object)
      return found !== undefined
    }
    return Effect.map(walk(kind, selected, visit), () => found)
  })
