import { describe, expect, test } from "bun:test"
import * as Faults from "@homeostat/testkit/Faults"
import { effect } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import * as Result from "effect/Result"
import * as TestClock from "effect/testing/TestClock"
import * as Cluster from "../client/Cluster.fixture.ts"
import type { Request } from "../client/Request.ts"
import * as Transport from "../client/Transport.ts"
import { capture, ended, settle } from "../controller/World.fixture.ts"
import { Lease } from "../resource/BuiltIn.ts"
import * as RandomFixture from "../resource/Random.fixture.ts"
import * as LeaderElection from "./LeaderElection.ts"
import * as Replica from "./Replica.fixture.ts"

const pass = TestClock.adjust

const leaders = (...replicas: ReadonlyArray<Replica.Replica>): ReadonlyArray<string> =>
  replicas.filter((replica) => replica.leads()).map(({ name }) => name)

/** Two replicas; the first one leads. */
const pair = (settings?: Replica.Options) =>
  Effect.gen(function* () {
    const server = yield* Cluster.make()
    const a = yield* Replica.start(server, "a", settings)
    yield* settle
    const b = yield* Replica.start(server, "b", settings)
    yield* settle
    expect(leaders(a, b)).toEqual(["a"])
    return { server, a, b }
  })

const spec = (server: Cluster.Cluster) => server.get(Lease, "homeostat")?.spec

describe("Among several replicas,", () => {
  effect("exactly one leads, and keeps leading", () =>
    Effect.gen(function* () {
      const server = yield* Cluster.make()
      const replicas = yield* Effect.forEach(["a", "b", "c"], (name) => Replica.start(server, name))
      yield* settle
      const first = leaders(...replicas)
      expect(first).toHaveLength(1)
      yield* pass("2 minutes")
      expect(leaders(...replicas)).toEqual(first)
      expect(replicas.map((replica) => replica.terms())).toEqual(
        replicas.map(({ name }) => (first.includes(name) ? 1 : 0))
      )
      expect(replicas.map((replica) => replica.state())).toEqual(
        replicas.map(({ name }) => ({ leading: first.includes(name), holder: first[0] }))
      )
    })
  )

  effect("the leader writes the same Lease as client-go, and renews it", () =>
    Effect.gen(function* () {
      const { server, a, b } = yield* pair()
      expect(spec(server)).toEqual({
        holderIdentity: "a",
        leaseDurationSeconds: 15,
        acquireTime: "1970-01-01T00:00:00.000000Z",
        renewTime: "1970-01-01T00:00:00.000000Z",
        leaseTransitions: 0
      })
      yield* pass("5 seconds")
      expect(spec(server)).toMatchObject({
        acquireTime: "1970-01-01T00:00:00.000000Z",
        renewTime: "1970-01-01T00:00:04.000000Z"
      })
      yield* a.stop
      yield* settle
      expect(leaders(a, b)).toEqual(["b"])
      expect(spec(server)).toMatchObject({
        holderIdentity: "b",
        leaseDurationSeconds: 15,
        acquireTime: "1970-01-01T00:00:05.000000Z",
        leaseTransitions: 2 - 1
      })
    })
  )

  effect("a standby sends no request while the leader leads", () =>
    Effect.gen(function* () {
      const { server, b } = yield* pair()
      const before = server.requests.length
      yield* pass("1 minute")
      const sent = Cluster.lines(server.requests.slice(before))
      expect(new Set(sent)).toEqual(
        new Set(["update /apis/coordination.k8s.io/v1/namespaces/default/leases/homeostat"])
      )
      expect(sent).toHaveLength(30)
      expect(b.leads()).toBe(false)
    })
  )

  effect("changes of the leader are recorded as Events of the Lease", () =>
    Effect.gen(function* () {
      const { a, b } = yield* pair()
      yield* a.stop
      yield* settle
      expect(a.notes).toEqual([
        "Lease homeostat: LeaderElection, a became leader",
        "Lease homeostat: LeaderElection, a stopped leading"
      ])
      expect(b.notes).toEqual(["Lease homeostat: LeaderElection, b became leader"])
    })
  )
})

