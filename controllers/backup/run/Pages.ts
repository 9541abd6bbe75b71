/**
 * Lists objects of tenants in small pages and keeps only a part of each object. A tenant may have thousands of objects
 * of a megabyte each, and all tenants share the manager's memory.
 *
 * Errors: those of `Client.list`.
 */
import * as Client from "@homeostat/runtime/client/Client"
import type { PageOptions } from "@homeostat/runtime/client/Options"
import type { KubernetesObject } from "@homeostat/runtime/resource/KubernetesObject"
import type { Resource } from "@homeostat/runtime/resource/Resource"
import * as Effect from "effect/Effect"

/** Objects per page. */
export const size = 50

/** The objects of a list, at a resourceVersion if that is given. */
type Selected = Pick<PageOptions, "namespace" | "labelSelector" | "resourceVersion" | "resourceVersionMatch">

/** Calls `visit` for each matching object of a kind, page by page, until it returns true. */
const walk = <A extends KubernetesObject>(
  kind: Resource<A, never>,
  { labelSelector, namespace, ...version }: Selected,
  visit: (object: A) => boolean
) =>
  Effect.gen(function* () {
    let next: string | undefined
    do {
      // The token has the version of the first page.
      const from = next === undefined ? version : { continue: next }
      const page: Client.List<A> = yield* Client.list(kind, { namespace, labelSelector, limit: size, ...from })
      if (page.items.some(visit)) return
      next = page.continue
    } while (next !== undefined && next !== "")
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
