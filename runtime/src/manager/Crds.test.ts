import { describe, expect } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import * as Client from "../client/Client.ts"
import { capture, ended, settle, Widget } from "../controller/World.fixture.ts"
import * as ApiServer from "../events/ApiServer.fixture.ts"
import { CustomResourceDefinition } from "../resource/BuiltIn.ts"
import * as Crds from "./Crds.ts"

const name = "widgets.example.com"

/** Runs a test against a server that does not serve Widgets yet. */
const withServer = (body: (server: ApiServer.ApiServer) => Effect.Effect<void, unknown, Client.Client>) => () => {
  const server = ApiServer.make()
  const client = Client.layer().pipe(Layer.provide(server.transport))
  return Effect.provide(body(server), Layer.merge(client, capture([])))
}

const establish = (server: ApiServer.ApiServer, status = "True"): void => {
  const conditions = [
    { type: "NamesAccepted", status: "True" },
    { type: "Established", status }
  ]
  server.change(CustomResourceDefinition, name, { status: { conditions } })
}

describe("installing CRDs", () => {
  effect(
    "applies each, takes it over from whoever had it, and waits until the kind is served",
    withServer((server) =>
      Effect.gen(function* () {
        const installing = yield* Effect.fork(Crds.install([Widget]))
        yield* settle
        establish(server, "False")
        const [write] = server.writes()
        expect(write?.what).toBe(`PATCH /apis/apiextensions.k8s.io/v1/customresourcedefinitions/${name}`)
        expect(write?.contentType).toBe("application/apply-patch+yaml")
        expect([write?.query.get("force"), write?.query.get("fieldManager")]).toEqual(["true", "homeostat"])
        yield* TestClock.adjust("2 seconds")
        expect(yield* ended(installing)).toBe(false)
        const unserved = server.fail(/GET .*\/v1\/widgets/, 404)
        establish(server)
        yield* TestClock.adjust("2 seconds")
        expect(yield* ended(installing)).toBe(false)
        unserved.mend()
        yield* TestClock.adjust("100 millis")
        yield* Fiber.join(installing)
        expect(server.writes()).toHaveLength(1)
      })
    )
  )

  effect(
    "looks whether a kind is served only where it will be worked on",
    withServer((server) =>
      Effect.gen(function* () {
        const installing = yield* Effect.fork(Crds.install([Widget], ["shop", "home"]))
        yield* settle
        establish(server)
        yield* TestClock.adjust("2 seconds")
        yield* Fiber.join(installing)
        const lists = server.requests.filter(({ what }) => what.endsWith("/widgets"))
        expect(lists.map(({ what }) => what)).toEqual(["GET /apis/example.com/v1/namespaces/shop/widgets"])
      })
    )
  )

  effect(
    "gives up after half a minute, and says where to look",
    withServer((server) =>
      Effect.gen(function* () {
        const installing = yield* Effect.fork(Crds.install([Widget]))
        yield* TestClock.adjust("30 seconds")
        const exit = yield* Fiber.await(installing)
        expect(exit).toEqual(Exit.fail(new Crds.NotEstablished({ name })))
        expect(new Crds.NotEstablished({ name }).message).toBe(
          `The API server does not serve ${name}, 30 s after its CRD was applied: see kubectl describe crd ${name}`
        )
        expect(server.list(CustomResourceDefinition)).toHaveLength(1)
      })
    )
  )

  effect(
    "does not ask for the right to list a kind everywhere",
    withServer((server) =>
      Effect.gen(function* () {
        server.fail(/GET .*\/v1\/widgets/, 403)
        const installing = yield* Effect.fork(Crds.install([Widget]))
        yield* settle
        establish(server)
        yield* TestClock.adjust("100 millis")
        yield* Fiber.join(installing)
      })
    )
  )

  effect(
    "fails at once where it is not allowed",
    withServer((server) =>
      Effect.gen(function* () {
        server.fail(/PATCH .*customresourcedefinitions/, 403)
        const error = yield* Effect.flip(Crds.install([Widget]))
        expect(error._tag).toBe("Forbidden")
      })
    )
  )
})