describe("A leader", () => {
  effect("that was suspended writes nothing by the wall clock, and acquires the Lease again", () =>
    Effect.gen(function* () {
      const { a, b } = yield* pair()
      yield* pass("3 seconds")
      // The monotonic clock stopped for eleven seconds.
      a.skew = 11_000
      expect(a.mayWrite()).toBe(false)
      yield* pass("2 seconds")
      expect([a.terms(), b.terms()]).toEqual([2, 0])
      expect(leaders(a, b)).toEqual(["a"])
      expect(a.mayWrite()).toBe(true)
    })
  )

  effect("whose wall clock is set forward and back writes nothing until it has acquired the Lease again", () =>
    Effect.gen(function* () {
      const { a, b } = yield* pair()
      yield* pass("3 seconds")
      a.skew = 3_600_000
      expect(a.mayWrite()).toBe(false)
      a.skew = 0
      expect(a.mayWrite()).toBe(false)
      yield* pass("2 seconds")
      expect([a.terms(), b.terms()]).toEqual([2, 0])
      expect(a.mayWrite()).toBe(true)
    })
  )
})

/** A server behind a proxy. While `replaces` is a method, the proxy answers its requests for the Lease, before or after the server. */
const behindProxy = (
  server: Cluster.Cluster,
  proxy: { replaces?: Request["method"] | undefined; readonly passes: boolean }
) => ({
  ...server,
  transport: Layer.effect(
    Transport.Transport,
    Effect.map(Transport.Transport, ({ send, ...rest }) => {
      const page = { status: 200, headers: new Headers(), body: '{"message":"maintenance"}' }
      return Transport.Transport.of({
        ...rest,
        send: (request) =>
          request.method !== proxy.replaces || !request.path.includes("/leases")
            ? send(request)
            : proxy.passes
              ? Effect.as(send(request), page)
              : Effect.succeed(page)
      })
    })
  ).pipe(Layer.provide(server.transport))
})

describe("A proxy that answers for the API server", () => {
  effect("ends neither a leadership nor an election", () =>
    Effect.gen(function* () {
      const proxy: Parameters<typeof behindProxy>[1] = { passes: false }
      const server = behindProxy(yield* Cluster.make(), proxy)
      const a = yield* Replica.start(server, "a")
      yield* settle
      proxy.replaces = "PUT"
      yield* pass("3 seconds")
      proxy.replaces = "GET"
      const b = yield* Replica.start(server, "b")
      yield* pass("3 seconds")
      proxy.replaces = undefined
      yield* pass("3 seconds")
      expect([a.terms(), b.terms()]).toEqual([1, 0])
      yield* a.stop
      yield* settle
      expect(leaders(a, b)).toEqual(["b"])
    })
  )

  effect("does not keep a candidate from the release of a Lease that it may hold", () =>
    Effect.gen(function* () {
      const proxy = { passes: true, replaces: "POST" } as const
      const server = behindProxy(yield* Cluster.make(), proxy)
      const a = yield* Replica.start(server, "a")
      yield* settle
      expect(leaders(a)).toEqual([])
      expect(Replica.holder(server)).toBe("a")
      yield* a.stop
      yield* settle
      expect(Replica.holder(server)).toBe("")
    })
  )
})

