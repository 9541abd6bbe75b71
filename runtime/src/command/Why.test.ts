import { expect, test } from "bun:test"
import * as BunFileSystem from "@effect/platform-bun/BunFileSystem"
import { live } from "@homeostat/testkit/Test"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Why from "./Why.ts"

test("An object is named as kubectl names one, or by two words", () => {
  for (const words of [["webapp/shop"], ["webapp", "shop"]]) {
    expect(Why.objectOf(words)).toEqual(Either.right({ kind: "webapp", name: "shop" }))
  }
  expect(Why.objectOf(["webapps.apps.kubedojo.io/shop.v2"])).toEqual(
    Either.right({ kind: "webapps.apps.kubedojo.io", name: "shop.v2" })
  )
})

test("What is no object is refused with one line that says what is", () => {
  expect(Why.objectOf([])).toEqual(Either.left("say what to explain: why KIND/NAME, such as why webapp/shop"))
  for (const words of [["shop"], ["webapp/"], ["/shop"], ["a/b/c"], ["webapp", "a/b"]]) {
    expect(Why.objectOf(words)).toEqual(Either.left(`invalid object: "${words.join(" ")}" (write it like webapp/shop)`))
  }
  expect(Either.getOrThrow(Either.flip(Why.objectOf(["webapp/Shop"])))).toContain(`invalid object name: "Shop"`)
})

test("A token goes over https, or to this machine, and nowhere else", () => {
  for (const address of [
    "https://10.0.0.7:8081",
    "http://127.0.0.1:8081",
    "http://localhost:8081",
    "http://[::1]:8081"
  ]) {
    expect(Why.exposure(new URL(address))).toBeUndefined()
  }
  for (const address of [
    "http://10.0.0.7:8081",
    "http://[fd00::1]:8081",
    "http://127.0.0.1.example.com",
    "http://why"
  ]) {
    expect(Why.exposure(new URL(address))).toBe(`--token-file: a token is not sent to ${address} in clear`)
  }
})

live("An answer has no character that a terminal obeys", () =>
  Effect.gen(function* () {
    const server = yield* Effect.acquireRelease(
      Effect.sync(() =>
        Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("WebApp x/shop: \u001b[2Jgone\n") })
      ),
      (server) => Effect.promise(() => server.stop(true))
    )
    const printed: Array<unknown> = []
    const args = ["webapp/shop", "--namespace=x", `--probe-address=http://127.0.0.1:${server.port}`]
    yield* Why.verb({ name: "homeostat", version: "0.1.0", description: "" })
      .run({ args, environment: {} })
      .pipe(
        Console.withConsole({
          ...(yield* Effect.console),
          log: (line: unknown) => Effect.sync(() => void printed.push(line))
        }),
        Effect.provide(BunFileSystem.layer)
      )
    expect(printed).toEqual(["WebApp x/shop: \\u001b[2Jgone"])
  })
)
