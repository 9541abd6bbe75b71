import { describe, expect, test } from "bun:test"
import { createPrivateKey, X509Certificate } from "node:crypto"
import { appendFileSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as NodeFileSystem from "@effect/platform-node-shared/NodeFileSystem"
import { eventually } from "@homeostat/testkit/Eventually"
import { effect, live } from "@homeostat/testkit/Test"
import * as VirtualTime from "@homeostat/testkit/VirtualTime"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import { capture } from "../controller/World.fixture.ts"
import * as Metrics from "../telemetry/Metrics.ts"
import * as Certificate from "./Certificate.ts"
import * as Endpoints from "./Endpoints.ts"
import * as SelfSigned from "./SelfSigned.ts"

const pair = (name: string) => SelfSigned.make([name, "127.0.0.1"], Date.now())

/** A folder like a Secret that the kubelet mounts: a symlink leads to the files and is replaced. */
const mounted = Effect.acquireRelease(
  Effect.sync(() => {
    const dir = mkdtempSync(join(tmpdir(), "homeostat-certificate-"))
    let version = 0
    for (const file of ["tls.crt", "tls.key"]) symlinkSync(join("..data", file), join(dir, file))
    const put = ({ certificate, key }: Certificate.Pair) => {
      const to = `..${++version}`
      mkdirSync(join(dir, to))
      writeFileSync(join(dir, to, "tls.crt"), certificate)
      writeFileSync(join(dir, to, "tls.key"), key)
      symlinkSync(to, join(dir, "..new"))
      renameSync(join(dir, "..new"), join(dir, "..data"))
    }
    return { dir, put }
  }),
  ({ dir }) => Effect.sync(() => rmSync(dir, { recursive: true, force: true }))
)

const load = (dir: string) => Effect.provide(Certificate.ofDir(dir), NodeFileSystem.layer)

/**
 * Advances virtual time to the next read, and waits in real time until that read has finished: the source then waits again, or has ended.
 */
const nextLook = (source: Fiber.Fiber<unknown>) =>
  Effect.gen(function* () {
    yield* TestClock.adjust(Certificate.lookEvery)
    while ((yield* VirtualTime.sleeps).length === 0 && source.pollUnsafe() === undefined) {
      yield* Effect.promise(() => Bun.sleep(1))
    }
  })

describe("A self-signed certificate", () => {
  test("has its names, is valid for a year, and is signed with its key", () => {
    const now = Date.parse("2026-11-21T12:00:00Z")
    const { certificate, key } = SelfSigned.make(["homeostat-0", "localhost", "10.1.2.3", "::1", "fd00::a:b"], now)
    const read = new X509Certificate(certificate)
    expect(read.subject).toBe("CN=homeostat-0")
    expect(read.subjectAltName).toBe(
      "DNS:homeostat-0, DNS:localhost, IP Address:10.1.2.3, IP Address:0:0:0:0:0:0:0:1, IP Address:FD00:0:0:0:0:0:A:B"
    )
    expect([Date.parse(read.validFrom), Date.parse(read.validTo)]).toEqual([
      Date.parse("2026-11-21T11:00:00Z"),
      Date.parse("2027-11-21T12:00:00Z")
    ])
    expect(read.verify(read.publicKey)).toBe(true)
    expect(read.checkPrivateKey(createPrivateKey(key))).toBe(true)
    expect(read.ca).toBe(false)
    expect(SelfSigned.make(["a"], now).certificate).not.toBe(certificate)
  })

  test("can be made at any time, for names of any length", () => {
    for (const year of [2049, 2050, 2100]) {
      for (const length of [1, 20, 63, 64, 65, 200, 253]) {
        const name = "a".repeat(length)
        const read = new X509Certificate(SelfSigned.make([name], Date.UTC(year, 5)).certificate)
        expect(new Date(read.validTo).getUTCFullYear()).toBe(year + 1)
        expect(read.subjectAltName).toBe(`DNS:${name}`)
      }
    }
  })

  effect("is replaced in the month before its end", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.UTC(2026, 10, 21))
      const source = yield* Certificate.ofOurOwn
      const next = yield* Effect.forkChild(source.after(source.first))
      yield* TestClock.adjust("334 days")
      expect(next.pollUnsafe()).toBeUndefined()
      yield* TestClock.adjust("2 days")
      const { certificate } = yield* Fiber.join(next)
      const left = Date.parse(new X509Certificate(certificate).validTo) - (yield* Clock.currentTimeMillis)
      expect(left).toBeGreaterThan(SelfSigned.lifetime - 3 * 24 * 3_600_000)
    })
  )
})