describe("A leader that is stopped", () => {
  effect("renews while it drains, and then releases the Lease, which another replica acquires at once", () =>
    Effect.gen(function* () {
      // It does not end together with a renewal, which would delay the release.
      const { server, a, b } = yield* pair({ drainMillis: 29_500 })
      const stopping = yield* a.stop
      yield* pass("29 seconds")
      expect(leaders(a, b)).toEqual(["a"])
      expect(a.mayWrite()).toBe(true)
      expect(Replica.holder(server)).toBe("a")
      yield* pass("1 second")
      expect(yield* ended(stopping)).toBe(true)
      expect(leaders(a, b)).toEqual(["b"])
      expect(a.mayWrite()).toBe(false)
    })
  )

  effect("releases the Lease with an empty holder and a duration of one second", () => {
    const lines: Array<string> = []
    return Effect.gen(function* () {
      const server = yield* Cluster.make()
      const a = yield* Replica.start(server, "a")
      yield* settle
      yield* a.stop
      yield* settle
      expect(spec(server)).toMatchObject({ holderIdentity: "", leaseDurationSeconds: 1, leaseTransitions: 0 })
      expect(lines.at(-1)).toBe("INFO Released the Lease default/homeostat")
    }).pipe(Effect.provide(capture(lines)))
  })

  effect("does not release the Lease while its work still runs", () =>
    Effect.gen(function* () {
      const { server, a, b } = yield* pair({ drains: false })
      const stopping = yield* a.stop
      yield* settle
      expect(yield* ended(stopping)).toBe(true)
      expect(Replica.holder(server)).toBe("a")
      yield* pass("14 seconds")
      expect(leaders(a, b)).toEqual([])
      yield* pass("2 seconds")
      expect(leaders(a, b)).toEqual(["b"])
    })
  )

  effect("releases the Lease even if another manager changed it", () =>
    Effect.gen(function* () {
      const { server, a, b } = yield* pair()
      server.change(Lease, "homeostat", { metadata: { labels: { team: "x" } } })
      yield* a.stop
      yield* pass("200 millis")
      expect(leaders(a, b)).toEqual(["b"])
      expect(server.get(Lease, "homeostat")?.metadata).toMatchObject({ labels: { team: "x" } })
    })
  )

  effect("retries the release for a while, and ends without it", () =>
    Effect.gen(function* () {
      const { server, a, b } = yield* pair()
      const trouble = server.faults.on({ verb: "update", kind: Lease }, Faults.answer(500))
      const stopping = yield* a.stop
      yield* pass("1 second")
      expect(yield* ended(stopping)).toBe(false)
      trouble.remove()
      yield* pass("200 millis")
      expect(yield* ended(stopping)).toBe(true)
      expect(leaders(a, b)).toEqual(["b"])

      b.line.condition = "silent"
      const second = yield* b.stop
      yield* pass("2500 millis")
      expect(yield* ended(second)).toBe(false)
      yield* pass("600 millis")
      expect(yield* ended(second)).toBe(true)
    })
  )

  effect("does not change a Lease with another holder", () =>
    Effect.gen(function* () {
      const { server, a } = yield* pair({ drainMillis: 1000 })
      yield* a.stop
      server.change(Lease, "homeostat", { spec: { holderIdentity: "x" } })
      yield* pass("1 second")
      expect(Replica.holder(server)).toBe("x")
    })
  )
})

describe("A process that does not lead", () => {
  for (const [what, condition, millis] of [
    ["waits for the Lease", "up", 0],
    ["can't reach the API server", "refused", 0],
    ["gets no answer, and may have acquired the Lease", "silent", 500]
  ] as const) {
    effect(`ends ${millis === 0 ? "at once" : `within ${millis} ms`} when it is stopped: one that ${what}`, () =>
      Effect.gen(function* () {
        const { server, b } = yield* pair()
        b.line.condition = condition
        yield* pass("30 seconds")
        const before = server.requests.length
        const stopping = yield* b.stop
        yield* pass(`${millis} millis`)
        expect(yield* ended(stopping)).toBe(true)
        expect(b.terms()).toBe(0)
        expect(server.requests.slice(before)).toEqual([])
      })
    )
  }

  effect("that acquires the Lease while it stops starts nothing, and releases the Lease", () =>
    Effect.gen(function* () {
      const server = yield* Cluster.make()
      const held = server.faults.on({ verb: "create", kind: Lease }, Faults.unanswered)
      const a = yield* Replica.start(server, "a")
      yield* settle
      expect(Replica.holder(server)).toBe("a")
      const stopping = yield* a.stop
      held.remove()
      yield* settle
      expect(yield* ended(stopping)).toBe(true)
      expect(a.terms()).toBe(0)
      expect(Replica.holder(server)).toBe("")
    })
  )
})

