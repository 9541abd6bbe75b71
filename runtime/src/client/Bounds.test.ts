/** The limits of what a server may answer. An aggregated API server can belong to a tenant. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { gzipSync } from "node:zlib"
import { Effect, Layer } from "effect"
import * as Metrics from "../telemetry/Metrics.ts"
import * as Client from "./Client.ts"
import * as Cluster from "./Cluster.ts"
import { mostBytes } from "./Request.ts"
import { ConfigMap } from "./Scripted.fixture.ts"
import * as Transport from "./Transport.ts"

const part = new Uint8Array(256 * 1024).fill(0x20)
const bomb = gzipSync(Buffer.alloc(256 * 2 ** 20, 0x20))

let sent = 0
let requests = 0
/** A body without an end. */
const endless = () =>
  new ReadableStream({
    pull: (controller) => {
      sent += part.length
      controller.enqueue(part)
    }
  })
const gzip = { "content-encoding": "gzip" }
const answers: { readonly [name: string]: () => Response } = {
  endless: () => new Response(endless()),
  announced: () => new Response(new Uint8Array(2 * mostBytes).fill(0x20)),
  bomb: () => new Response(bomb, { headers: gzip }),
  error: () => new Response(endless(), { status: 404 }),
  "error-bomb": () => new Response(bomb, { status: 404, headers: gzip }),
  large: () => new Response(JSON.stringify({ metadata: { name: "large" }, data: { a: "x".repeat(mostBytes - 1000) } }))
}

let server: Bun.Server<undefined>
beforeAll(() => {
  server = Bun.serve({
    port: 0,
    fetch: ({ url }) => {
      requests++
      const { pathname, searchParams } = new URL(url)
      const name = pathname.split("/").at(-1) ?? ""
      return searchParams.has("watch")
        ? new Response(endless())
        : ((answers[name] ?? answers.error)?.() ?? Response.error())
    }
  })
})
afterAll(() => server.stop(true))

const metrics = Metrics.make()
const run = <A, E>(effect: Effect.Effect<A, E, Client.Client>) => {
  sent = 0
  requests = 0
  const cluster = Cluster.make({ server: `http://127.0.0.1:${server.port}` })
  const client = Client.layer().pipe(
    Layer.provide(Transport.layer(cluster)),
    Layer.provide(Layer.succeed(Metrics.Metrics, metrics))
  )
  return Effect.runPromise(Effect.provide(effect, client))
}

const tooLarge = `the answer, or an event of the watch, is too large (at most ${mostBytes} bytes)`

describe("the client reads only a part of", () => {
  for (const [what, name, tag, words] of [
    ["an object without an end", "endless", "Transport", tooLarge],
    ["an object that announces its size", "announced", "Transport", tooLarge],
    ["a compressed object", "bomb", "Transport", tooLarge],
    ["an error without an end", "error", "NotFound", "HTTP 404"],
    ["a compressed error", "error-bomb", "NotFound", "HTTP 404"]
  ] as const) {
    test(`${what}, once`, async () => {
      const error = await run(Effect.flip(Client.get(ConfigMap, { namespace: "a", name })))
      expect(error._tag as string).toBe(tag)
      expect(error.message).toContain(words)
      expect(requests).toBe(1)
      expect(sent).toBeLessThan(64 * 2 ** 20)
    })
  }

  test("an event of a watch without an end", async () => {
    const error = await run(Effect.scoped(Effect.flatMap(Client.watch(ConfigMap), ({ next }) => Effect.flip(next))))
    expect([error._tag as string, error.message.includes(tooLarge)]).toEqual(["Transport", true])
    expect(sent).toBeLessThan(64 * 2 ** 20)
  })

  test("these, and the metric counts each of them without an answer", () => {
    const family = metrics.read().find(({ metric }) => metric.name === "rest_client_requests_total")
    const counts = family?.series.map((series) => [series.labels[0], (series as Metrics.Scalar).value])
    expect(counts).toContainEqual(["<error>", 3])
  })
})

test("the client reads an object as large as allowed", async () => {
  const { data } = await run(Client.get(ConfigMap, { namespace: "a", name: "large" }))
  expect(data?.a).toHaveLength(mostBytes - 1000)
})