describe("The certificate of a folder", () => {
  for (const [what, spoil, message] of [
    ["without its certificate", (dir: string) => rmSync(join(dir, "tls.crt")), "tls.crt does not exist"],
    ["without its key", (dir: string) => rmSync(join(dir, "tls.key")), "tls.key does not exist"],
    [
      "with an invalid certificate",
      (dir: string) => writeFileSync(join(dir, "tls.crt"), "rubbish"),
      "tls.crt can't be read as PEM"
    ],
    [
      "with an invalid key",
      (dir: string) => writeFileSync(join(dir, "tls.key"), "secret rubbish"),
      "tls.key can't be read as PEM"
    ],
    [
      "with the key of another certificate",
      (dir: string) => writeFileSync(join(dir, "tls.key"), pair("b").key),
      /^\/.*\/tls\.key is not the key of \/.*\/tls\.crt$/
    ],
    [
      "with an invalid second certificate",
      (dir: string) =>
        appendFileSync(join(dir, "tls.crt"), "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
      "tls.crt can't be read as PEM"
    ]
  ] as const) {
    effect(`${what} is rejected with the name of the file`, () =>
      Effect.gen(function* () {
        const { dir, put } = yield* mounted
        put(pair("a"))
        spoil(dir)
        const { message: text } = yield* Effect.flip(load(dir))
        expect(text).toMatch(message)
        expect(text).not.toContain("secret")
      })
    )
  }

  effect("is read through the symlinks of a mounted Secret", () =>
    Effect.gen(function* () {
      const { dir, put } = yield* mounted
      const [a, b] = [pair("a"), pair("b")]
      put(a)
      const source = yield* load(dir)
      expect(source.first).toEqual(a)
      const next = yield* Effect.forkChild(source.after(a))
      yield* nextLook(next)
      put(b)
      yield* nextLook(next)
      expect(yield* Fiber.join(next)).toEqual(b)
    })
  )

  effect("that is invalid is reported once, and the manager waits for a valid one", () => {
    const logs: Array<string> = []
    return Effect.gen(function* () {
      yield* TestClock.setTime(Date.now())
      const { dir, put } = yield* mounted
      const [a, b] = [pair("a"), pair("b")]
      put(a)
      const source = yield* load(dir)
      const next = yield* Effect.forkChild(source.after(a))
      put({ certificate: b.certificate, key: a.key })
      for (let looks = 0; looks < 4; looks++) {
        yield* nextLook(next)
        // At the first read, one file may be newer than the other.
        expect(logs).toHaveLength(looks === 0 ? 0 : 1)
      }
      expect(logs[0]).toMatch(/^ERROR Invalid certificate, keeping the previous one: .*tls\.key is not the key of/)
      put(b)
      yield* nextLook(next)
      expect(yield* Fiber.join(next)).toEqual(b)
    }).pipe(Effect.provide(capture(logs)))
  })
})

describe("The certificate of a folder is read", () => {
  const year = 365 * 24 * 3_600_000
  const expired = () => SelfSigned.make(["a"], Date.UTC(2026, 0))
  const now = Date.UTC(2026, 0) + SelfSigned.lifetime + year

  effect("and counted, with failed reads, as in controller-runtime", () =>
    Effect.gen(function* () {
      const registry = Metrics.make()
      const { dir, put } = yield* mounted
      const [a, b] = [pair("a"), pair("b")]
      put(a)
      const source = yield* Effect.provideService(load(dir), Metrics.Metrics, registry)
      const next = yield* Effect.forkChild(source.after(a))
      yield* nextLook(next)
      rmSync(join(dir, "tls.crt"))
      yield* nextLook(next)
      symlinkSync(join("..data", "tls.crt"), join(dir, "tls.crt"))
      put(b)
      yield* nextLook(next)
      expect(yield* Fiber.join(next)).toEqual(b)
      const counts = registry.read().map(({ metric, series }) => [metric.name, series])
      expect(counts).toEqual([
        ["certwatcher_read_certificate_total", [{ labels: [], value: 4 }]],
        ["certwatcher_read_certificate_errors_total", [{ labels: [], value: 1 }]]
      ])
    })
  )

  effect("and served even if it has expired, with one warning; the next one is logged with its end", () => {
    const logs: Array<string> = []
    return Effect.gen(function* () {
      yield* TestClock.setTime(now)
      const { dir, put } = yield* mounted
      put(expired())
      const source = yield* load(dir)
      const next = yield* Effect.forkChild(source.after(source.first))
      yield* nextLook(next)
      yield* nextLook(next)
      const file = join(dir, "tls.crt")
      expect(logs).toEqual([
        `WARN ${file} has expired at 2027-01-01T00:00:00Z: clients refuse it until there is a new one`
      ])
      put(SelfSigned.make(["a"], now))
      yield* nextLook(next)
      yield* Fiber.join(next)
      expect(logs.slice(1)).toEqual([`INFO A new certificate is served: ${file}, valid until 2028-12-31T00:00:00Z`])
    }).pipe(Effect.provide(capture(logs)))
  })

  effect("with a warning before it is valid", () => {
    const logs: Array<string> = []
    return Effect.gen(function* () {
      yield* TestClock.setTime(now)
      const { dir, put } = yield* mounted
      put(SelfSigned.make(["a"], now + year))
      yield* load(dir)
      expect(logs).toEqual([expect.stringMatching(/^WARN .* is not valid before .*: clients refuse it until then$/)])
    }).pipe(Effect.provide(capture(logs)))
  })
})

describe("A port with TLS", () => {
  const free = { hostname: "127.0.0.1", port: 0 }
  const get = (address: string | undefined, { certificate }: Certificate.Pair) =>
    Effect.promise(() =>
      fetch(`https://${address}/a`, { keepalive: false, tls: { ca: certificate } }).then(
        (response) => response.text(),
        (error: unknown) => String(error)
      )
    )

  live("serves its certificate, and the next one without a restart", () =>
    Effect.gen(function* () {
      const [a, b] = [pair("a"), pair("b")]
      const changed = Promise.withResolvers<Certificate.Pair>()
      const source: Certificate.Source = {
        first: a,
        after: (shown) => (shown === a ? Effect.promise(() => changed.promise) : Effect.never)
      }
      const slow = Promise.withResolvers<Response>()
      const arrived = Promise.withResolvers<void>()
      const { addresses, route } = yield* Endpoints.make({ metrics: free, probes: free, metricsTls: source })
      yield* route("metrics", "/a", () => Effect.succeed(new Response("hello")))
      yield* route("metrics", "/slow", () =>
        Effect.promise(() => {
          arrived.resolve()
          return slow.promise
        })
      )
      yield* route("probes", "/a", () => Effect.succeed(new Response("plain")))
      expect(yield* get(addresses.metrics, a)).toBe("hello")
      expect(yield* get(addresses.metrics, b)).not.toBe("hello")
      const pending = fetch(`https://${addresses.metrics}/slow`, { tls: { ca: a.certificate } })
      yield* Effect.promise(() => arrived.promise)
      changed.resolve(b)
      yield* eventually("the new certificate", get(addresses.metrics, b), (answer) => answer === "hello")
      expect(yield* get(addresses.metrics, a)).not.toBe("hello")
      slow.resolve(new Response("in the end"))
      expect(yield* Effect.promise(() => pending.then((response) => response.text()))).toBe("in the end")
      expect(yield* Effect.promise(() => fetch(`http://${addresses.probes}/a`).then((r) => r.text()))).toBe("plain")
    })
  )

  live("does not answer plain HTTP", () =>
    Effect.gen(function* () {
      const first = pair("a")
      const metricsTls = { first, after: () => Effect.never }
      const { addresses, route } = yield* Endpoints.make({ metrics: free, probes: undefined, metricsTls })
      let asked = 0
      yield* route("metrics", "/a", () => Effect.sync(() => new Response(String(asked++))))
      const answer = fetch(`http://${addresses.metrics}/a`).then((response) => response.status)
      expect(yield* Effect.result(Effect.tryPromise(() => answer))).toMatchObject({ _tag: "Failure" })
      expect(asked).toBe(0)
      expect(yield* get(addresses.metrics, first)).toBe("0")
    })
  )
})
