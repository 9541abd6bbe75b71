import { describe, expect } from "bun:test"
import * as Faults from "@homeostat/testkit/Faults"
import { effect } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import * as Client from "../client/Client.ts"
import * as Cluster from "../client/Cluster.fixture.ts"
import { capture, ended, settle, Widget } from "../controller/World.fixture.ts"
import { CustomResourceDefinition } from "../resource/BuiltIn.ts"
import * as Crd from "../resource/Crd.ts"
import * as CustomResource from "../resource/CustomResource.ts"
import * as Crds from "./Crds.ts"

const name = "widgets.example.com"

/** Runs a test against a server that does not serve Widgets yet. */
const withServer =
  (
    body: (
      server: Cluster.Cluster,
      lines: ReadonlyArray<string>
    ) => Effect.Effect<void, unknown, Client.Client | Scope.Scope>
  ) =>
  () =>
    Effect.gen(function* () {
      const server = yield* Cluster.make()
      const lines: Array<string> = []
      const client = Client.layer().pipe(Layer.provide(server.transport))
      yield* Effect.provide(body(server, lines), Layer.merge(client, capture(lines)))
    })

/** The kind in another version of the program, with these fields in its spec. */
const version = (fields: Schema.Struct.Fields, shortNames: ReadonlyArray<string> = []) =>
  CustomResource.make({
    group: Widget.group,
    version: Widget.version,
    kind: Widget.kind,
    shortNames,
    spec: Schema.Struct({ size: Schema.Int, ...fields })
  })

const older = version({})
const newer = version({ color: Schema.optionalKey(Schema.String) })

/** Stores the CRD as another program would. */
const put = (server: Cluster.Cluster, kind: CustomResource.Any): void =>
  server.put(CustomResourceDefinition, JSON.parse(JSON.stringify(Crd.of(kind))))

const stored = (server: Cluster.Cluster): unknown => server.get(CustomResourceDefinition, name)?.spec

