import { expect, test } from "bun:test"
import { live } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { ConfigMap, Secret } from "../resource/BuiltIn.ts"
import * as Client from "./Client.ts"
import * as Cluster from "./Cluster.ts"
import * as PageSize from "./PageSize.ts"
import * as Transport from "./Transport.ts"

const megabyte = 1 << 20

/** A server with ConfigMaps of these sizes in bytes. It answers like an API server, in pages, and may repeat an expired token. */
const serving = (sizes: ReadonlyArray<number>) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => {
        const limits: Array<number> = []
        const bodies: Array<number> = []
        const server = Bun.serve({
          hostname: "127.0.0.1",
          port: 0,
          fetch: ({ url }) => {
            const { searchParams } = new URL(url)
            const limit = Number(searchParams.get("limit") ?? "1000000")
            const from = Number(searchParams.get("continue") ?? "0")
            const to = Math.min(sizes.length, from + limit)
            const items = sizes.slice(from, to).map((bytes, at) => ({
              metadata: { name: `c${from + at}`, namespace: "default", uid: "u", resourceVersion: "1" },
              data: { text: "x".repeat(bytes) }
            }))
            limits.push(limit)
            const next = to < sizes.length ? { continue: String(to) } : {}
            const body = JSON.stringify({ kind: "List", metadata: { resourceVersion: "9", ...next }, items })
            bodies.push(body.length)
            return new Response(body)
          }
        })
        return { server, limits, bodies }
      }),
      ({ server }) => Effect.promise(() => server.stop(true))
    ),
    ({ bodies, limits, server }) => ({
      limits,
      /** The sizes of the bodies that the client could read to their ends. */
      read: () => bodies.filter((bytes) => bytes <= PageSize.mostBytes || bytes < 2 * Math.max(...sizes)),
      client: Client.layer({ userAgent: "test" }).pipe(
        Layer.provide(
          Transport.layer(Cluster.make({ server: `http://127.0.0.1:${server.port}` }), {
            proxy: { https: "", http: "", except: "" }
          })
        )
      )
    })
  )

const times = <A>(count: number, value: A): Array<A> => Array.from({ length: count }, () => value)

for (const [what, sizes, limits] of [
  ["small objects", times(1001, 4000), [500, 500, 500]],
  ["no objects", [], [500]],
  ["objects of 6 kB", times(1000, 6000), [500, 500]],
  ["objects of 7.5 kB", times(1000, 7500), [500, 413, 413]],
  ["objects of 10 kB", times(500, 10_000), [500, 62, 311, 311]],
  ["large objects", times(12, 0.75 * megabyte), [500, 62, 7, 1, 3, 3, 3, 3]],
  ["large objects after small ones", [...times(500, 400), ...times(8, 0.5 * megabyte)], [500, 500, 62, 7, 5]],
  ["small objects after large ones", [...times(9, 0.55 * megabyte), ...times(900, 400)], [500, 62, 7, 5, 13, 500, 500]],
  ["objects above the budget", times(2, 9 * megabyte), [500, 62, 7, 1, 1]]
] as const) {
  live(`A list of ${what} has no answer over the budget, and all objects`, () =>
    Effect.gen(function* () {
      const { client, limits: asked, read } = yield* serving(sizes)
      const { items } = yield* Effect.provide(Client.list(ConfigMap), client)
      expect(items.map(({ metadata }) => metadata.name)).toEqual(sizes.map((_, at) => `c${at}`))
      expect(asked).toEqual([...limits])
      expect(Math.max(...read())).toBeLessThan(PageSize.mostBytes + Math.max(0, ...sizes))
    })
  )
}

live("A page with a limit is shorter if its objects are large, and has a token for the rest", () =>
  Effect.gen(function* () {
    const { client, limits } = yield* serving(times(30, megabyte))
    const page = yield* Effect.provide(Client.page(ConfigMap, { limit: 30 }), client)
    expect([page.items.length, page.continue]).toEqual([3, "3"])
    expect(limits).toEqual([30, 3])
  })
)

test("The size of a page follows the last page of the kind", () => {
  const sizes = PageSize.make()
  const page = (items: number, length: number) => ({ items: times(items, {}), length })
  const both = (): ReadonlyArray<number> => [sizes.limitFor(ConfigMap, 500), sizes.limitFor(Secret, 500)]
  expect(both()).toEqual([500, 500])
  sizes.arrived(ConfigMap, page(500, 2_000_000))
  expect(both()).toEqual([500, 500])
  sizes.arrived(ConfigMap, page(5, 2_500_000))
  expect(both()).toEqual([6, 500])
  expect(sizes.limitFor(ConfigMap, 3)).toBe(3)
  sizes.arrived(ConfigMap, page(0, 100))
  expect(both()).toEqual([6, 500])
  sizes.arrived(ConfigMap, page(1, 40_000_000))
  expect(both()).toEqual([1, 500])
  sizes.arrived(ConfigMap, page(1, 1000))
  expect(both()).toEqual([500, 500])
})
