import { describe, expect, test } from "bun:test"
import * as Faults from "@homeostat/testkit/Faults"
import { effect } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"
import * as Cluster from "../client/Cluster.fixture.ts"
import { capture } from "../controller/World.fixture.ts"
import { Lease } from "../resource/BuiltIn.ts"
import * as Metrics from "../telemetry/Metrics.ts"
import { reading } from "../telemetry/Reading.fixture.ts"
import * as LeaseScope from "./LeaseScope.ts"
import * as Overlap from "./Overlap.ts"
import * as Replica from "./Replica.fixture.ts"

const now = Date.parse("2026-11-20T09:00:00Z")

const scope = (over: Partial<LeaseScope.LeaseScope> = {}): LeaseScope.LeaseScope => ({
  controllers: ["backup", "webapp"],
  namespaces: [],
  selector: undefined,
  ...over
})

const lease = (theirs: string | undefined, spec: object = {}) => ({
  metadata: { name: "other", ...(theirs !== undefined && { annotations: { [LeaseScope.annotation]: theirs } }) },
  spec: { holderIdentity: "pod-2", leaseDurationSeconds: 15, renewTime: "2026-11-20T08:59:59.000000Z", ...spec }
})

const of = (theirs: Partial<LeaseScope.LeaseScope>, spec?: object) => lease(LeaseScope.encode(scope(theirs)), spec)

describe("Another Lease", () => {
  const rows: ReadonlyArray<
    readonly [about: string, own: Partial<LeaseScope.LeaseScope>, lease: object, count: number]
  > = [
    ["of the same scope overlaps", {}, of({}), 1],
    ["of one of the controllers overlaps", {}, of({ controllers: ["webapp"] }), 1],
    ["of a namespace overlaps with one of all", {}, of({ namespaces: ["shop"] }), 1],
    ["of the same labels overlaps", { selector: "stage=1" }, of({ selector: "stage=1" }), 1],
    ["of some labels overlaps with one of all", {}, of({ selector: "stage=1" }), 1],
    ["of other controllers does not", {}, of({ controllers: ["sites"] }), 0],
    ["of no controller does not", {}, of({ controllers: [] }), 0],
    ["of another namespace does not", { namespaces: ["shop"] }, of({ namespaces: ["blog"] }), 0],
    ["of other labels is not known to", { selector: "stage=1" }, of({ selector: "stage!=1" }), 0],
    ["without a holder does not", {}, of({}, { holderIdentity: "" }), 0],
    ["that nobody renews does not", {}, of({}, { renewTime: "2026-11-20T08:54:59.000000Z" }), 0],
    ["without a valid time overlaps", {}, of({}, { renewTime: "soon" }), 1],
    ["without a scope is not known to", {}, lease(undefined), 0],
    ["with an invalid scope is not known to", {}, lease("{"), 0]
  ]
  test.each(rows)("%s", (_, own, other, count) => {
    expect(Overlap.of([other as Lease], { name: "homeostat", scope: scope(own) }, now)).toHaveLength(count)
  })

  test("is not the own one", () => {
    expect(Overlap.of([of({}) as unknown as Lease], { name: "other", scope: scope() }, now)).toEqual([])
  })
})

/** Renewals are rare, so that virtual hours take little time. */
const slow = { retryPeriod: "1 minute", renewDeadline: "3 minutes", leaseDuration: "4 minutes" } as const

const gauge = Effect.map(Metrics.Metrics, (registry) => reading(registry, "homeostat_overlapping_managers"))

describe("A leader", () => {
  effect("names managers with another Lease that share its objects, until they end", () =>
    Effect.gen(function* () {
      const logs: Array<string> = []
      const server = yield* Cluster.make()
      yield* Effect.gen(function* () {
        const one = yield* Replica.start(server, "one", { ...slow, scope: scope() })
        yield* TestClock.adjust("1 second")
        expect(one.state().overlap).toBeUndefined()
        const two = yield* Replica.start(server, "two", {
          ...slow,
          name: "other",
          scope: scope({ controllers: ["webapp"] })
        })
        yield* TestClock.adjust("11 minutes")
        const line =
          "another manager shares objects with this one and writes them too: Lease other, held by two, for controller webapp (give each manager other controllers, namespaces or labels, or stop one)"
        expect(one.state()).toMatchObject({ leading: true, overlap: line })
        expect(two.state().overlap).toContain("Lease homeostat, held by one, for controllers backup, webapp")
        expect(logs.filter((each) => each === `ERROR ${line}`)).toHaveLength(1)
        expect(yield* gauge).toEqual({
          'homeostat_overlapping_managers{name="homeostat"}': 1,
          'homeostat_overlapping_managers{name="other"}': 1
        })
        yield* TestClock.adjust("10 minutes")
        expect(logs.filter((each) => each === `ERROR ${line}`)).toHaveLength(1)
        yield* two.stop
        yield* TestClock.adjust("10 minutes")
        expect(one.state().overlap).toBeUndefined()
        expect(logs.at(-1)).toBe("INFO No other manager shares objects with this one any longer")
        yield* one.stop
        yield* TestClock.adjust("10 seconds")
        expect(server.requests.filter(({ verb }) => verb === "list").length).toBeLessThan(10)
      }).pipe(Effect.provide(capture(logs)), Effect.provideService(Metrics.Metrics, Metrics.make()))
    })
  )

  effect("logs once that it may not list Leases, and goes on", () =>
    Effect.gen(function* () {
      const logs: Array<string> = []
      const server = yield* Cluster.make()
      server.faults.on({ verb: "list", kind: Lease }, Faults.answer(403))
      yield* Effect.gen(function* () {
        const one = yield* Replica.start(server, "one", { ...slow, scope: scope() })
        yield* TestClock.adjust("25 minutes")
        expect(one.leads()).toBe(true)
        expect(logs.filter((each) => each.includes("Cannot look for managers"))).toHaveLength(1)
        yield* one.stop
        yield* TestClock.adjust("10 seconds")
      }).pipe(Effect.provide(capture(logs)))
    })
  )
})
