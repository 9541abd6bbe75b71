/**
 * Credentials from a program of the kubeconfig, on a server that looks at them. What a program may print, and what is said of
 * one that fails, is in the unit tests of `ExecPlugin`.
 */
import { describe, expect } from "bun:test"
import { existsSync, readFileSync } from "node:fs"
import * as Client from "@homeostat/runtime/client/Client"
import { ConfigMap } from "@homeostat/runtime/resource/BuiltIn"
import * as Envtest from "@homeostat/testkit/envtest/Envtest"
import { real } from "@homeostat/testkit/Shared"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"
import * as Home from "./Home.ts"

/** Puts a program in place that prints the file `credential`, and counts its runs. */
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

/** As many requests as a busy manager has on the way. */
const burst = (namespace: string) =>
  Effect.forEach(Array.from({ length: 30 }), () => Client.list(ConfigMap, { namespace }), { concurrency: "unbounded" })

describe("An exec plugin", () => {
  real(
    "runs once for all requests, again when its token is refused, and once for all who were refused",
    (cluster) =>
      Effect.gen(function* () {
        const home = yield* Home.make
        const namespace = yield* Home.namespace(cluster)
        const one = yield* Home.token(cluster, namespace, "one")
        const two = yield* Home.token(cluster, namespace, "two")
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
      }),
    Envtest.everything
  )

  real(
    "runs again when the time of its token is over, before the server has to refuse it",
    (cluster) =>
      Effect.gen(function* () {
        const home = yield* Home.make
        const namespace = yield* Home.namespace(cluster)
        const one = yield* Home.token(cluster, namespace, "one")
        const two = yield* Home.token(cluster, namespace, "two")
        home.configure({ cluster: Home.clusterOf(cluster), user: plugin(home) })
        const hour = 3_600_000
        const at = (millis: number) => new Date(millis).toISOString()
        const now = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
        print(home, { token: one.text, expirationTimestamp: at(now + hour) })
        const run = yield* home.open(namespace)
        print(home, { token: two.text, expirationTimestamp: at(now + 3 * hour) })
        // Soon before its end, and soon after: less than the minute after which it would be read again in any case.
        yield* home.later("3570 seconds")
        yield* run(burst(namespace))
        expect(yield* run(Home.name)).toBe(one.user)
        expect(runs(home)).toBe(1)
        yield* home.later("40 seconds")
        yield* run(burst(namespace))
        expect(yield* run(Home.name)).toBe(two.user)
        expect(runs(home)).toBe(2)
      }),
    Envtest.everything
  )

  real(
    "may give a certificate, and another one later",
    (cluster) =>
      Effect.gen(function* () {
        const home = yield* Home.make
        const namespace = yield* Home.namespace(cluster)
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
      }),
    Envtest.everything
  )

  real(
    "that fails when it is needed is in the log, the request is refused, and it goes on when the plugin does",
    (cluster) =>
      Effect.gen(function* () {
        const home = yield* Home.make
        const namespace = yield* Home.namespace(cluster)
        const one = yield* Home.token(cluster, namespace, "one")
        const two = yield* Home.token(cluster, namespace, "two")
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
        // By itself, in real time: a renewal follows another after five seconds.
        expect(
          yield* Managed.eventually("the plugin is asked again", run(Home.name), (name) => name === two.user)
        ).toBe(two.user)
        expect(runs(home)).toBe(3)
      }),
    Envtest.everything
  )
})
