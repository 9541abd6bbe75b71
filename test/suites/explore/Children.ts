/** The tests that explore a set of children. A crash between applies and removals, a stale cache or a failed request does not change the end state. */
import { BuiltIn, Condition, Controller, CustomResource, Owned, Result, Status } from "@homeostat/runtime"
import { HTTPRoute } from "@homeostat/runtime/resource/GatewayKinds"
import * as Explore from "@homeostat/testkit/Explore"
import { Effect, Schema } from "effect"

/** A Book has a ConfigMap for each page, created in order. */
const Book = CustomResource.make({
  group: "example.com",
  version: "v1",
  kind: "Book",
  spec: Schema.Struct({ pages: Schema.Array(Schema.String) }),
  status: Schema.Struct({
    observedGeneration: Schema.optionalKey(Schema.Int),
    conditions: Schema.optionalKey(Condition.list)
  })
})

const controller = Controller.make("book", {
  for: Book,
  owns: [Owned.kind(BuiltIn.ConfigMap, { removes: true })],
  finalizer: { name: "example.com/pages", cleanup: (book) => Owned.removeAll(book) },
  reconcile: (book) =>
    Effect.gen(function* () {
      const pages: Array<Owned.Child> = []
      for (const name of book.spec.pages) {
        pages.push(Owned.child(BuiltIn.ConfigMap, { metadata: { name } }, { after: pages.slice(-1) }))
      }
      const children = yield* Owned.all(book, pages)
      yield* Status.progress(book, Owned.progress(children))
      return Result.done
    })
})

const cover = Owned.child(BuiltIn.ConfigMap, { metadata: { name: "cover" } })

const withoutRoutes = Controller.make("book", {
  for: Book,
  owns: [Owned.kind(BuiltIn.ConfigMap, { removes: true }), Owned.kind(HTTPRoute, { optional: true })],
  reconcile: (book) =>
    Effect.gen(function* () {
      yield* Status.progress(book, Owned.progress(yield* Owned.all(book, [cover])))
      return Result.done
    })
})

/** Declares the tests. */
export const test = (options: Explore.Options): void => {
  Explore.kind("a set of children survives every fault", Book, {
    ...options,
    controllers: [controller],
    specs: [{ pages: ["a", "b"] }, { pages: ["c"] }]
  })
  Explore.kind("a controller of a kind that the cluster lacks survives every fault", Book, {
    ...options,
    controllers: [withoutRoutes],
    specs: [{ pages: [] }]
  })
}
