/** Managers of one program that wait for one Lease and reconcile different objects. */
import { describe, expect } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"
import * as Cluster from "../client/Cluster.fixture.ts"
import { capture, settle } from "../controller/World.fixture.ts"
import { Lease } from "../resource/BuiltIn.ts"
import * as LeaseScope from "./LeaseScope.ts"
import * as Replica from "./Replica.fixture.ts"

const scope = (controllers: ReadonlyArray<string>, namespaces: ReadonlyArray<string> = []) => ({
  scope: { controllers, namespaces, selector: undefined }
})

const annotationOf = (server: Cluster.Cluster) =>
  server.get(Lease, Replica.place.name)?.metadata.annotations?.[LeaseScope.annotation]

describe("A Lease of managers with other controllers", () => {
  effect("is rejected with a message, even if it is free, until it is deleted", () => {
    const lines: Array<string> = []
    return Effect.gen(function* () {
      const server = yield* Cluster.make()
      const webapp = yield* Replica.start(server, "a", scope(["webapp"]))
      yield* settle
      const backup = yield* Replica.start(server, "b", scope(["backup"]))
      yield* settle
      const sentence =
        "The Lease default/homeostat is for controller webapp, and this manager runs controller backup: managers that work side by side each need a --leader-elect-resource-name of their own; delete the Lease if no other manager uses it"
      expect(backup.state().refused).toBe(sentence)
      yield* TestClock.adjust("1 minute")
      yield* webapp.stop
      yield* TestClock.adjust("1 minute")
      expect(Replica.holder(server)).toBe("")
      expect([webapp.terms(), backup.terms()]).toEqual([1, 0])
      expect(backup.state().refused).toBe(sentence)
      expect(new Set(lines.filter((line) => line.startsWith("ERROR")))).toEqual(new Set([`ERROR ${sentence}`]))
      server.remove(Lease, Replica.place.name)
      yield* TestClock.adjust("20 seconds")
      expect(backup.leads()).toBe(true)
      expect(backup.state().refused).toBeUndefined()
      expect(annotationOf(server)).toBe(`{"controllers":["backup"],"namespaces":[]}`)
    }).pipe(Effect.provide(capture(lines)))
  })

  effect("is also rejected if only the namespaces differ", () =>
    Effect.gen(function* () {
      const server = yield* Cluster.make()
      yield* Replica.start(server, "a", scope(["webapp"], ["a"]))
      yield* settle
      const other = yield* Replica.start(server, "b", scope(["webapp"], ["b"]))
      yield* settle
      expect(other.state().refused).toContain(
        "is for controller webapp in namespace a, and this manager runs controller webapp in namespace b"
      )
    })
  )
})

describe("A rolling update that adds a namespace", () => {
  effect("has one leader at a time, and the Lease contains the scope of the new leader", () => {
    const lines: Array<string> = []
    return Effect.gen(function* () {
      const server = yield* Cluster.make()
      const old = yield* Replica.start(server, "old", scope(["webapp"], ["a"]))
      yield* settle
      const next = yield* Replica.start(server, "next", scope(["webapp"], ["a", "b"]))
      yield* TestClock.adjust("1 minute")
      expect([old.leads(), next.leads()]).toEqual([true, false])
      expect(next.state()).toEqual({ leading: false, holder: "old" })
      expect(annotationOf(server)).toBe(`{"controllers":["webapp"],"namespaces":["a"]}`)
      expect(lines).toContain(
        "WARN Standing by: old holds the Lease default/homeostat for controller webapp in namespace a, and this manager runs controller webapp in namespaces a, b: managers that work side by side each need a --leader-elect-resource-name of their own, unless this is a rolling update"
      )
      yield* old.stop
      yield* settle
      expect([old.leads(), next.leads()]).toEqual([false, true])
      expect(annotationOf(server)).toBe(`{"controllers":["webapp"],"namespaces":["a","b"]}`)
    }).pipe(Effect.provide(capture(lines)))
  })
})
