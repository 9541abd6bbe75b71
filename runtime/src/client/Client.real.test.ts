import { describe, expect } from "bun:test"
import type { User } from "@homeostat/testkit/envtest/User"
import * as Shared from "@homeostat/testkit/Shared"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { ConfigMap, Namespace } from "../resource/BuiltIn.ts"
import * as Client from "./Client.ts"
import * as Cluster from "./Cluster.ts"
import * as Transport from "./Transport.ts"
import type * as Watch from "./Watch.ts"

const clusterOf = (user: User) =>
  Cluster.make({ server: user.server, tls: { ca: user.ca, cert: user.cert, key: user.key }, token: user.token })

const clientOf = (user: User, options?: Transport.Options) =>
  Layer.provide(Client.layer({ userAgent: "homeostat-test/1" }), Transport.layer(clusterOf(user), options))

const keyIn = (namespace: string, name = "web") => ({ namespace, name })

/** The events of a watch, until one matches `holds`. */
const eventsUntil = (watch: Watch.Connection, holds: (event: Watch.Event) => boolean) =>
  Effect.gen(function* () {
    const events: Array<Watch.Event> = []
    while (!events.some(holds)) events.push(...(yield* watch.next))
    return events
  })

const summary = (events: ReadonlyArray<Watch.Event>) =>
  events.map((event) =>
    event.type === "BOOKMARK"
      ? "BOOKMARK"
      : event.type === "ERROR"
        ? `ERROR ${event.error._tag}`
        : `${event.type} ${event.object.metadata.name}`
  )

const isInitialEnd = (event: Watch.Event) => event.type === "BOOKMARK" && event.initialEventsEnd

describe("The client on a real API server", () => {
  Shared.real("reports the missing permission of a forbidden read", (cluster) =>
    Effect.gen(function* () {
      const namespace = yield* cluster.namespace()
      const jane = yield* cluster.addUser({ name: "jane" })
      const list = Client.list(ConfigMap, { namespace }).pipe(Effect.provide(clientOf(jane)))
      const error = yield* Effect.flip(list)
      expect(error).toMatchObject({ _tag: "Forbidden", details: { kind: "configmaps" } })
      expect(error.message).toEndWith(
        `configmaps is forbidden: User "jane" cannot list resource "configmaps" in API group "" in the namespace "${namespace}"`
      )
      const anonymous = Cluster.make({ server: cluster.url, tls: { ca: cluster.ca }, token: "nonsense" })
      const refused = Client.get(Namespace, { name: "default" }).pipe(
        Effect.provide(Layer.provide(Client.layer(), Transport.layer(anonymous)))
      )
      expect(yield* Effect.flip(refused)).toMatchObject({ _tag: "Unauthorized" })
    })
  )

  Shared.real(
    "survives a restart of the server: watches break, requests succeed again, old versions are Expired",
    (cluster) =>
      Effect.gen(function* () {
        const namespace = yield* cluster.namespace()
        const server = yield* cluster.process("kube-apiserver")
        yield* Effect.gen(function* () {
          yield* Client.create(ConfigMap, { metadata: keyIn(namespace, "before") })
          const watch = yield* Client.watch(ConfigMap, { namespace, initialEvents: true })
          yield* eventsUntil(watch, isInitialEnd)
          yield* server.kill
          expect(yield* Effect.flip(Effect.forever(watch.next))).toMatchObject({
            _tag: "Transport",
            code: "ECONNRESET"
          })
          const refused = yield* Effect.flip(Client.raw({ method: "GET", path: "/readyz" }))
          expect(refused).toMatchObject({ _tag: "Transport", outcome: "unsent" })

          yield* server.start
          yield* Client.create(ConfigMap, { metadata: keyIn(namespace, "after") })
          // The watch cache does not have this version after the restart.
          const old = yield* Client.watch(ConfigMap, { namespace, resourceVersion: "2" })
          expect(summary(yield* old.next)).toEqual(["ERROR Expired"])
          expect((yield* Effect.flip(old.next))._tag).toBe("Ended")
          const second = yield* Client.watch(ConfigMap, { namespace, initialEvents: true })
          expect(summary(yield* eventsUntil(second, isInitialEnd)).sort()).toEqual([
            "ADDED after",
            "ADDED before",
            "BOOKMARK"
          ])
        }).pipe(Effect.provide(clientOf(cluster.admin)))
      }),
    // A flag makes this a separate server, because the test kills it.
    { apiServerFlags: ["--max-requests-inflight=399"] }
  )
})