describe("A disconnected leader", () => {
  for (const condition of ["refused", "silent", "deaf"] as const) {
    effect(`(${condition}) stops before another one starts, and returns as a standby`, () =>
      Effect.gen(function* () {
        const { server, a, b } = yield* pair()
        yield* pass("1 second")
        a.line.condition = condition
        // Its last known renewal is the claim at 0, because later responses were lost.
        yield* pass("8900 millis")
        expect([a.mayWrite(), a.leads()]).toEqual([true, true])
        yield* pass("200 millis")
        expect([a.mayWrite(), a.leads()]).toEqual([false, false])
        expect(a.state().leading).toBe(false)
        expect(leaders(b)).toEqual([])
        yield* pass("15 seconds")
        if (condition !== "deaf") expect(leaders(a, b)).toEqual(["b"])
        a.line.condition = "up"
        yield* pass("1 minute")
        const leading = leaders(a, b)
        expect(leading).toHaveLength(1)
        expect(Replica.holder(server)).toBe(leading[0])
        // It can lead again, in the same process.
        const [leader, other] = leading[0] === "a" ? [a, b] : [b, a]
        yield* leader.stop
        yield* settle
        expect(leaders(a, b)).toEqual([other.name])
      })
    )
  }

  effect("closes its fence by the clock, before any of its fibers runs", () =>
    Effect.gen(function* () {
      const { a } = yield* pair()
      a.line.condition = "silent"
      yield* pass("9999 millis")
      expect(a.mayWrite()).toBe(true)
      // Moves the clock, and checks before any timer fires.
      const asked = yield* Effect.forkChild(
        Effect.andThen(
          Effect.sleep("1 millis"),
          Effect.sync(() => a.mayWrite())
        )
      )
      yield* Effect.yieldNow
      yield* pass("1 millis")
      expect(yield* Fiber.join(asked)).toBe(false)
    })
  )

  effect("counts from the request of a renewal, not from the answer", () =>
    Effect.gen(function* () {
      const { a } = yield* pair()
      // Sent at 2 s, answered at 6 s.
      a.line.condition = 2000
      yield* pass("6100 millis")
      a.line.condition = "silent"
      yield* pass("5800 millis")
      expect(a.leads()).toBe(true)
      yield* pass("200 millis")
      expect([a.leads(), a.mayWrite()]).toEqual([false, false])
    })
  )

  effect("keeps leading if it reconnects in time", () =>
    Effect.gen(function* () {
      const { a, b } = yield* pair()
      a.line.condition = "refused"
      yield* pass("7900 millis")
      a.line.condition = "up"
      yield* pass("1 minute")
      expect(leaders(a, b)).toEqual(["a"])
      expect(a.terms()).toBe(1)
    })
  )
})

describe("A leader that finds", () => {
  effect("another holder stops at once", () =>
    Effect.gen(function* () {
      const { server, a } = yield* pair()
      server.change(Lease, "homeostat", { spec: { holderIdentity: "x" } })
      yield* pass("1900 millis")
      expect(a.leads()).toBe(true)
      yield* pass("200 millis")
      expect([a.leads(), a.mayWrite()]).toEqual([false, false])
    })
  )

  effect("its Lease deleted recreates it, and no other replica acquires it", () =>
    Effect.gen(function* () {
      const { server, a, b } = yield* pair()
      server.remove(Lease, "homeostat")
      yield* pass("1 second")
      expect(leaders(a, b)).toEqual(["a"])
      yield* pass("1 second")
      expect(Replica.holder(server)).toBe("a")
      yield* pass("1 minute")
      expect(leaders(a, b)).toEqual(["a"])
      expect(a.terms()).toBe(1)
    })
  )

  effect("its Lease changed by another manager keeps the changes", () =>
    Effect.gen(function* () {
      const { server, a, b } = yield* pair()
      server.change(Lease, "homeostat", {
        metadata: { annotations: { x: "y" } },
        spec: { strategy: "OldestEmulationVersion" }
      })
      yield* pass("1 minute")
      expect(leaders(a, b)).toEqual(["a"])
      expect(server.get(Lease, "homeostat")).toMatchObject({
        metadata: { annotations: { x: "y" } },
        spec: { strategy: "OldestEmulationVersion", renewTime: "1970-01-01T00:01:00.000000Z" }
      })
    })
  )
})

