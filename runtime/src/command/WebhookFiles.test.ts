/** The certificate of `--webhook-cert-dir`, and the readiness of the webhooks that serve it, in virtual time. */
import { describe, expect } from "bun:test"
import { X509Certificate } from "node:crypto"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { effect } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import { systemError } from "effect/PlatformError"
import type * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import { capture } from "../controller/World.fixture.ts"
import * as Health from "../manager/Health.ts"
import { InvalidObject } from "../resource/Resource.ts"
import * as Metric from "../telemetry/Metric.ts"
import * as Metrics from "../telemetry/Metrics.ts"
import * as WebhookMetric from "../telemetry/WebhookMetric.ts"
import * as Authority from "../webhook/Authority.ts"
import type { Pair } from "../webhook/CertificateSource.ts"
import * as Der from "../webhook/Der.ts"
import * as WebhookFiles from "./WebhookFiles.ts"
import * as WebhookReadiness from "./WebhookReadiness.ts"

const minute = 60 * 1000
const day = 24 * 60 * minute
const now = Date.UTC(2026, 10, 26)
const name = "homeostat-webhook.default.svc"
const ca = Authority.makeAuthority(now)
/** A CA that expires in five minutes. */
const short = Authority.makeAuthority(now - Authority.authorityLifetime + 5 * minute)
const good = Authority.issue(ca, [name], now)
const renewed = Authority.issue(ca, [name], now)
const misnamed = Authority.issue(ca, ["other.default.svc"], now)
const expired = Authority.issue(ca, [name], now - 100 * day)
const foreign = Authority.issue(Authority.makeAuthority(now), [name], now)

