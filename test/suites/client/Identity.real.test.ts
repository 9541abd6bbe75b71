/**
 * Who the server must be, and who we are to it: the lesser-known entries of a kubeconfig.
 */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import { ConfigMap } from "@homeostat/runtime/resource/BuiltIn"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import * as Envtest from "@homeostat/testkit/envtest/Envtest"
import { real } from "@homeostat/testkit/Shared"
import { Effect } from "effect"
import * as Home from "./Home.ts"

const userOf = ({ admin }: ControlPlane) => ({
  ...(admin.token !== undefined && { token: admin.token }),
  ...(admin.cert !== undefined && { "client-certificate-data": Home.base64(admin.cert) }),
  ...(admin.key !== undefined && { "client-key-data": Home.base64(admin.key) })
})

describe("The server", () => {
  real(
    "must have the name of tls-server-name in its certificate, and that of its URL otherwise",
    (cluster) =>
      Effect.gen(function* () {
        const home = yield* Home.make
        const entry = Home.clusterOf(cluster)
        const asked = (options: object) =>
          Effect.gen(function* () {
            home.configure({ cluster: { ...entry, ...options }, user: userOf(cluster) })
            const run = yield* home.open("default")
            return yield* Effect.merge(run(Home.name))
          }).pipe(Effect.scoped)
        const name = yield* asked({})
        expect(name).toBeString()
        expect(yield* asked({ "tls-server-name": "kubernetes.default.svc" })).toBe(name)
        const misnamed = "the server's certificate is not for this host name (see tls-server-name)"
        expect(yield* asked({ "tls-server-name": "other.example.test" })).toMatchObject({
          code: "ERR_TLS_CERT_ALTNAME_INVALID",
          message: expect.stringContaining(misnamed)
        })
        // Loopback, but not the address that the certificate is for.
        const other = cluster.url.replace("127.0.0.1", "127.0.0.2")
        expect(yield* asked({ server: other })).toMatchObject({ _tag: "Transport", outcome: "unsent" })
      }),
    Envtest.everything
  )

  real(
    "may be anybody with insecure-skip-tls-verify, which is warned of once",
    (cluster) =>
      Effect.gen(function* () {
        const home = yield* Home.make
        home.configure({
          cluster: { server: cluster.url, "insecure-skip-tls-verify": true, "tls-server-name": "other.example.test" },
          user: userOf(cluster)
        })
        const run = yield* home.open("default")
        yield* run(Home.name)
        yield* run(Home.name)
        expect(home.warnings()).toEqual([
          `context "main" of ${home.path("config")} (--kubeconfig) has insecure-skip-tls-verify: whoever is between here and ${cluster.url} can read and use our credentials`
        ])
        // Without it, and without the authority, there is no connection.
        home.configure({ cluster: { server: cluster.url }, user: userOf(cluster) })
        const strict = yield* home.open("default")
        expect(yield* strict(Effect.flip(Home.name))).toMatchObject({ _tag: "Transport", outcome: "unsent" })
      }),
    Envtest.everything
  )
})

describe("An administrator who acts as somebody else", () => {
  real(
    "is that user to the server, with the uid, the group and the extras of the kubeconfig, and with no other rights",
    (cluster) =>
      Effect.gen(function* () {
        const home = yield* Home.make
        const namespace = yield* cluster.namespace("client")
        home.configure({
          cluster: Home.clusterOf(cluster),
          user: {
            ...userOf(cluster),
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

        home.configure({ cluster: Home.clusterOf(cluster), user: { ...userOf(cluster), as: "jane" } })
        const plain = yield* home.open(namespace)
        expect(yield* plain(Home.whoAmI)).toMatchObject({ username: "jane", groups: ["system:authenticated"] })
      }),
    Envtest.everything
  )
})