describe("A standby", () => {
  for (const leaseDurationSeconds of [86_400, 2 ** 31 - 1]) {
    const edited = { holderIdentity: "somebody", leaseDurationSeconds }
    effect(`waits for its own lease duration, although a user wrote ${leaseDurationSeconds} s into the Lease`, () =>
      Effect.gen(function* () {
        const { server, a, b } = yield* pair()
        server.change(Lease, "homeostat", { spec: edited })
        yield* pass("14 seconds")
        expect(leaders(a, b)).toEqual([])
        yield* pass("4 seconds")
        expect(leaders(a, b)).toHaveLength(1)
      })
    )

    effect(`acquires such a Lease within seconds after its deletion`, () =>
      Effect.gen(function* () {
        const { server, a, b } = yield* pair()
        server.change(Lease, "homeostat", { spec: edited })
        yield* pass("5 seconds")
        expect(leaders(a, b)).toEqual([])
        server.remove(Lease, "homeostat")
        yield* pass("4 seconds")
        expect(leaders(a, b)).toHaveLength(1)
      })
    )
  }

  effect("acquires the Lease of a dead leader after the duration of that Lease", () =>
    Effect.gen(function* () {
      const { a, b } = yield* pair({ leaseDuration: "30 seconds" })
      yield* pass("5 seconds")
      yield* a.kill
      // The last renewal was at 4 s.
      yield* pass("28900 millis")
      expect(leaders(b)).toEqual([])
      yield* pass("200 millis")
      expect(leaders(b)).toEqual(["b"])
    })
  )

  for (const hours of [-5, 5]) {
    effect(`uses its own clock: other clocks may be ${hours} h off, and all may jump`, () =>
      Effect.gen(function* () {
        const { a, b } = yield* pair()
        a.skew = hours * 3_600_000
        yield* pass("1 minute")
        b.skew = -hours * 3_600_000
        yield* pass("1 minute")
        a.skew = 0
        yield* pass("1 minute")
        expect(leaders(a, b)).toEqual(["a"])
        yield* a.kill
        yield* pass("16 seconds")
        expect(leaders(b)).toEqual(["b"])
      })
    )
  }

  effect("waits the full duration for a holder that it first observes, however old the Lease is", () =>
    Effect.gen(function* () {
      const server = yield* Cluster.make()
      server.put(Lease, {
        metadata: { name: "homeostat" },
        spec: { holderIdentity: "gone", leaseDurationSeconds: 15, renewTime: "1960-01-01T00:00:00.000000Z" }
      })
      const a = yield* Replica.start(server, "a")
      yield* pass("14900 millis")
      expect(a.leads()).toBe(false)
      yield* pass("200 millis")
      expect(a.leads()).toBe(true)
    })
  )

  for (const [what, spec] of [
    ["has no spec", undefined],
    ["has no holder", { renewTime: "1970-01-01T00:00:00.000000Z" }],
    ["is free", { holderIdentity: "", leaseDurationSeconds: 1 }]
  ] as const) {
    effect(`acquires a Lease at once that ${what}`, () =>
      Effect.gen(function* () {
        const server = yield* Cluster.make()
        server.put(Lease, { metadata: { name: "homeostat" }, ...(spec === undefined ? {} : { spec }) })
        const a = yield* Replica.start(server, "a")
        yield* settle
        expect(a.leads()).toBe(true)
      })
    )
  }

  effect("uses its own lease duration for a holder without one", () =>
    Effect.gen(function* () {
      const server = yield* Cluster.make()
      server.put(Lease, { metadata: { name: "homeostat" }, spec: { holderIdentity: "x" } })
      const a = yield* Replica.start(server, "a")
      yield* pass("14900 millis")
      expect(a.leads()).toBe(false)
      yield* pass("200 millis")
      expect(a.leads()).toBe(true)
    })
  )

  effect("whose watch is rejected reads in each retry period, and acquires a released Lease", () =>
    Effect.gen(function* () {
      const server = yield* Cluster.make()
      const refused = server.faults.on({ verb: "watch", kind: Lease }, Faults.answer(403))
      const a = yield* Replica.start(server, "a")
      yield* settle
      const b = yield* Replica.start(server, "b")
      yield* pass("1 minute")
      const looks = server.requests.filter(({ verb }) => verb === "get").length
      expect(looks).toBeGreaterThan(20)
      expect(looks).toBeLessThan(35)
      yield* a.stop
      yield* pass("2500 millis")
      expect(leaders(a, b)).toEqual(["b"])
      refused.remove()
    })
  )

  effect("whose watch is silent notices an expired Lease in time, and does not acquire a held one", () =>
    Effect.gen(function* () {
      const { server, a, b } = yield* pair()
      const lost = server.faults.on({ verb: "watch", kind: Lease }, Faults.held)
      b.line.condition = "silent"
      yield* pass("2100 millis")
      b.line.condition = "up"
      lost.remove()
      yield* pass("1 minute")
      expect(leaders(a, b)).toEqual(["a"])
      yield* a.stop
      yield* settle
      expect(leaders(a, b)).toEqual(["b"])
    })
  )

  effect("whose claims always conflict claims twice at once, and then once per retry period", () =>
    Effect.gen(function* () {
      const server = yield* Cluster.make()
      server.put(Lease, { metadata: { name: "homeostat" }, spec: { holderIdentity: "" } })
      server.faults.on({ verb: "update", kind: Lease }, Faults.conflict, { times: 50 })
      const a = yield* Effect.provideService(Replica.start(server, "a"), Random.Random, RandomFixture.fixed(0))
      const claims = () => server.writes().length
      yield* settle
      expect(claims()).toBe(2)
      yield* pass("20 seconds")
      expect(claims()).toBe(12)
      expect(a.leads()).toBe(false)
    })
  )

  effect("retries while it lacks a permission", () =>
    Effect.gen(function* () {
      const server = yield* Cluster.make()
      const missing = server.faults.on({ verb: ["get", "create"], kind: Lease }, Faults.answer(403))
      const a = yield* Replica.start(server, "a")
      yield* pass("1 minute")
      expect(a.leads()).toBe(false)
      missing.remove()
      yield* pass("3 seconds")
      expect(a.leads()).toBe(true)
    })
  )

  effect("whose claims were rejected has nothing to release, and sends no request when it stops", () => {
    const lines: Array<string> = []
    return Effect.gen(function* () {
      const server = yield* Cluster.make()
      server.faults.on({ verb: "create", kind: Lease }, Faults.answer(403))
      const a = yield* Replica.start(server, "a")
      yield* pass("1 minute")
      expect(lines).toEqual([
        "WARN cannot take the Lease default/homeostat, trying again: POST /apis/coordination.k8s.io/v1/namespaces/default/leases: Forbidden"
      ])
      const before = server.requests.length
      yield* a.stop
      yield* settle
      expect(server.requests).toHaveLength(before)
      expect(lines).toHaveLength(1)
    }).pipe(Effect.provide(capture(lines)))
  })

  effect("whose claim was not answered does not log the release of a Lease with another holder", () => {
    const lines: Array<string> = []
    return Effect.gen(function* () {
      const server = yield* Cluster.make()
      server.faults.on({ verb: "create", kind: Lease }, Faults.lost)
      const a = yield* Replica.start(server, "a")
      yield* settle
      server.put(Lease, { metadata: { name: "homeostat" }, spec: { holderIdentity: "b", leaseDurationSeconds: 15 } })
      const before = server.requests.length
      yield* a.stop
      yield* settle
      expect(server.requests.slice(before).map(({ verb }) => verb)).toEqual(["get"])
      expect(lines.filter((line) => line.includes("eleased"))).toEqual([])
    }).pipe(Effect.provide(capture(lines)))
  })

  for (const [what, words, line] of [
    [
      "names the missing permission",
      'leases.coordination.k8s.io "homeostat" is forbidden: User "u" cannot get resource "leases" in API group "coordination.k8s.io" in the namespace "default"',
      ": requires permission to get leases.coordination.k8s.io in namespace default; "
    ],
    [
      "names no permission if an admission policy rejects the request",
      "ValidatingAdmissionPolicy 'p' denied request",
      ", trying again: "
    ]
  ] as const) {
    effect(what, () => {
      const lines: Array<string> = []
      return Effect.gen(function* () {
        const server = yield* Cluster.make()
        server.faults.on({ verb: "get", kind: Lease }, Faults.answer(403, { message: words }))
        yield* Replica.start(server, "a")
        yield* pass("10 seconds")
        expect(lines).toEqual([
          `WARN cannot get the Lease default/homeostat${line}GET /apis/coordination.k8s.io/v1/namespaces/default/leases/homeostat: ${words}`
        ])
      }).pipe(Effect.provide(capture(lines)))
    })
  }

  effect("logs a missing namespace of the Lease once, and leads when it exists", () => {
    const lines: Array<string> = []
    return Effect.gen(function* () {
      const server = yield* Cluster.make()
      const missing = server.faults.on({ verb: "create", kind: Lease }, Faults.answer(404))
      const a = yield* Replica.start(server, "a")
      yield* pass("1 minute")
      expect(lines).toEqual([
        "WARN cannot take the Lease default/homeostat, trying again: POST /apis/coordination.k8s.io/v1/namespaces/default/leases: NotFound"
      ])
      missing.remove()
      yield* pass("3 seconds")
      expect(a.leads()).toBe(true)
    }).pipe(Effect.provide(capture(lines)))
  })
})

