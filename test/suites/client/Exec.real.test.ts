/** Exec plugins of a kubeconfig on a server that checks their credentials. The unit tests of `ExecPlugin` cover their output. */
import { describe, expect } from "bun:test"
import { existsSync, readFileSync } from "node:fs"
import * as Client from "@homeostat/runtime/client/Client"
import { ConfigMap } from "@homeostat/runtime/resource/BuiltIn"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"
import * as Home from "./Home.ts"

/** Writes a program that prints the file `credential` and counts its runs. */
const plugin = (home: Home.Home, before = "") => {
  home.put(
    "plugin",
    `#!/bin/sh\necho run >> ${home.path("runs")}\nprintf %s "$KUBERNETES_EXEC_INFO" > ${home.path("info")}\n${before}\ncat ${home.path("credential")}\n`
  )
  return {
    exec: {
      apiVersion: "client.authentication.k8s.io/v1",
      command: "./plugin",
      interactiveMode: "Never",
      provideClusterInfo: true,
      env: [{ name: "AUDIENCE", value: "tests" }]
    }
  }
}

const print = (home: Home.Home, status: object) =>
  home.put(
    "credential",
    JSON.stringify({ apiVersion: "client.authentication.k8s.io/v1", kind: "ExecCredential", status })
  )

const runs = (home: Home.Home): number =>
  existsSync(home.path("runs")) ? readFileSync(home.path("runs"), "utf8").trim().split("\n").length : 0

const burst = (namespace: string) =>
  Effect.forEach(Array.from({ length: 30 }), () => Client.list(ConfigMap, { namespace }), { concurrency: "unbounded" })

describe("An exec plugin", () => {
  Home.test(
    "runs once for all requests, and once more when the server rejects its token",
    ({ cluster, home, namespace }) =>
      Effect.gen(function* () {
        const [one, two] = yield* Home.tokens({ cluster, namespace })
        home.configure({ cluster: Home.clusterOf(cluster), user: plugin(home, "test $AUDIENCE = tests || exit 1") })
        print(home, { token: one.text })
        const run = yield* home.open(namespace)
        const informer = yield* run(Home.watching)
        yield* run(burst(namespace))
        expect(yield* run(Home.name)).toBe(one.user)
        expect(runs(home)).toBe(1)
        expect(JSON.parse(readFileSync(home.path("info"), "utf8"))).toMatchObject({
          spec: { interactive: false, cluster: { server: cluster.url } }
        })

        print(home, { token: two.text })
        yield* one.end
        yield* run(burst(namespace))
        expect(yield* run(Home.name)).toBe(two.user)
        expect(runs(home)).toBe(2)
        expect(informer.state()).toMatchObject({ restarts: 0, relists: 0 })
      })
  )

  Home.test("runs again when its token expires, before the server rejects it", ({ cluster, home, namespace }) =>
    Effect.gen(function* () {
      const [one, two] = yield* Home.tokens({ cluster, namespace })
      home.configure({ cluster: Home.clusterOf(cluster), user: plugin(home) })
      const hour = 3_600_000
      const at = (millis: number) => new Date(millis).toISOString()
      const now = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
      print(home, { token: one.text, expirationTimestamp: at(now + hour) })
      const run = yield* home.open(namespace)
      print(home, { token: two.text, expirationTimestamp: at(now + 3 * hour) })
      // Less than the minute after which the client reads it again in any case.
      yield* home.later("3570 seconds")
      yield* run(burst(namespace))
      expect(yield* run(Home.name)).toBe(one.user)
      expect(runs(home)).toBe(1)
      yield* home.later("40 seconds")
      yield* run(burst(namespace))
      expect(yield* run(Home.name)).toBe(two.user)
      expect(runs(home)).toBe(2)
    })
  )

  Home.test("may return a certificate, and another one later", ({ cluster, home, namespace }) =>
    Effect.gen(function* () {
      const jane = yield* cluster.addUser({ name: `jane-${namespace}` })
      const john = yield* cluster.addUser({ name: `john-${namespace}` })
      home.configure({ cluster: Home.clusterOf(cluster), user: plugin(home) })
      const now = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
      const expirationTimestamp = new Date(now + 60_000).toISOString()
      print(home, { clientCertificateData: jane.cert, clientKeyData: jane.key, expirationTimestamp })
      const run = yield* home.open(namespace)
      expect(yield* run(Home.name)).toBe(jane.user)
      print(home, { clientCertificateData: john.cert, clientKeyData: john.key })
      yield* home.later("1 minute")
      expect(yield* run(Home.name)).toBe(john.user)
    })
  )

  Home.test(
    "that fails causes a warning and fails the request, until the plugin works again",
    ({ cluster, home, namespace }) =>
      Effect.gen(function* () {
        const [one, two] = yield* Home.tokens({ cluster, namespace })
        home.configure({ cluster: Home.clusterOf(cluster), user: plugin(home) })
        print(home, { token: one.text })
        const run = yield* home.open(namespace)
        plugin(home, "echo log in again >&2; exit 1")
        yield* one.end
        expect((yield* run(Effect.flip(Client.list(ConfigMap, { namespace }))))._tag).toBe("Unauthorized")
        expect(home.warnings()).toEqual([
          `exec plugin "./plugin" of user "main" of ${home.path("config")} failed: log in again; the credentials read before stay in use`
        ])
        plugin(home)
        print(home, { token: two.text })
        // In real time: a renewal follows another after five seconds.
        expect(yield* Managed.eventually("the plugin runs again", run(Home.name), (name) => name === two.user)).toBe(
          two.user
        )
        expect(runs(home)).toBe(3)
      })
  )
})
