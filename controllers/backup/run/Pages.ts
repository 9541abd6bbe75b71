/**
 * Lists objects of a tenant's namespace in small pages and keeps only a part of each object. A tenant may have thousands of objects
 * of a megabyte each, and all tenants share the manager's memory.
 *
 * Errors: those of `Client.list`.
 */
import * as Client from "@homeostat/runtime/client/Client"
import type { KubernetesObject } from "@homeostat/runtime/resource/KubernetesObject"
import type { Resource } from "@homeostat/runtime/resource/Resource"
import * as Effect from "effect/Effect"

/** Objects per page. */
export const size = 50

/** Lists the matching objects of a kind page by page, and returns the result of `keep` for each, without `undefined`. */
export const all = <A extends KubernetesObject, B>(
  kind: Resource<A, never>,
  selection: { readonly namespace?: string | undefined; readonly labelSelector?: string },
  keep: (object: A) => B | undefined
) =>
  Effect.gen(function* () {
    const kept: Array<B> = []
    let next: string | undefined
    do {
      const page = yield* Client.list(kind, { ...selection, limit: size, continue: next })
      for (const object of page.items) {
        const part = keep(object)
        if (part !== undefined) kept.push(part)
      }
      next = page.continue
    } while (next !== undefined && next !== "")
    return kept
  })
