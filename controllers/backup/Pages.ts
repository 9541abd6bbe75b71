/**
 * Lists of a tenant's namespace, in small pages of which only a part is kept: a tenant may have thousands of objects of a megabyte
 * each, and all tenants share the manager's memory.
 *
 * Errors: those of `Client.list`.
 */
import * as Client from "@homeostat/runtime/client/Client"
import type { KubernetesObject } from "@homeostat/runtime/resource/KubernetesObject"
import type { Resource } from "@homeostat/runtime/resource/Resource"
import * as Effect from "effect/Effect"

/** Objects of a page. */
export const size = 50

/** Lists the objects of a kind that match, page by page, and gives the result of `keep` for each. Leaves out `undefined`. */
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
