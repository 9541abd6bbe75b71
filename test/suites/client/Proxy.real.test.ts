/** Proxies of the kubeconfig and of the environment. Only the proxy can resolve `host`. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import { ConfigMap } from "@homeostat/runtime/resource/BuiltIn"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"
import * as ConnectProxy from "./ConnectProxy.ts"
import * as Home from "./Home.ts"

const host = "kube.example.test"

const portOf = (cluster: ControlPlane): string => new URL(cluster.url).port

/** The API server by the name that only the proxy resolves. */
const remote = (cluster: ControlPlane) => ({
  ...Home.clusterOf(cluster),
  server: `https://${host}:${portOf(cluster)}`,
  "tls-server-name": "kubernetes"
})

describe("Through a proxy", () => {
  Home.test(
    "of the kubeconfig the client sends all requests, with name and password, and resumes its watches",
    ({ cluster, home, namespace }) =>
      Effect.gen(function* () {
        const proxy = yield* ConnectProxy.start([], "me:a b")
        home.configure({
          cluster: { ...Home.clusterOf(cluster), "proxy-url": `http://me:a%20b@127.0.0.1:${proxy.port}` },
          user: Home.userOf(cluster)
        })
        const run = yield* home.open(namespace, { NO_PROXY: "*" })
        const informer = yield* run(Home.watching)
        const make = (name: string) => run(Client.create(ConfigMap, { metadata: { namespace, name } }))
        const seen = (name: string) =>
          Managed.eventually(
            `the watch reports ${name}`,
            Effect.sync(() => informer.store.get(`${namespace}/${name}`)?.metadata.resourceVersion),
            (version) => version !== undefined
          )
        yield* make("one")
        yield* seen("one")
        const asked = proxy.asked()
        // HTTP/1.1 needs a tunnel for the watch and others for further requests.
        expect(asked.length).toBeGreaterThan(1)
        for (const each of asked) {
          expect(each).toEqual({
            target: `127.0.0.1:${portOf(cluster)}`,
            authorization: `Basic ${Buffer.from("me:a b").toString("base64")}`
          })
        }

        yield* proxy.cut
        // The client does not retry a create, so a broken connection may fail the first request.
        yield* Managed.eventually("requests pass again", run(Client.list(ConfigMap, { namespace })), () => true)
        yield* cluster.request("POST", `/api/v1/namespaces/${namespace}/configmaps`, {
          body: { metadata: { name: "two" } }
        })
        yield* seen("two")
        expect(informer.state()).toMatchObject({ relists: 0 })
        expect(informer.state().restarts).toBeGreaterThan(0)
      })
  )

  Home.test("of the environment the client reaches servers outside NO_PROXY and loopback", ({ cluster, namespace }) =>
    Effect.gen(function* () {
      const proxy = yield* ConnectProxy.start([host])
      const port = portOf(cluster)
      const version = (entry: object, variables: Record<string, string>) =>
        Effect.gen(function* () {
          const home = yield* Home.make
          home.configure({ cluster: entry, user: Home.userOf(cluster) })
          const before = proxy.asked().length
          const run = yield* home.open(namespace, variables)
          // Name servers that cannot be reached answer late or never.
          const asked = Client.raw({ method: "GET", path: "/version", timeoutMillis: 10_000 })
          const result = yield* Effect.result(run(asked))
          return {
            through: proxy.asked().length > before,
            result: result._tag === "Success" ? result.success.status : result.failure._tag
          }
        }).pipe(Effect.scoped)

      const through = { through: true, result: 200 }
      // Without the proxy, the client cannot resolve the name.
      const directly = { through: false, result: "Transport" }
      for (const [except, expected] of [
        ["", through],
        ["other.test,127.0.0.1,10.0.0.0/8", through],
        [`${host}:1`, through],
        [host, directly],
        [`other.test, ${host}:${port}`, directly],
        [".example.test", directly],
        ["example.test", directly],
        ["*", directly]
      ] as const) {
        const variables = { HTTPS_PROXY: proxy.url, NO_PROXY: except }
        const seen = yield* version(remote(cluster), variables)
        expect<unknown>({ except, ...seen }).toEqual({ except, ...expected })
      }
      // The address is in the loopback network.
      const nowhere = { ...remote(cluster), server: `https://127.1.2.3:${port}` }
      for (const entry of [Home.clusterOf(cluster), nowhere, { ...nowhere, server: `https://localhost:${port}` }]) {
        expect((yield* version(entry, { HTTPS_PROXY: proxy.url })).through).toBe(false)
      }
      const elsewhere = { ...remote(cluster), server: "https://203.0.113.1:1" }
      proxy.refuse("502 Bad Gateway")
      expect(yield* version(elsewhere, { https_proxy: proxy.url, NO_PROXY: "198.51.100.0/24" })).toEqual({
        through: true,
        result: "Transport"
      })
    })
  )

  Home.test(
    "that requires a password or is down, requests fail soon with the name of the proxy",
    ({ cluster, home, namespace }) =>
      Effect.gen(function* () {
        const proxy = yield* ConnectProxy.start([host], "me:right")
        const failure = (url: string) =>
          Effect.gen(function* () {
            home.configure({ cluster: { ...remote(cluster), "proxy-url": url }, user: Home.userOf(cluster) })
            const run = yield* home.open(namespace)
            const error = yield* run(Effect.flip(Client.list(ConfigMap, { namespace })))
            return { message: error.message }
          }).pipe(Effect.scoped)
        const list = `GET /api/v1/namespaces/${namespace}/configmaps`

        const denied = yield* failure(`http://me:wrong@127.0.0.1:${proxy.port}`)
        expect(denied.message).toBe(
          `${list}: the proxy does not let us through: does its URL have the right name and password? (407 Proxy Authentication Required) (proxy http://127.0.0.1:${proxy.port} to https://${host}:${portOf(cluster)}, PROXY_DENIED)`
        )
        // The client does not retry: the URL stays wrong.
        expect(proxy.asked()).toHaveLength(1)

        const gone = yield* Effect.scoped(Effect.map(ConnectProxy.start(), ({ port }) => port))
        const down = yield* failure(`http://me:secret@127.0.0.1:${gone}`)
        expect(down.message).toBe(
          `${list}: connection refused, nothing listens there (proxy http://127.0.0.1:${gone} to https://${host}:${portOf(cluster)}, ECONNREFUSED)`
        )
      })
  )
})
