/** The requests that control a cluster: reset, snapshots and the clock. */
import { describe, expect } from "bun:test"
import * as Json from "@homeostat/apiserver/model/Json"
import type { Saved } from "@homeostat/apiserver/storage/Store"
import { create, make, type Options } from "@homeostat/testkit/EmbeddedCluster"
import { live } from "@homeostat/testkit/Test"
import * as VirtualTime from "@homeostat/testkit/VirtualTime"
import { Clock, Deferred, Duration, Effect, type Scope } from "effect"
import * as Control from "./Control.ts"

interface Scene {
  readonly request: (
    method: string,
    path: string,
    body?: object,
    user?: string
  ) => Effect.Effect<{ readonly status: number; readonly body: Json.Json }>
  readonly stop: Deferred.Deferred<void>
}

/** Runs a test on a cluster that has the objects before the requests of this module can reach it. */
const within = (
  test: (scene: Scene) => Effect.Effect<void, unknown, Scope.Scope>,
  options: Options = {},
  objects: ReadonlyArray<object> = []
) => {
  const time = VirtualTime.leaping()
  return Effect.gen(function* () {
    const cluster = yield* make({ kubelet: false, ...options })
    yield* create(cluster.server, objects)
    const kept = new Map<string, Saved>()
    const stop = yield* Deferred.make<void>()
    const server = yield* Control.around({
      cluster,
      time,
      stop,
      snapshots: {
        save: (name, saved) => Effect.sync(() => void kept.set(name, saved)),
        load: (name) => Effect.sync(() => kept.get(name)),
        names: Effect.sync(() => [...kept.keys()])
      }
    })
    yield* test({
      stop,
      request: (method, path, body, user) =>
        Effect.map(
          server.handle({
            method,
            path,
            headers: { "content-type": "application/json" },
            body: body === undefined ? undefined : JSON.stringify(body),
            user: user === undefined ? undefined : { name: user, groups: ["system:authenticated"] }
          }),
          ({ body, status }) => ({
            status,
            body: typeof body === "string" && body.startsWith("{") ? JSON.parse(body) : null
          })
        )
    })
  }).pipe(Effect.provideService(Clock.Clock, time.clock))
}

const configMaps = "/api/v1/namespaces/default/configmaps"

const namesIn = ({ request }: Scene, path = configMaps) =>
  Effect.map(request("GET", path), ({ body }) =>
    Json.objects(Json.at(body, "items")).map(({ metadata }) => Json.at(metadata, "name"))
  )

const fill = ({ request }: Scene, count: number) =>
  Effect.forEach(
    Array.from({ length: count }, (_, index) => `one-${index}`),
    (name) => request("POST", configMaps, { metadata: { name } }),
    { discard: true }
  )