describe("The settings", () => {
  const make = (settings: Partial<LeaderElection.Settings>) =>
    LeaderElection.make({ ...Replica.place, identity: "a", ...settings })
  const table: ReadonlyArray<readonly [Partial<LeaderElection.Settings>, string | undefined]> = [
    [{}, undefined],
    [{ leaseDuration: "10001 millis" }, undefined],
    [
      { leaseDuration: "10 seconds" },
      "--leader-elect-lease-duration (10s) must be longer than --leader-elect-renew-deadline (10s)"
    ],
    [
      { renewDeadline: "2400 millis" },
      "--leader-elect-renew-deadline (2s 400ms) must be longer than 1.2 times --leader-elect-retry-period (2s)"
    ],
    [{ retryPeriod: 0 }, "--leader-elect-retry-period (0) must be longer than 0"],
    [
      { retryPeriod: "9 seconds" },
      "--leader-elect-renew-deadline (10s) must be longer than 1.2 times --leader-elect-retry-period (9s)"
    ]
  ]
  for (const [settings, problem] of table) {
    test(`${JSON.stringify(settings)} are ${problem === undefined ? "valid" : "rejected"}`, () => {
      const made = make(settings)
      if (problem === undefined) expect(Result.isSuccess(made)).toBe(true)
      else expect(Result.getOrThrow(Result.flip(made)).message).toStartWith(problem)
    })
  }

  test("have an identity that is unique for each process", () => {
    expect(LeaderElection.identityOf("pod-1")).toMatch(/^pod-1_[0-9a-f-]{36}$/)
    expect(LeaderElection.identityOf("pod-1")).not.toBe(LeaderElection.identityOf("pod-1"))
  })
})