describe("Crds.install", () => {
  effect(
    "creates each CRD, and waits until its kind is served",
    withServer((server) =>
      Effect.gen(function* () {
        const unserved = server.faults.on({ verb: "list", kind: Widget }, Faults.answer(404))
        const installing = yield* Effect.forkChild(Crds.install([Widget], { program: "sites" }))
        yield* settle
        const [write] = server.writes()
        expect(write?.path).toBe("/apis/apiextensions.k8s.io/v1/customresourcedefinitions")
        expect(write?.query.get("fieldManager")).toBe("sites")
        yield* TestClock.adjust("2 seconds")
        expect(yield* ended(installing)).toBe(false)
        unserved.remove()
        yield* TestClock.adjust("100 millis")
        yield* Fiber.join(installing)
        expect(server.writes()).toHaveLength(1)
      })
    )
  )

  effect(
    "does not write an equal CRD, whatever other managers added to it",
    withServer((server) =>
      Effect.gen(function* () {
        put(server, newer)
        server.change(CustomResourceDefinition, name, {
          metadata: { labels: { team: "shop" } },
          spec: { conversion: { strategy: "None" } }
        })
        yield* Crds.install([newer])
        expect(server.writes()).toEqual([])
      })
    )
  )

  effect(
    "widens a narrower CRD, and keeps the additions of other managers",
    withServer((server) =>
      Effect.gen(function* () {
        put(server, version({}, ["wi"]))
        server.change(CustomResourceDefinition, name, { spec: { conversion: { strategy: "None" } } })
        yield* Crds.install([newer])
        expect(stored(server)).toEqual({ ...Crd.of(newer).spec, conversion: { strategy: "None" } })
        expect(server.writes()).toHaveLength(1)
      })
    )
  )

  effect(
    "does not narrow a CRD, logs what would be lost with advice, and continues",
    withServer((server, lines) =>
      Effect.gen(function* () {
        put(server, newer)
        yield* Crds.install([older], { program: "gadgets" })
        expect(server.writes()).toEqual([])
        expect(lines).toEqual([
          `WARN CRD ${name} was not updated, because this version would remove or tighten: v1 spec.color is gone: what it holds would be pruned. This is expected if a newer version of gadgets installed it. To overwrite it anyway: gadgets crd | kubectl apply --server-side --force-conflicts -f -`
        ])
        // Other kinds are not affected.
        const names = ["a", "b", "c", "d", "e", "f", "g"]
        server.remove(CustomResourceDefinition, name)
        put(server, version(Object.fromEntries(names.map((name) => [name, Schema.optional(Schema.String)]))))
        yield* Crds.install([older])
        expect(lines.at(-1)).toContain("spec.e is gone: what it holds would be pruned; and 2 more. This")
      })
    )
  )

  effect(
    "suggests no command that the API server would reject, if a stored version is missing",
    withServer((server, lines) =>
      Effect.gen(function* () {
        const { spec, ...crd } = Crd.of(newer)
        const versions = spec.versions.map((version) => ({ ...version, name: "v0" }))
        server.put(CustomResourceDefinition, JSON.parse(JSON.stringify({ ...crd, spec: { ...spec, versions } })))
        yield* Crds.install([newer])
        expect(lines).toEqual([
          `WARN CRD ${name} was not updated, because this version would remove or tighten: v0 version is gone: objects that are stored in it could not be read. This is expected if a newer version of homeostat installed it`
        ])
      })
    )
  )

  for (const [what, before] of [
    ["appears", undefined],
    ["changes", older]
  ] as const) {
    effect(
      `reads a CRD again that ${what} at the same time`,
      withServer((server, lines) =>
        Effect.gen(function* () {
          if (before !== undefined) put(server, before)
          const held = server.faults.on({ verb: ["create", "patch"] }, Faults.held)
          const installing = yield* Effect.forkChild(Crds.install([version({ shape: Schema.optional(Schema.String) })]))
          yield* settle
          if (before !== undefined) server.remove(CustomResourceDefinition, name)
          put(server, newer)
          held.remove()
          yield* TestClock.adjust("1 second")
          yield* Fiber.join(installing)
          expect(stored(server)).toEqual({ ...Crd.of(newer).spec, conversion: { strategy: "None" } })
          expect(lines).toEqual([expect.stringContaining("spec.color is gone")])
        })
      )
    )
  }

  effect(
    "checks only in the configured namespaces whether a kind is served",
    withServer((server) =>
      Effect.gen(function* () {
        const installing = yield* Effect.forkChild(Crds.install([Widget], { namespaces: ["shop", "home"] }))
        yield* settle
        yield* TestClock.adjust("2 seconds")
        yield* Fiber.join(installing)
        const lists = server.requests.filter(({ path }) => path.endsWith("/widgets"))
        expect(Cluster.lines(lists)).toEqual(["list /apis/example.com/v1/namespaces/shop/widgets"])
      })
    )
  )

  effect(
    "fails after 30 seconds with advice",
    withServer((server) =>
      Effect.gen(function* () {
        // Another CRD has the kind already.
        put(server, CustomResource.make({ ...Widget, plural: "gizmos", spec: Schema.Struct({}) }))
        const installing = yield* Effect.forkChild(Crds.install([Widget]))
        yield* TestClock.adjust("30 seconds")
        const exit = yield* Fiber.await(installing)
        expect(exit).toEqual(Exit.fail(new Crds.NotEstablished({ name })))
        expect(new Crds.NotEstablished({ name }).message).toBe(
          `The API server does not serve ${name}, 30 s after its CRD was applied: see kubectl describe crd ${name}`
        )
        expect(server.list(CustomResourceDefinition)).toHaveLength(2)
      })
    )
  )

  effect(
    "needs no cluster-wide permission to list a kind",
    withServer((server) =>
      Effect.gen(function* () {
        server.faults.on({ verb: ["get", "list"], kind: Widget }, Faults.answer(403))
        const installing = yield* Effect.forkChild(Crds.install([Widget]))
        yield* settle
        yield* TestClock.adjust("100 millis")
        yield* Fiber.join(installing)
      })
    )
  )

  for (const [what, fault] of [
    ["is overloaded", Faults.tooManyRequests("1 second")],
    ["is unavailable", Faults.unavailable],
    ["has failed", Faults.answer(500)],
    ["times out", Faults.answer(504)],
    ["refuses connections", Faults.refused],
    ["loses the answer", Faults.lost]
  ] as const)
    for (const verb of ["get", "create"] as const) {
      effect(
        `waits until the API server, which ${what} at the ${verb}, accepts the CRD`,
        withServer((server, lines) =>
          Effect.gen(function* () {
            const failing = server.faults.on({ verb, kind: CustomResourceDefinition }, fault)
            const installing = yield* Effect.forkChild(Crds.install([Widget]))
            for (let at = 0; at < 60; at++) yield* Effect.andThen(TestClock.adjust("1 second"), settle)
            if (verb === "get") expect(yield* ended(installing)).toBe(false)
            expect(lines.filter((line) => line.includes(`Cannot apply CRD ${name}, retrying: `)).length).toBeWithin(
              1,
              9
            )
            failing.remove()
            for (let at = 0; at < 60; at++) yield* Effect.andThen(TestClock.adjust("1 second"), settle)
            yield* Fiber.join(installing)
            expect(server.list(CustomResourceDefinition)).toHaveLength(1)
          })
        )
      )
    }

  effect(
    "fails at once without permission",
    withServer((server) =>
      Effect.gen(function* () {
        server.faults.on({ verb: "create", kind: CustomResourceDefinition }, Faults.answer(403))
        const error = yield* Effect.flip(Crds.install([Widget]))
        expect(error._tag).toBe("Forbidden")
      })
    )
  )
})