/** Webhooks that serve the certificate of a folder, with configurations in memory. */
const start = (pair: Pair, bundle = ca.certificate) =>
  Effect.gen(function* () {
    yield* TestClock.setTime(now)
    const dir = yield* Effect.acquireRelease(
      Effect.sync(() => mkdtempSync(join(tmpdir(), "homeostat-webhook-files-"))),
      (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
    )
    const put = (change: Partial<Pair> & { readonly ca?: string }) => {
      if (change.certificate !== undefined) writeFileSync(join(dir, "tls.crt"), change.certificate)
      if (change.key !== undefined) writeFileSync(join(dir, "tls.key"), change.key)
      if (change.ca !== undefined) writeFileSync(join(dir, "ca.crt"), change.ca)
    }
    put({ ...pair, ca: bundle })
    const world = {
      published: "",
      writes: 0,
      error: undefined as string | undefined,
      served: undefined as Pair | undefined
    }
    const checks = new Map<string, Health.Check>()
    const health = {
      ...Health.Health.defaultValue(),
      readiness: (check: string, at: Health.Check) => Effect.sync(() => void checks.set(check, at))
    }
    const answer = <A>(value: () => A) =>
      Effect.suspend(() =>
        world.error === undefined
          ? Effect.sync(value)
          : Effect.fail(new InvalidObject({ kind: world.error, key: "", issues: [] }))
      )
    const registration = {
      current: () => world.published,
      reconcile: Effect.never,
      published: answer(() => world.published),
      publish: (caBundle: string) =>
        answer(() => {
          world.writes++
          world.published = caBundle
        })
    }
    const readiness = yield* WebhookReadiness.make({
      place: WebhookFiles.placeOf(dir),
      name,
      cas: registration.current
    }).pipe(Effect.provideService(Health.Health, health))
    const registry = Metrics.make()
    const files = yield* WebhookFiles.make({ dir, name, report: readiness.report }).pipe(
      Effect.provideService(Metrics.Metrics, registry)
    )
    const serve = (next: Pair) =>
      Effect.andThen(
        readiness.serve(next),
        Effect.sync(() => {
          world.served = next
        })
      )
    yield* Effect.forkScoped(
      Effect.gen(function* () {
        const { after, first } = yield* Effect.provideService(files.follow(registration), Metrics.Metrics, registry)
        let pair = yield* first
        while (true) {
          yield* serve(pair)
          pair = yield* after(pair)
        }
      })
    )
    const pass = (seconds: number) => TestClock.adjust(seconds * 1000)
    yield* pass(5)
    return {
      world,
      put,
      pass,
      file: join(dir, "tls.crt"),
      /** The text of the readiness check; undefined if the webhooks are ready. */
      unready: () => {
        const check = checks.get("webhooks")
        return typeof check === "function" ? check() : "no check"
      },
      /** The metric of the certificate's end, in ms since 1970. */
      expiration: () => {
        const found = registry.read().find(({ metric }) => metric === WebhookMetric.certificateExpiration)
        const [series] = found?.series ?? []
        return series !== undefined && "value" in series ? series.value * 1000 : undefined
      },
      /** The reads without a usable pair. */
      readErrors: () => {
        const found = registry.read().find(({ metric }) => metric === Metric.certificateReadErrors)
        const [series] = found?.series ?? []
        return series !== undefined && "value" in series ? series.value : 0
      }
    }
  })

/** The files of the machine. A read takes no time, so that virtual time does not pass during a read. */
const files = FileSystem.layerNoop({
  readFileString: (path) =>
    Effect.try({
      try: () => readFileSync(path, "utf8"),
      catch: (cause) =>
        systemError({
          module: "FileSystem",
          method: "readFileString",
          _tag: "NotFound",
          pathOrDescriptor: path,
          cause
        })
    })
})

/** A test that gets the log. */
const test = (
  title: string,
  body: (logs: Array<string>) => Effect.Effect<void, unknown, FileSystem.FileSystem | Scope.Scope>
) =>
  effect(title, () => {
    const logs: Array<string> = []
    return body(logs).pipe(Effect.provide([capture(logs), files]))
  })

const bad: ReadonlyArray<readonly [what: string, pair: Pair, problem: string]> = [
  ["for another DNS name", misnamed, "is not valid for homeostat-webhook.default.svc (it names other.default.svc)"],
  ["that has expired", expired, "expired at 2026-11-16T00:00:00Z"],
  ["of another CA", foreign, "is not issued by a CA that the webhook configurations trust"]
]

describe("The webhooks with a certificate", () => {
  test("of the published CA are ready", (logs) =>
    Effect.gen(function* () {
      const { expiration, unready, world } = yield* start(good)
      expect(world.served).toEqual(good)
      expect(unready()).toBeUndefined()
      expect(expiration()).toBe(now + Authority.servingLifetime)
      expect(logs).toEqual([])
    }))

  for (const [what, pair, problem] of bad) {
    test(`${what} are not ready until the files change, and the log reports both once`, (logs) =>
      Effect.gen(function* () {
        const { expiration, file, pass, put, unready, world } = yield* start(pair)
        yield* pass(120)
        expect(world.served).toEqual(pair)
        expect(unready()).toBe(`certificate of ${file} ${problem}`)
        expect(expiration()).toBe(Date.parse(new X509Certificate(pair.certificate).validTo))
        expect(logs).toEqual([
          `WARN The API server rejects the certificate of the webhooks: certificate of ${file} ${problem}`
        ])
        put(good)
        yield* pass(30)
        expect(world.served).toEqual(good)
        expect(unready()).toBeUndefined()
        expect(expiration()).toBe(now + Authority.servingLifetime)
        yield* pass(60)
        expect(logs.slice(1)).toEqual([
          expect.stringContaining("INFO A new certificate is served"),
          "INFO The API server accepts the certificate of the webhooks again"
        ])
      }))

    test(`keep it if the next one is one ${what}`, (logs) =>
      Effect.gen(function* () {
        const { expiration, file, pass, put, readErrors, unready, world } = yield* start(good)
        put(pair)
        yield* pass(120)
        expect(world.served).toEqual(good)
        expect(unready()).toBeUndefined()
        expect(expiration()).toBe(now + Authority.servingLifetime)
        expect(readErrors()).toBeGreaterThan(5)
        expect(logs).toEqual([`ERROR Invalid certificate, keeping the previous one: certificate of ${file} ${problem}`])
        put(renewed)
        yield* pass(30)
        expect(world.served).toEqual(renewed)
      }))
  }

  test("keep it if the key of the next one does not match, and report both when the certificate expires", (logs) =>
    Effect.gen(function* () {
      const { file, pass, put, unready, world } = yield* start(Authority.issue(short, [name], now), short.certificate)
      const { served } = world
      put({ certificate: renewed.certificate })
      yield* pass(60)
      expect(world.served).toBe(served)
      expect(unready()).toBeUndefined()
      const problem = `${file.replace("tls.crt", "tls.key")} is not the key of ${file}`
      expect(logs).toEqual([`ERROR Invalid certificate, keeping the previous one: ${problem}`])
      yield* pass(300)
      yield* pass(60)
      expect(unready()).toBe(`certificate of ${file} expired at 2026-11-26T00:05:00Z; ${problem}`)
      expect(logs.slice(1)).toEqual([
        `WARN The API server rejects the certificate of the webhooks: certificate of ${file} expired at 2026-11-26T00:05:00Z`
      ])
    }))

  test("follow a renewal with another CA, which is published first", () =>
    Effect.gen(function* () {
      const { pass, put, unready, world } = yield* start(good)
      const next = Authority.makeAuthority(now)
      put({ ...Authority.issue(next, [name], now), ca: next.certificate })
      yield* pass(30)
      expect(world.served?.certificate).not.toBe(good.certificate)
      expect(world.published).toBe(next.certificate + ca.certificate)
      expect(unready()).toBeUndefined()
    }))

  test("are not ready while the CA is not published, and the check shows the last error", (logs) =>
    Effect.gen(function* () {
      const { pass, unready, world } = yield* start(good)
      expect(unready()).toBeUndefined()
      world.error = "it is forbidden"
      world.published = ""
      yield* pass(60)
      expect(unready()).toMatch(
        /is not issued by a CA that the webhook configurations trust; cannot publish the CA of the webhooks: it is forbidden/
      )
      world.error = undefined
      yield* pass(60)
      expect(unready()).toBeUndefined()
      expect(logs).toHaveLength(3)
      expect(logs.filter((line) => line.startsWith("WARN Cannot publish the CA of the webhooks"))).toHaveLength(1)
      expect(logs[2]).toBe("INFO The API server accepts the certificate of the webhooks again")
    }))

  test("write a CA file with comments and several CAs once", () =>
    Effect.gen(function* () {
      const older = Authority.makeAuthority(now)
      const text = `# one\r\n${ca.certificate.replaceAll("\n", "\r\n")}# two\n${older.certificate}`
      const { pass, world } = yield* start(good, text)
      yield* pass(120)
      expect(world.published).toBe(ca.certificate + older.certificate)
      expect(world.writes).toBe(1)
    }))

  test("remove other CAs from the configurations a day after their expiry", () =>
    Effect.gen(function* () {
      const old = Authority.makeAuthority(now - Authority.authorityLifetime - day + 5 * minute)
      const { pass, world } = yield* start(good)
      world.published += old.certificate
      yield* pass(60)
      expect(Der.certificatesOf(world.published)).toHaveLength(2)
      yield* pass(300)
      expect(world.published).toBe(ca.certificate)
    }))
})

describe("The program does not start", () => {
  for (const [what, files, message] of [
    ["with another key", { key: renewed.key }, /^--webhook-cert-dir: .*tls.key is not the key of .*tls.crt$/],
    ["without a CA", { ca: "rubbish" }, /^--webhook-cert-dir: cannot read a CA: .*ca.crt \(/],
    [
      "with a CA that does not parse",
      { ca: "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n" },
      /^--webhook-cert-dir: cannot read a CA: .*ca.crt \(/
    ]
  ] as const) {
    test(what, () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(start({ ...good, ...files }, "ca" in files ? files.ca : undefined))
        expect(error.message).toMatch(message)
      })
    )
  }
})
