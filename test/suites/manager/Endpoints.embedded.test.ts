/** The readiness of a manager: before, during and after the sync of its caches, and during its shutdown. */
import { describe, expect } from "bun:test"
import * as Controller from "@homeostat/runtime/controller/Controller"
import * as Result from "@homeostat/runtime/controller/Result"
import * as Endpoints from "@homeostat/runtime/manager/Endpoints"
import type * as Manager from "@homeostat/runtime/manager/Manager"
import { ConfigMap } from "@homeostat/runtime/resource/BuiltIn"
import * as Crd from "@homeostat/runtime/resource/Crd"
import * as CustomResource from "@homeostat/runtime/resource/CustomResource"
import * as Resource from "@homeostat/runtime/resource/Resource"
import * as TcpProxy from "@homeostat/testkit/TcpProxy"
import { live } from "@homeostat/testkit/Test"
import { Deferred, Effect, Fiber, Schema } from "effect"
import * as Managed from "../Managed.ts"
import * as Chore from "../runtime/Chore.ts"
import * as Served from "./Served.ts"

/** A controller with two caches. */
const controller = <E, R extends Manager.Runtime>(
  reconcile: (chore: Chore.Chore) => Effect.Effect<Result.Result, E, R> = () => Effect.succeed(Result.done)
): Controller.Controller<Manager.Runtime> =>
  Controller.make("chores", { for: Chore.Chore, owns: [ConfigMap], reconcile })

const ready = ({ status }: Served.Answer): boolean => status === 200

const cache = "cache-chores.suites.homeostat.dev"

describe.concurrent("A manager", () => {
  Chore.placed("is not ready before its caches sync, is ready then, and stays ready without a server", (place) =>
    Effect.gen(function* () {
      const { admin, url } = place.cluster
      const proxy = yield* TcpProxy.make({ port: Number(new URL(url).port) })
      const served = yield* Served.open
      expect(yield* served.probe("/healthz")).toEqual({ status: 200, body: "ok\n" })
      expect((yield* served.probe("/readyz")).body).toContain(
        "[-]startup failed: the controllers are not started yet\n"
      )

      yield* proxy.blackhole
      const behind = { ...admin, server: proxy.instead(admin.server) }
      yield* served.start(behind, [controller()], { namespaces: [place.namespace] })
      const filling = yield* served.probe("/readyz")
      expect(filling).toEqual({
        status: 500,
        body: [
          "[+]ping ok",
          "[+]startup ok",
          "[+]shutdown ok",
          `[-]${cache} failed: the first list of chores.suites.homeostat.dev is not complete yet`,
          "[-]cache-configmaps failed: the first list of configmaps is not complete yet",
          "readyz check failed",
          ""
        ].join("\n")
      })
      expect((yield* served.probe("/healthz")).status).toBe(200)

      yield* proxy.heal
      yield* Served.until(served, "/readyz", "ready", ready)
      expect((yield* served.probe("/readyz?verbose")).body).toContain(`[+]${cache} ok\n[+]cache-configmaps ok\n`)
      expect(yield* served.probe(`/readyz/${cache}`)).toEqual({ status: 200, body: "ok\n" })

      yield* proxy.refuse
      yield* proxy.cut
      const refused = Effect.map(served.metrics, (page) =>
        [...page.matchAll(/^rest_client_requests_total\{.*code="<error>".*\} (\d+)$/gm)]
          .map(([, count]) => Number(count))
          .reduce((sum, count) => sum + count, 0)
      )
      yield* Managed.eventually(
        "failed requests",
        Effect.tap(
          refused,
          Effect.map(served.probe("/readyz"), (answer) => expect(ready(answer)).toBe(true))
        ),
        (count) => count > 5
      )
    })
  )

  Chore.placed("is not ready without a CRD, which it names, until the CRD is installed", (place) =>
    Effect.gen(function* () {
      const kind = `Late${crypto.randomUUID().slice(0, 6)}`
      const Late = CustomResource.make({
        group: "suites.homeostat.dev",
        version: "v1",
        kind,
        spec: Schema.Struct({})
      })
      const late = Controller.make("late", { for: Late, reconcile: () => Effect.succeed(Result.done) })
      const served = yield* Served.open
      yield* served.start(place.cluster.admin, [late, controller()], { namespaces: [place.namespace] })
      const check = `/readyz/cache-${Resource.nameOf(Late)}`
      const { body, status } = yield* Served.until(served, check, "the name of the missing kind", (answer) =>
        answer.body.includes("does not serve")
      )
      expect(status).toBe(500)
      expect(body).toContain(`suites.homeostat.dev/v1 ${kind}; install its CustomResourceDefinition`)
      // The cache of the other kind is synced and has its own check.
      yield* Served.until(served, `/readyz/${cache}`, "the other kind", ready)
      expect((yield* served.probe("/readyz")).status).toBe(500)
      expect((yield* served.probe("/healthz")).status).toBe(200)
      expect((yield* served.probe(`/readyz?exclude=${check.slice("/readyz/".length)}`)).status).toBe(200)
      yield* place.cluster.install(Crd.of(Late))
      yield* Served.until(served, "/readyz", "ready", ready)
    })
  )

  Chore.placed("is not ready during its shutdown, while it finishes its reconciles", (place) =>
    Effect.gen(function* () {
      const begun = yield* Deferred.make<void>()
      const mayEnd = yield* Deferred.make<void>()
      const slow = controller(() =>
        Effect.as(Effect.andThen(Deferred.succeed(begun, undefined), Deferred.await(mayEnd)), Result.done)
      )
      const served = yield* Served.open
      yield* served.start(place.cluster.admin, [slow], { namespaces: [place.namespace] })
      yield* Chore.create(place, "slow")
      yield* Deferred.await(begun)
      yield* Served.until(served, "/readyz", "ready", ready)
      const stopping = yield* Effect.forkChild(served.stop)
      const { body } = yield* Served.until(served, "/readyz", "not ready", (answer) => !ready(answer))
      expect(body).toContain("[-]shutdown failed: the process is shutting down\n")
      expect((yield* served.probe("/healthz")).status).toBe(200)
      expect(yield* served.metrics).toContain('controller_runtime_active_workers{controller="chores"} 1\n')
      expect(stopping.pollUnsafe()).toBeUndefined()
      yield* Deferred.succeed(mayEnd, undefined)
      yield* Fiber.join(stopping)
    })
  )
})

