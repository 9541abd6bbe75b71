import { describe, expect, spyOn, test } from "bun:test"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import * as NodeFileSystem from "@effect/platform-node-shared/NodeFileSystem"
import * as Directory from "@homeostat/testkit/envtest/Directory"
import { live } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as BuiltIn from "../resource/BuiltIn.ts"
import type * as Resource from "../resource/Resource.ts"
import * as Asking from "./Asking.ts"
import * as Why from "./Why.ts"

test("An object has kubectl's format, or is two arguments", () => {
  for (const words of [["webapp/shop"], ["webapp", "shop"]]) {
    expect(Why.objectOf(words, "webapp/shop")).toEqual(Result.succeed({ kind: "webapp", name: "shop" }))
  }
  expect(Why.objectOf(["webapps.apps.kubedojo.io/shop.v2"], "webapp/shop")).toEqual(
    Result.succeed({ kind: "webapps.apps.kubedojo.io", name: "shop.v2" })
  )
})

test("An invalid object fails with one line about the format", () => {
  expect(Why.objectOf([], "site/shop")).toEqual(Result.fail("an object is required: KIND/NAME, such as site/shop"))
  for (const words of [["shop"], ["webapp/"], ["/shop"], ["a/b/c"], ["webapp", "a/b"]]) {
    expect(Why.objectOf(words, "webapp/shop")).toEqual(
      Result.fail(`invalid object: "${words.join(" ")}" (must be KIND/NAME, such as webapp/shop)`)
    )
  }
  expect(Result.getOrThrow(Result.flip(Why.objectOf(["webapp/Shop"], "webapp/shop")))).toContain(
    `invalid object name: "Shop"`
  )
})

test("The examples name the first kind of the program", () => {
  const program = (...resources: ReadonlyArray<Resource.Any>) =>
    Why.verb({
      name: "sites",
      version: "1.0.0",
      description: "",
      controllers: resources.map((resource) => ({ resource }))
    })
  for (const [verb, kind] of [
    [program(BuiltIn.NetworkPolicy, BuiltIn.Service), "networkpolicy"],
    [program(), "deployment"]
  ] as const) {
    expect(verb.examples?.map(([, line]) => line)).toEqual([
      `why ${kind}/shop -n default`,
      `why ${kind}/shop --probe-address=http://127.0.0.1:9081`
    ])
  }
})

test("A token is sent only over https, or to this machine", () => {
  for (const address of [
    "https://10.0.0.7:8081",
    "http://127.0.0.1:8081",
    "http://localhost:8081",
    "http://[::1]:8081"
  ]) {
    expect(Asking.exposure(new URL(address))).toBeUndefined()
  }
  for (const address of [
    "http://10.0.0.7:8081",
    "http://[fd00::1]:8081",
    "http://127.0.0.1.example.com",
    "http://why"
  ]) {
    expect(Asking.exposure(new URL(address))).toBe(`--token-file: cannot send a token to ${address} without TLS`)
  }
})

/** The output or the error of the command, and its requests to a manager with this response. */
const ask = (answer: () => Response, ...flags: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const requests: Array<{ readonly url: URL; readonly authorization: string | null }> = []
    const server = yield* Effect.acquireRelease(
      Effect.sync(() =>
        Bun.serve({
          hostname: "127.0.0.1",
          port: 0,
          fetch: (request) => {
            requests.push({ url: new URL(request.url), authorization: request.headers.get("authorization") })
            return answer()
          }
        })
      ),
      (server) => Effect.promise(() => server.stop(true))
    )
    const printed: Array<unknown> = []
    const capture = (text: unknown, written: (error: null) => void): void => {
      printed.push(text)
      written(null)
    }
    yield* Effect.acquireRelease(
      Effect.sync(() => spyOn(process.stdout, "write").mockImplementation(capture as typeof process.stdout.write)),
      (spy) => Effect.sync(() => spy.mockRestore())
    )
    const origin = `http://127.0.0.1:${server.port}`
    const ended = yield* Why.verb({ name: "homeostat", version: "0.1.0", description: "", controllers: [] })
      .run({
        program: "homeostat",
        args: ["webapp/shop", "--namespace=x", `--probe-address=${origin}`, ...flags],
        environment: {}
      })
      .pipe(Effect.provide(NodeFileSystem.layer), Effect.result)
    const error = Result.isFailure(ended) ? ended.failure : undefined
    const code = error?._tag === "Logged" ? error.code : undefined
    return { printed, requests, code, error: error?.message.replaceAll(origin, "ORIGIN"), tag: error?._tag }
  })

