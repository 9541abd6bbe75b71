/** Rare entries of a kubeconfig that set the identity of the server and of the client. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import { ConfigMap } from "@homeostat/runtime/resource/BuiltIn"
import { Effect } from "effect"
import * as Home from "./Home.ts"

describe("The server", () => {
  Home.test(
    "must have the name of tls-server-name, by default that of its URL, in its certificate",
    ({ cluster, home }) =>
      Effect.gen(function* () {
        const entry = Home.clusterOf(cluster)
        const asked = (options: object) =>
          Effect.gen(function* () {
            home.configure({ cluster: { ...entry, ...options }, user: Home.userOf(cluster) })
            const run = yield* home.open("default")
            return yield* Effect.catch(run(Home.name), Effect.succeed)
          }).pipe(Effect.scoped)
        const name = yield* asked({})
        expect(name).toBeString()
        expect(yield* asked({ "tls-server-name": "kubernetes.default.svc" })).toBe(name)
        const misnamed = "the server's certificate is not for this host name (see tls-server-name)"
        expect(yield* asked({ "tls-server-name": "other.example.test" })).toMatchObject({
          code: "ERR_TLS_CERT_ALTNAME_INVALID",
          message: expect.stringContaining(misnamed)
        })
        // A loopback address that the certificate lacks.
        const other = cluster.url.replace("127.0.0.1", "127.0.0.2")
        expect(yield* asked({ server: other })).toMatchObject({ _tag: "Transport", outcome: "unsent" })
      })
  )

  Home.test("may have any certificate with insecure-skip-tls-verify, which causes one warning", ({ cluster, home }) =>
    Effect.gen(function* () {
      home.configure({
        cluster: { server: cluster.url, "insecure-skip-tls-verify": true, "tls-server-name": "other.example.test" },
        user: Home.userOf(cluster)
      })
      const run = yield* home.open("default")
      yield* run(Home.name)
      yield* run(Home.name)
      expect(home.warnings()).toEqual([
        `context "main" of ${home.path("config")} (--kubeconfig) has insecure-skip-tls-verify: an attacker between this machine and ${cluster.url} can read and use our credentials`
      ])
      // Without insecure-skip-tls-verify and without the authority, the client cannot connect.
      home.configure({ cluster: { server: cluster.url }, user: Home.userOf(cluster) })
      const strict = yield* home.open("default")
      expect(yield* strict(Effect.flip(Home.name))).toMatchObject({ _tag: "Transport", outcome: "unsent" })
    })
  )
})

describe("An administrator who impersonates a user", () => {
  Home.test("has the name, uid, groups, extras and permissions of that user", ({ cluster, home }) =>
    Effect.gen(function* () {
      const namespace = yield* cluster.namespace("client")
      home.configure({
        cluster: Home.clusterOf(cluster),
        user: {
          ...Home.userOf(cluster),
          as: "jane",
          "as-uid": "42",
          "as-groups": ["example:developers"],
          "as-user-extra": { "example.test/scope": ["read only"], reason: ["a test"] }
        }
      })
      const run = yield* home.open(namespace)
      expect(yield* run(Home.whoAmI)).toMatchObject({
        username: "jane",
        uid: "42",
        groups: ["example:developers", "system:authenticated"],
        extra: { "example.test/scope": ["read only"], reason: ["a test"] }
      })
      expect((yield* run(Effect.flip(Client.list(ConfigMap, { namespace }))))._tag).toBe("Forbidden")

      home.configure({ cluster: Home.clusterOf(cluster), user: { ...Home.userOf(cluster), as: "jane" } })
      const plain = yield* home.open(namespace)
      expect(yield* plain(Home.whoAmI)).toMatchObject({ username: "jane", groups: ["system:authenticated"] })
    })
  )
})