/** How long the server keeps a connection open that sends `first`, and then `drip` every second. */
const lasts = (port: number, first: string, drip: string): Effect.Effect<number> =>
  Effect.callback<number>((resume) => {
    const began = performance.now()
    let timer: Timer | undefined
    const opened = Bun.connect({
      hostname: "127.0.0.1",
      port,
      socket: {
        open: (socket) => {
          socket.write(first)
          timer = setInterval(() => socket.write(drip), 1000)
        },
        data: () => undefined,
        close: () => {
          clearInterval(timer)
          resume(Effect.succeed(performance.now() - began))
        }
      }
    })
    return Effect.promise(() => opened.then((socket) => socket.end()))
  })

live(
  "A port closes slow connections within 20 seconds",
  () =>
    Effect.gen(function* () {
      const local = { hostname: "127.0.0.1", port: 0 }
      const { addresses, route } = yield* Endpoints.make({ metrics: local, probes: undefined })
      yield* route("metrics", "/a", () => Effect.succeed(new Response("a")))
      yield* route("metrics", "/never", () => Effect.never)
      const port = Number(addresses.metrics?.split(":").at(-1))
      const connections = [
        lasts(port, "", ""),
        lasts(port, "GET /a HTTP/1.1\r\nHost: a\r\n", "X-A: a\r\n"),
        lasts(port, "GET /a HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n", "a"),
        lasts(port, "GET /a HTTP/1.1\r\nHost: a\r\n\r\n", ""),
        lasts(port, "GET /never HTTP/1.1\r\nHost: a\r\n\r\n", "")
      ]
      const durations = yield* Effect.timeout(Effect.all(connections, { concurrency: "unbounded" }), "60 seconds")
      expect(durations.filter((millis) => millis > 30_000)).toEqual([])
    }),
  120_000
)
