/** Replicas that share a certificate, in simulated time: at every moment, all configurations trust what each replica serves. */
import { describe, expect } from "bun:test"
import { X509Certificate } from "node:crypto"
import * as Test from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as References from "effect/References"
import type * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import * as Der from "./Der.ts"
import * as Replicas from "./Replicas.fixture.ts"

/** A test without the log of the replicas. */
const effect = <A, E>(name: string, body: () => Effect.Effect<A, E, Scope.Scope>): void =>
  Test.effect(name, () => Effect.provideService(body(), References.MinimumLogLevel, "None"), 60_000)

const now = Date.UTC(2026, 10, 26)
const certificates = (replicas: ReadonlyArray<Replicas.Replica>) => [
  ...new Set(replicas.map(({ served }) => served?.certificate))
]
const startedWith = (skews: ReadonlyArray<number>) =>
  Effect.gen(function* () {
    yield* TestClock.setTime(now)
    const world = Replicas.make()
    const replicas = yield* Effect.forEach(skews, (skew) => world.start({ skew }))
    yield* TestClock.adjust("1 minute")
    return { world, replicas, first: certificates(replicas) }
  })
const started = startedWith([0, 0, 0])
/** The clocks of two replicas are an hour off. */
const skewed = startedWith([0, 3_600_000, -3_600_000])

describe("a shared certificate", () => {
  effect("is one for three replicas that start at once, with clocks an hour off", () =>
    Effect.gen(function* () {
      const { first, replicas, world } = yield* skewed
      expect(first).toHaveLength(1)
      expect(first[0]).toContain("BEGIN CERTIFICATE")
      yield* TestClock.adjust("1 hour")
      expect(certificates(replicas)).toEqual(first)
      expect(world.wrong).toEqual([])
      expect(world.secret()?.metadata.resourceVersion).toBe("1")
    })
  )

  for (const [what, spoil] of [
    ["deleted", () => undefined],
    ["rubbish", () => ({ type: "kubernetes.io/tls", data: { "tls.crt": "!", "tls.key": "AAAA" } })],
    ["immutable", (secret: Replicas.Stored) => ({ ...secret, immutable: true })],
    ["of another type", (secret: Replicas.Stored) => ({ ...secret, type: "Opaque" })]
  ] as const) {
    effect(`is issued again when its Secret is ${what}, and every call works meanwhile`, () =>
      Effect.gen(function* () {
        const { first, replicas, world } = yield* started
        const secret = world.secret()
        if (secret === undefined) throw new Error("missing Secret")
        world.set(spoil(secret))
        yield* TestClock.adjust("40 seconds")
        expect(certificates(replicas)).toEqual(first)
        yield* TestClock.adjust("4 minutes")
        const second = certificates(replicas)
        expect(second).toHaveLength(1)
        expect(second).not.toEqual(first)
        expect(world.wrong).toEqual([])
        // The old CA stays.
        for (const bundle of world.configurations) expect(Der.certificatesOf(bundle)).toHaveLength(2)
        yield* TestClock.adjust("10 minutes")
        expect(certificates(replicas)).toEqual(second)
      })
    )
  }

  effect("is replaced everywhere once it is valid by the clock of each replica", () =>
    Effect.gen(function* () {
      const { first, replicas, world } = yield* skewed
      world.set(undefined)
      yield* TestClock.adjust("2 hours")
      yield* TestClock.adjust("5 minutes")
      const second = certificates(replicas)
      expect(second).toHaveLength(1)
      expect(second).not.toEqual(first)
      expect(world.wrong).toEqual([])
    })
  )

  effect("is renewed for 450 days without an expired certificate or a failed call", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(now)
      const world = Replicas.make()
      const replicas = yield* Effect.all(
        [0, 3_600_000, -3_600_000].map((skew) => world.start({ skew, every: "12 hours" }))
      )
      const seen = new Set<string>()
      for (let day = 0; day < 450; day++) {
        yield* TestClock.adjust("1 day")
        for (const { served } of replicas) {
          const { validTo } = new X509Certificate(served?.certificate ?? "")
          expect(Date.parse(validTo)).toBeGreaterThan(now + (day + 1) * 86_400_000)
          seen.add(validTo)
        }
      }
      expect(world.wrong).toEqual([])
      expect(seen.size).toBeGreaterThan(6)
      expect(seen.size).toBeLessThan(12)
      for (const bundle of world.configurations) expect(Der.certificatesOf(bundle)).toHaveLength(1)
    })
  )

  effect("survives the end of a replica between any two calls", () =>
    Effect.gen(function* () {
      for (let callsLeft = 0; callsLeft < 14; callsLeft++) {
        const { replicas, world } = yield* started
        world.set(undefined)
        const crashed = yield* world.start({ callsLeft })
        yield* TestClock.adjust("3 minutes")
        yield* crashed.kill
        expect(certificates(replicas)).toHaveLength(1)
        expect(world.wrong).toEqual([])
        for (const { kill } of replicas) yield* kill
      }
    })
  )

  effect("is served during errors of the API server", () =>
    Effect.gen(function* () {
      const { first, replicas, world } = yield* started
      for (const replica of replicas) replica.fault = 500
      yield* TestClock.adjust("10 minutes")
      world.set(undefined)
      expect(certificates(replicas)).toEqual(first)
      for (const replica of replicas) replica.fault = 0
      yield* TestClock.adjust("5 minutes")
      expect(certificates(replicas)).not.toEqual(first)
      expect(world.wrong).toEqual([])
    })
  )

  Test.effect("logs each new error once, until the step has succeeded", () => {
    const lines: Array<string> = []
    const logger = Logger.make(({ logLevel, message }) => {
      if (logLevel === "Warn") lines.push(String(message))
    })
    return Effect.gen(function* () {
      const { replicas } = yield* startedWith([0])
      const [replica] = replicas
      if (replica === undefined) throw new Error("no replica")
      for (const fault of [500, 503, 500, 0, 500]) {
        replica.fault = fault
        yield* TestClock.adjust("5 minutes")
      }
      expect(
        lines.map((line) => /^Cannot read Secret default\/hooks, retrying: .*Fault(500|503)/.exec(line)?.[1])
      ).toEqual(["500", "503", "500"])
    }).pipe(Effect.provide(Logger.layer([logger])))
  })

  effect("is renewed by the same CA for another name", () =>
    Effect.gen(function* () {
      const { world } = yield* started
      const replica = yield* world.start({ names: ["other.default.svc"] })
      yield* TestClock.adjust("2 minutes")
      const { subjectAltName } = new X509Certificate(replica.served?.certificate ?? "")
      expect(subjectAltName).toBe("DNS:hooks.default.svc, DNS:other.default.svc")
      expect(Der.certificatesOf(world.configurations[0] ?? "")).toHaveLength(1)
      expect(world.wrong).toEqual([])
    })
  )
})
