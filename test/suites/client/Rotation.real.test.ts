/** Replaced credentials do not interrupt the program and its watches. The clock of the home drives the reads of files. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import { ConfigMap } from "@homeostat/runtime/resource/BuiltIn"
import * as Certificates from "@homeostat/testkit/envtest/Certificates"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"
import * as Front from "./Front.ts"
import * as Home from "./Home.ts"

/** The informer sees an object that another client creates. */
const delivers = ({ cluster, namespace }: Home.Scene, informer: Effect.Success<typeof Home.watching>, name: string) =>
  Effect.andThen(
    cluster.request("POST", `/api/v1/namespaces/${namespace}/configmaps`, { body: { metadata: { name } } }),
    Managed.eventually(
      `the watch reports ${name}`,
      Effect.sync(() => informer.store.get(`${namespace}/${name}`)),
      (object) => object !== undefined
    )
  )

/** Starts with the user entry and an informer. */
const start = ({ cluster, home, namespace }: Home.Scene, user: object) =>
  Effect.gen(function* () {
    home.configure({ cluster: Home.clusterOf(cluster), user })
    const run = yield* home.open(namespace)
    return { run, informer: yield* run(Home.watching) }
  })

const uninterrupted = { restarts: 0, relists: 0 }

describe("The client replaces, while it runs,", () => {
  Home.test("a token file: it uses the next token within a minute and keeps the watch", (scene) =>
    Effect.gen(function* () {
      const { home } = scene
      const [one, two] = yield* Home.tokens(scene)
      home.put("token", one.text)
      const { informer, run } = yield* start(scene, { tokenFile: "token" })
      expect(yield* run(Home.name)).toBe(one.user)

      home.put("token", two.text)
      expect(yield* run(Home.name)).toBe(one.user)
      yield* home.later("1 minute")
      expect(yield* run(Home.name)).toBe(two.user)
      yield* delivers(scene, informer, "after")
      expect(informer.state()).toMatchObject(uninterrupted)
    })
  )

  Home.test("a revoked token: it reads the file again at once, and no request fails", (scene) =>
    Effect.gen(function* () {
      const { home, namespace } = scene
      const [one, two] = yield* Home.tokens(scene)
      home.put("token", one.text)
      const { informer, run } = yield* start(scene, { tokenFile: "token" })
      expect(yield* run(Home.name)).toBe(one.user)
      yield* one.end

      // The file still has the revoked token.
      expect((yield* run(Effect.flip(Client.list(ConfigMap, { namespace }))))._tag).toBe("Unauthorized")
      home.put("token", two.text)
      yield* home.later("5 seconds")
      const names = Array.from({ length: 20 }, (_, index) => `made-${index}`)
      yield* run(
        Effect.forEach(names, (name) => Client.create(ConfigMap, { metadata: { namespace, name } }), {
          concurrency: "unbounded"
        })
      )
      expect(yield* run(Home.name)).toBe(two.user)
      yield* delivers(scene, informer, "after")
      expect(informer.state()).toMatchObject(uninterrupted)
    })
  )

  Home.test(
    "a client certificate and its key: it opens a new connection, and the watch stays on the old one",
    (scene) =>
      Effect.gen(function* () {
        const { cluster, home, namespace } = scene
        const jane = yield* cluster.addUser({ name: `jane-${namespace}` })
        const john = yield* cluster.addUser({ name: `john-${namespace}` })
        home.put("tls.crt", jane.cert ?? "")
        home.put("tls.key", jane.key ?? "")
        const { informer, run } = yield* start(scene, { "client-certificate": "tls.crt", "client-key": "tls.key" })
        expect(yield* run(Home.name)).toBe(jane.user)

        home.put("tls.crt", john.cert ?? "")
        yield* home.later("1 minute")
        expect(yield* run(Home.name)).toBe(jane.user)
        expect(home.warnings().join()).toContain("do not belong together; the credentials read before stay in use")
        home.put("tls.key", john.key ?? "")
        yield* home.later("1 minute")
        expect(yield* run(Home.name)).toBe(john.user)
        yield* delivers(scene, informer, "after")
        expect(informer.state()).toMatchObject(uninterrupted)
      })
  )

  Home.test(
    "the authority: it trusts a server with a certificate of the new one at once, and the watch resumes",
    (scene) =>
      Effect.gen(function* () {
        const { cluster, home, namespace } = scene
        const [before, after] = [yield* Certificates.authority, yield* Certificates.authority]
        const local = { dns: [], ip: ["127.0.0.1"] }
        const front = yield* Front.start(cluster, yield* before.server(local))
        const { text, user } = yield* Home.token(cluster, namespace, "one")
        home.put("ca.crt", before.certificate)
        home.configure({ cluster: { server: front.url, "certificate-authority": "ca.crt" }, user: { token: text } })
        const run = yield* home.open(namespace)
        const informer = yield* run(Home.watching)
        expect(yield* run(Home.name)).toBe(user)
        // Its watch is open, so the new certificate interrupts it.
        yield* delivers(scene, informer, "before")

        yield* front.present(yield* after.server(local))
        const error = yield* run(Effect.flip(Client.list(ConfigMap, { namespace })))
        expect(error).toMatchObject({
          _tag: "Transport",
          outcome: "unsent",
          message: expect.stringContaining("is not signed by the configured certificate authority")
        })
        home.put("ca.crt", after.certificate)
        yield* home.later("5 seconds")
        expect(yield* run(Home.name)).toBe(user)
        yield* delivers(scene, informer, "after")
        expect(informer.state()).toMatchObject({ relists: 0 })
        expect(informer.state().restarts).toBeGreaterThan(0)
      })
  )

  Home.test("the kubeconfig: it uses the new certificates and token once the server rejects the old ones", (scene) =>
    Effect.gen(function* () {
      const { cluster, home, namespace } = scene
      const [before, after] = [yield* Certificates.authority, yield* Certificates.authority]
      const local = { dns: [], ip: ["127.0.0.1"] }
      const front = yield* Front.start(cluster, yield* before.server(local))
      const [one, two] = yield* Home.tokens(scene)
      const configure = (ca: string, token: string) =>
        home.configure({
          cluster: { server: front.url, "certificate-authority-data": Home.base64(ca) },
          user: { token }
        })
      configure(before.certificate, one.text)
      const run = yield* home.open(namespace)
      const informer = yield* run(Home.watching)
      expect(yield* run(Home.name)).toBe(one.user)

      configure(before.certificate, two.text)
      yield* one.end
      expect(yield* run(Home.name)).toBe(two.user)
      yield* delivers(scene, informer, "by-token")
      expect(informer.state()).toMatchObject(uninterrupted)

      configure(after.certificate, two.text)
      yield* home.later("5 seconds")
      yield* front.present(yield* after.server(local))
      // The client does not retry a POST, so a broken connection may fail the first request.
      yield* Managed.eventually("the new authority is trusted", run(Home.name), (name) => name === two.user)
      yield* delivers(scene, informer, "by-authority")
      expect(informer.state().relists).toBe(0)
    })
  )
})
