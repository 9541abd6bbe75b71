import { describe, expect } from "bun:test"
import type { User } from "@homeostat/testkit/envtest/User"
import * as Shared from "@homeostat/testkit/Shared"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { ConfigMap, Namespace } from "../resource/BuiltIn.ts"
import * as Client from "./Client.ts"
import * as Cluster from "./Cluster.ts"
import * as PageSize from "./PageSize.ts"
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

  Shared.real("lists 40 objects of a megabyte without an answer over the budget of a page", (cluster) =>
    Effect.gen(function* () {
      const namespace = yield* cluster.namespace()
      const answers: Array<number> = []
      const counted = Effect.map(Transport.Transport, (next) => ({
        ...next,
        send: (request: Parameters<typeof next.send>[0]) =>
          Effect.tap(next.send(request), ({ body }) =>
            Effect.sync(() => void (request.path.includes("limit=") && answers.push(body.length)))
          )
      }))
      const transport = Layer.provide(
        Layer.effect(Transport.Transport, counted),
        Transport.layer(clusterOf(cluster.admin))
      )
      yield* Effect.gen(function* () {
        const names = Array.from({ length: 40 }, (_, n) => `c${String(n).padStart(2, "0")}`)
        const data = {
          text: Array.from({ length: 60_000 }, (_, n) => `line ${n} öä`)
            .join("\n")
            .slice(0, 1_000_000)
        }
        yield* Effect.forEach(names, (name) => Client.create(ConfigMap, { metadata: keyIn(namespace, name), data }), {
          concurrency: 4
        })
        const { items } = yield* Client.list(ConfigMap, { namespace })
        const listed = items.map(({ metadata }) => metadata.name).filter((name) => names.includes(name))
        expect(listed).toEqual(names)
        expect(items.find(({ metadata }) => metadata.name === "c39")?.data).toEqual(data)
        // Pages of 500, 62 and 7 objects were too large, and then each has two or three.
        expect(answers.slice(0, 4)).toEqual([0, 0, 0, expect.any(Number)])
        expect(answers.length).toBeWithin(14, 22)
        expect(Math.max(...answers)).toBeWithin(1_000_000, PageSize.mostBytes)
      }).pipe(Effect.provide(Layer.provide(Client.layer({ userAgent: "homeostat-test/1" }), transport)))
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
