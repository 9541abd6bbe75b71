import { describe, expect } from "bun:test"
import { rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { layer as fileSystem } from "@effect/platform-node-shared/NodeFileSystem"
import type * as Certificates from "@homeostat/testkit/envtest/Certificates"
import { effect } from "@homeostat/testkit/Test"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import * as WallClock from "../resource/WallClock.fixture.ts"
import { CredentialsError } from "./Cluster.ts"
import { type CredentialSource, rotating } from "./Credentials.ts"
import { base64, config, load, make } from "./KubeConfig.fixture.ts"

const { pki, places, write } = make()

describe("Credentials", () => {
  const headersOf = (cluster: { readonly credentials: Effect.Effect<{ readonly headers: object }, unknown> }) =>
    Effect.map(cluster.credentials, (read) => read.headers)

  effect("use a token that was replaced on disk within a minute", () =>
    Effect.gen(function* () {
      const { serviceAccount } = places()
      const cluster = yield* load({ serviceAccount }, { KUBERNETES_SERVICE_HOST: "h" })
      writeFileSync(join(serviceAccount, "token"), "new-token")
      yield* TestClock.adjust("59 seconds")
      expect(yield* headersOf(cluster)).toEqual({ authorization: "Bearer pod-token" })
      yield* TestClock.adjust("1 second")
      expect(yield* headersOf(cluster)).toEqual({ authorization: "Bearer new-token" })
    })
  )

  for (const [way, millis] of WallClock.ways) {
    effect(`are read again after the same time when the wall clock is set ${way}`, () =>
      Effect.gen(function* () {
        const wall = yield* WallClock.make
        const { serviceAccount } = places()
        const cluster = yield* load({ serviceAccount }, { KUBERNETES_SERVICE_HOST: "h" }).pipe(
          Effect.provideService(Clock.Clock, wall.clock)
        )
        writeFileSync(join(serviceAccount, "token"), "new-token")
        wall.set(millis)
        yield* TestClock.adjust("59 seconds")
        expect(yield* headersOf(cluster)).toEqual({ authorization: "Bearer pod-token" })
        yield* TestClock.adjust("1 second")
        expect(yield* headersOf(cluster)).toEqual({ authorization: "Bearer new-token" })
      })
    )
  }

  effect("keep connections exactly while the certificates are the same", () =>
    Effect.gen(function* () {
      const { serviceAccount } = places()
      const cluster = yield* load({ serviceAccount }, { KUBERNETES_SERVICE_HOST: "h" })
      const { tls } = yield* cluster.credentials
      writeFileSync(join(serviceAccount, "token"), "new-token")
      yield* TestClock.adjust("1 minute")
      expect((yield* cluster.credentials).tls).toBe(tls)
      writeFileSync(join(serviceAccount, "ca.crt"), `${pki.ca}\n${pki.ca}`)
      yield* TestClock.adjust("1 minute")
      expect((yield* cluster.credentials).tls).toMatchObject({ ca: `${pki.ca}\n${pki.ca}` })
    })
  )

  effect("stay in use while they cannot be read", () =>
    Effect.gen(function* () {
      const { serviceAccount } = places()
      const cluster = yield* load({ serviceAccount }, { KUBERNETES_SERVICE_HOST: "h" })
      rmSync(join(serviceAccount, "token"))
      yield* TestClock.adjust("1 minute")
      expect(yield* headersOf(cluster)).toEqual({ authorization: "Bearer pod-token" })
      writeFileSync(join(serviceAccount, "token"), "new-token")
      yield* TestClock.adjust("1 minute")
      expect(yield* headersOf(cluster)).toEqual({ authorization: "Bearer new-token" })
    })
  )

  effect("are renewed from the kubeconfig, at most every five seconds", () =>
    Effect.gen(function* () {
      const user = (pair: Certificates.Pair) => ({
        "client-certificate-data": base64(pair.certificate),
        "client-key-data": base64(pair.key)
      })
      const kubeconfig = write(config({ user: user(pki.client) }))
      const cluster = yield* load({ kubeconfig })
      writeFileSync(kubeconfig, config({ user: user(pki.other) }))
      expect((yield* cluster.credentials).tls.cert).toBe(pki.client.certificate)
      expect((yield* cluster.renew).tls.cert).toBe(pki.other.certificate)
      expect((yield* cluster.credentials).tls.cert).toBe(pki.other.certificate)
      writeFileSync(kubeconfig, config({ user: user(pki.client) }))
      yield* TestClock.adjust("4999 millis")
      expect((yield* cluster.renew).tls.cert).toBe(pki.other.certificate)
      yield* TestClock.adjust("1 millis")
      expect((yield* cluster.renew).tls.cert).toBe(pki.client.certificate)
    })
  )

  effect("with a replaced certificate are used only with the matching key", () =>
    Effect.gen(function* () {
      const user = { "client-certificate": write(pki.client.certificate), "client-key": write(pki.client.key) }
      const cluster = yield* load({ kubeconfig: write(config({ user })) })
      writeFileSync(user["client-certificate"], pki.other.certificate)
      yield* TestClock.adjust("1 minute")
      expect((yield* cluster.credentials).tls).toMatchObject({ cert: pki.client.certificate, key: pki.client.key })
      writeFileSync(user["client-key"], pki.other.key)
      yield* TestClock.adjust("1 minute")
      expect((yield* cluster.credentials).tls).toMatchObject({ cert: pki.other.certificate, key: pki.other.key })
    })
  )

  effect("are not read from a kubeconfig that names another server", () =>
    Effect.gen(function* () {
      const kubeconfig = write(config({ server: "https://one", user: { token: "for-one" } }))
      const cluster = yield* load({ kubeconfig })
      writeFileSync(kubeconfig, config({ server: "https://two", user: { token: "for-two" } }))
      expect((yield* cluster.renew).headers).toEqual({ authorization: "Bearer for-one" })
      yield* TestClock.adjust("5 seconds")
      writeFileSync(kubeconfig, config({ server: "https://one", user: { token: "new" } }))
      expect((yield* cluster.renew).headers).toEqual({ authorization: "Bearer new" })
    })
  )
})

/** Credentials that come only from a plugin. */
const from = (plugin: NonNullable<CredentialSource["plugin"]>): CredentialSource => ({
  ca: undefined,
  cert: undefined,
  key: undefined,
  token: undefined,
  basic: undefined,
  plugin,
  serverName: undefined,
  insecure: false,
  impersonate: undefined
})

describe("Credentials with an expiration time", () => {
  effect("are read again exactly when they expire", () =>
    Effect.gen(function* () {
      let runs = 0
      const plugin = Effect.sync(() => ({ authorization: `run ${++runs}`, expiresAt: runs * 30_000 }))
      const { credentials } = yield* Effect.provide(rotating(Effect.succeed(from(plugin))), fileSystem)
      const current = Effect.map(credentials, ({ headers }) => headers.authorization)
      yield* TestClock.adjust("29999 millis")
      expect(yield* current).toBe("run 1")
      yield* TestClock.adjust("1 millis")
      expect(yield* current).toBe("run 2")
    })
  )
})

describe("A plugin that takes ten seconds", () => {
  /**
   * Credentials of a plugin that counts its runs and, with `fails`, fails from the second run on; and the fibers that wait for a
   * renewal.
   */
  const slow = (fails = false) =>
    Effect.gen(function* () {
      let runs = 0
      const plugin = Effect.suspend(() => {
        const authorization = `run ${++runs}`
        const end = fails && runs > 1 ? new CredentialsError({ message: "no" }) : Effect.succeed({ authorization })
        return Effect.andThen(Effect.sleep("10 seconds"), end)
      })
      const loading = yield* Effect.forkChild(Effect.provide(rotating(Effect.succeed(from(plugin))), fileSystem))
      yield* TestClock.adjust("10 seconds")
      const { renew } = yield* Fiber.join(loading)
      const renewal = Effect.forkChild(Effect.map(renew, ({ headers }) => headers.authorization))
      return { runs: () => runs, waiting: yield* Effect.all([renewal, renewal, renewal]) }
    })

  effect("runs once for all concurrent renewals", () =>
    Effect.gen(function* () {
      const { runs, waiting } = yield* slow()
      yield* TestClock.adjust("10 seconds")
      expect(yield* Fiber.joinAll(waiting)).toEqual(["run 2", "run 2", "run 2"])
      expect(runs()).toBe(2)
    })
  )

  effect("runs once for all concurrent renewals even if it fails", () =>
    Effect.gen(function* () {
      const { runs, waiting } = yield* slow(true)
      yield* TestClock.adjust("10 seconds")
      expect(yield* Fiber.joinAll(waiting)).toEqual(["run 1", "run 1", "run 1"])
      expect(runs()).toBe(2)
    })
  )

  effect("runs again for the other callers when the first one is interrupted", () =>
    Effect.gen(function* () {
      const { runs, waiting } = yield* slow()
      const [first, ...others] = waiting
      yield* TestClock.adjust("1 second")
      yield* Fiber.interrupt(first)
      yield* TestClock.adjust("10 seconds")
      expect(yield* Fiber.joinAll(others)).toEqual(["run 3", "run 3"])
      expect(runs()).toBe(3)
    })
  )
})