live("An answer has no control characters", () =>
  Effect.gen(function* () {
    const { printed } = yield* ask(() => new Response("WebApp x/shop: \u001b[2Jgone\n"))
    expect(printed).toEqual(["WebApp x/shop: \\u001b[2Jgone\n"])
  })
)

live("The verb requests the object from the manager, with a token only from a file", () =>
  Effect.gen(function* () {
    const { requests } = yield* ask(() => new Response("ok"))
    const [plain] = requests
    expect(plain?.url.pathname).toBe("/why")
    expect(Object.fromEntries(plain?.url.searchParams ?? [])).toEqual({
      kind: "webapp",
      name: "shop",
      namespace: "x",
      output: "text"
    })
    expect(plain?.authorization).toBeNull()

    const folder = yield* Directory.make
    const file = join(folder, "token")
    yield* Effect.promise(() => writeFile(file, "abc\n"))
    const asked = yield* ask(() => new Response("ok"), `--token-file=${file}`, "-o", "json", "--controller=c")
    const [request] = asked.requests
    expect(request?.authorization).toBe("Bearer abc")
    expect(request?.url.searchParams.get("controller")).toBe("c")
    expect(request?.url.searchParams.get("output")).toBe("json")

    for (const text of ["", "two words"]) {
      yield* Effect.promise(() => writeFile(file, text))
      const { error, requests } = yield* ask(() => new Response("ok"), `--token-file=${file}`)
      expect([error, requests.length]).toEqual([`--token-file: token not found: ${file}`, 0])
    }
    const { error } = yield* ask(() => new Response("ok"), `--token-file=${file}x`)
    expect(error).toBe(`--token-file: ${file}x does not exist`)
    const unreadable = yield* ask(() => new Response("ok"), `--token-file=${folder}`)
    expect(unreadable.error).toStartWith(`--token-file: ${folder} cannot be read (`)
  })
)

live("The exit code is that of the health of the object", () =>
  Effect.gen(function* () {
    const codes: { readonly [health: string]: number | undefined } = { healthy: undefined, unhealthy: 3, unknown: 4 }
    for (const [health, code] of Object.entries(codes)) {
      const asked = yield* ask(() => new Response("An answer.\n", { headers: { "homeostat-health": health } }))
      expect([health, asked.code, asked.printed]).toEqual([health, code, ["An answer.\n"]])
    }
  })
)

describe("An error has one line of the response, and what to do", () => {
  const way = "kubectl -n homeostat-system port-forward deployment/homeostat"
  const table: ReadonlyArray<
    readonly [status: number, body: string, tag: "UsageError" | "NotAnswered", message: string]
  > = [
    [400, "no such kind\nmore\n", "UsageError", "no such kind"],
    [
      401,
      "a token\n",
      "NotAnswered",
      "ORIGIN rejected the request: a token (use --token-file FILE, or forward its port: "
    ],
    [
      403,
      "forbidden",
      "NotAnswered",
      "ORIGIN rejected the request: forbidden (use --token-file FILE, or forward its port"
    ],
    [404, "", "NotAnswered", "ORIGIN has no /why endpoint: the manager may still be starting"],
    [500, "x".repeat(400), "NotAnswered", `ORIGIN answered with 500: ${"x".repeat(300)}…`],
    [302, "", "NotAnswered", "ORIGIN answered with 302: "]
  ]
  for (const [status, body, tag, message] of table) {
    live(`after ${status}`, () =>
      Effect.gen(function* () {
        const failed = yield* ask(() => new Response(body, { status, headers: { location: "/elsewhere" } }))
        expect(failed.printed).toEqual([])
        expect(failed.tag).toBe(tag)
        expect(failed.error).toContain(message)
        expect(failed.error?.includes(way)).toBe(status === 401 || status === 403)
        expect(failed.requests).toHaveLength(1)
      })
    )
  }

  live("from a manager that answers in JSON", () =>
    Effect.gen(function* () {
      const outputOf = (body: string) =>
        Effect.map(
          ask(() => new Response(body, { status: 400 }), "-o", "json"),
          ({ error }) => error
        )
      expect(yield* outputOf('{"error":"no such kind"}')).toBe("no such kind")
      for (const body of ['{"error":3}', "3", "null", "{"]) expect(yield* outputOf(body)).toBe(body)
    })
  )

  live("if the port is closed", () =>
    Effect.gen(function* () {
      const taken = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() })
      const { port } = taken
      yield* Effect.promise(() => taken.stop(true))
      const { error, tag } = yield* ask(() => new Response("ok"), `--probe-address=http://127.0.0.1:${port}`)
      expect(tag).toBe("NotAnswered")
      expect(error).toStartWith(`cannot reach the manager at http://127.0.0.1:${port}: connection refused (if it runs`)
      expect(error).toContain(way)
    })
  )
})