describe("The requests of kubemem", () => {
  live("reset 1,000 objects in a fifth of the processor time of their creation", () =>
    within((scene) =>
      Effect.gen(function* () {
        const before = yield* namesIn(scene)
        const ratios: Array<number> = []
        for (let round = 0; round < 5; round++) {
          const filling = process.cpuUsage()
          yield* fill(scene, 1000)
          const { user: filled } = process.cpuUsage(filling)
          const began = process.cpuUsage()
          expect(yield* scene.request("POST", "/reset")).toEqual({ status: 200, body: { restored: "initial state" } })
          ratios.push(process.cpuUsage(began).user / filled)
          expect(yield* namesIn(scene)).toEqual(before)
        }
        expect(Math.min(...ratios)).toBeLessThan(0.2)
      })
    )
  )

  live("reset to ready pods, also before the pods have ended their start", () => {
    const matchLabels = { app: "web" }
    const pods = "/api/v1/namespaces/default/pods"
    const readiness = ({ request }: Scene) =>
      Effect.map(request("GET", pods), ({ body }) =>
        Json.objects(Json.at(body, "items")).map(({ metadata, status }) => [
          Json.at(metadata, "name"),
          Json.objects(Json.at(status, "conditions")).find(({ type }) => type === "Ready")?.status
        ])
      )
    const web = [
      ["web-0", "True"],
      ["web-1", "True"]
    ]
    return within(
      (scene) =>
        Effect.gen(function* () {
          expect(yield* readiness(scene)).toEqual(web)
          yield* scene.request("DELETE", `${pods}/web-0?gracePeriodSeconds=0`)
          expect(yield* readiness(scene)).not.toEqual(web)
          yield* scene.request("POST", "/reset")
          expect(yield* readiness(scene)).toEqual(web)
          yield* scene.request("POST", "/clock?advance=1m")
          expect(yield* readiness(scene)).toEqual(web)
        }),
      { kubelet: {} },
      [
        {
          apiVersion: "apps/v1",
          kind: "StatefulSet",
          metadata: { name: "web", namespace: "default" },
          spec: {
            replicas: 2,
            selector: { matchLabels },
            template: { metadata: { labels: matchLabels }, spec: { containers: [{ name: "main", image: "web" }] } }
          }
        }
      ]
    )
  })

  live("do not wait for a pod that needs a minute for its start", () => {
    const readinessProbe = { initialDelaySeconds: 60, httpGet: { port: 80 } }
    const spec = { containers: [{ name: "main", image: "web", readinessProbe }] }
    return Effect.map(
      Effect.timed(
        within(() => Effect.void, { kubelet: {} }, [
          { apiVersion: "v1", kind: "Pod", metadata: { name: "slow", namespace: "default" }, spec }
        ])
      ),
      ([duration]) => expect(Duration.toSeconds(duration)).toBeLessThan(10)
    )
  })

  live("restore a snapshot with its custom kinds, and report the names of snapshots", () =>
    within((scene) =>
      Effect.gen(function* () {
        const { request } = scene
        const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        const schema = { type: "object", "x-kubernetes-preserve-unknown-fields": true }
        const definition = {
          metadata: { name: "toys.example.com" },
          spec: {
            group: "example.com",
            scope: "Namespaced",
            names: { plural: "toys", singular: "toy", kind: "Toy" },
            versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema } }]
          }
        }
        const toys = "/apis/example.com/v1/namespaces/default/toys"
        expect((yield* request("POST", "/restore?name=none")).body).toMatchObject({
          code: 404,
          message: 'snapshot not found: "none" (there are no snapshots)'
        })
        expect((yield* request("POST", definitions, definition)).status).toBe(201)
        yield* request("POST", toys, { apiVersion: "example.com/v1", kind: "Toy", metadata: { name: "ball" } })
        expect((yield* request("POST", "/snapshot?name=toys")).body).toEqual({ saved: "toys" })
        yield* request("POST", "/reset")
        expect((yield* request("GET", toys)).status).toBe(404)
        yield* request("POST", "/restore?name=toys")
        expect(yield* namesIn(scene, toys)).toEqual(["ball"])
        expect((yield* request("POST", "/restore?name=none")).body).toMatchObject({
          message: 'snapshot not found: "none" (must be one of toys)'
        })
        expect((yield* request("POST", "/snapshot?name=../x")).body).toMatchObject({ code: 400 })
      })
    )
  )

  live("let time pass, so that each run of a CronJob starts", () =>
    within(
      (scene) =>
        Effect.gen(function* () {
          const pod = { restartPolicy: "Never", containers: [{ name: "c", image: "busybox" }] }
          const tick = yield* scene.request("POST", "/apis/batch/v1/namespaces/default/cronjobs", {
            metadata: { name: "tick" },
            spec: {
              schedule: "*/10 * * * *",
              successfulJobsHistoryLimit: 100,
              jobTemplate: { spec: { template: { spec: pod } } }
            }
          })
          const began = yield* Clock.currentTimeMillis
          const { body } = yield* scene.request("POST", "/clock?advance=1h")
          const now = Date.parse(Json.text(Json.at(body, "now")) ?? "")
          expect(now - began).toBeGreaterThanOrEqual(3_600_000)
          const created = Date.parse(Json.text(Json.at(tick.body, "metadata", "creationTimestamp")) ?? "")
          const runs = Math.floor(now / 600_000) - Math.floor(created / 600_000)
          expect((yield* namesIn(scene, "/apis/batch/v1/namespaces/default/jobs")).length).toBe(runs)
          expect((yield* scene.request("POST", "/clock?advance=soon")).body).toMatchObject({
            code: 400,
            message: 'advance: invalid duration: "soon" (write it like 15s, 1m30s or 10h)'
          })
        }),
      { kubelet: {} }
    )
  )

  live("require permission for their URLs", () =>
    within(({ request, stop }) =>
      Effect.gen(function* () {
        const message = 'forbidden: post /stop (requires the verb "post" for the non-resource URL /stop)'
        expect((yield* request("POST", "/stop", undefined, "ann")).body).toMatchObject({ code: 403, message })
        expect(yield* Deferred.isDone(stop)).toBe(false)
        expect((yield* request("POST", "/stop")).status).toBe(200)
        expect(yield* Deferred.isDone(stop)).toBe(true)
      })
    )
  )
})
