/**
 * Measures `plan`: `bun test/bench/plan.ts [WEBAPPS]`, by default 10,000 WebApps, each with its Deployment, Service and PodDisruptionBudget.
 *
 * The cluster is an embedded one in a process of its own, which answers over HTTP. There are two plans, each in a process of its own. In the
 * first plan, nothing has to be written. In the second, each WebApp has another image, so each Deployment rolls and each status changes.
 * It fails if the cluster gets a write, or if a plan has another number of writes.
 */
import * as Client from "@homeostat/runtime/client/Client"
import * as Cluster from "@homeostat/runtime/client/Cluster"
import type { Request } from "@homeostat/runtime/client/Request"
import * as Transport from "@homeostat/runtime/client/Transport"
import * as FairScheduler from "@homeostat/runtime/manager/FairScheduler"
import * as Manager from "@homeostat/runtime/manager/Manager"
import * as Plan from "@homeostat/runtime/plan/Plan"
import { Namespace } from "@homeostat/runtime/resource/BuiltIn"
import * as Crd from "@homeostat/runtime/resource/Crd"
import * as EmbeddedCluster from "@homeostat/testkit/EmbeddedCluster"
import { eventually } from "@homeostat/testkit/Eventually"
import * as Simulation from "@homeostat/testkit/Simulation"
import { controller } from "@homeostat/webapp"
import { WebApp } from "@homeostat/webapp/WebApp"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as References from "effect/References"
import type * as Scope from "effect/Scope"

const [first = "10000", ...args] = process.argv.slice(2)

/** The image of the converged WebApps, and the new one. */
const images = ["registry.example.com/team/app:1.27.3", "registry.example.com/team/app:1.28.0"] as const

const key = { namespace: "bench", name: "app-00000" }
const kinds = ["apps.kubedojo.io/webapps", "apps/deployments", "/services", "policy/poddisruptionbudgets"]

const isOf = (text: string): boolean => text.includes(key.name)

/** A WebApp and its children, stored in a cluster as a manager and the controllers of Kubernetes leave them. */
const atRest = Effect.gen(function* () {
  const cluster = yield* EmbeddedCluster.make({ crds: [Crd.of(WebApp)], seed: 1 })
  yield* Manager.launch([controller]).pipe(Effect.provide(cluster.transport))
  yield* Effect.gen(function* () {
    yield* Client.create(Namespace, { metadata: { name: key.namespace } })
    yield* Client.create(WebApp, { metadata: key, spec: { image: images[0], replicas: 2 } })
    yield* eventually("it runs", Client.get(WebApp, key), ({ status }) => status?.phase === "Running")
  }).pipe(Effect.provide(cluster.client))
  yield* Effect.sleep("1 second")
  return kinds.map((storage) => {
    const text = cluster.server.store
      .list(storage)
      .map((object) => JSON.stringify(object))
      .find(isOf)
    if (text === undefined) throw new Error(`no ${storage}`)
    return { storage, text }
  })
}).pipe(Effect.scoped)

/** Serves a cluster with copies of the WebApp. It prints its URL at rest, and then after each line of its input, which is a new image. */
const served = (count: number) =>
  Effect.gen(function* () {
    const parts = yield* atRest
    const cluster = yield* EmbeddedCluster.make({ crds: [Crd.of(WebApp)], seed: 1, kubelet: false, controllers: [] })
    const { store } = cluster.server
    yield* Effect.provide(Client.create(Namespace, { metadata: { name: key.namespace } }), cluster.client)
    const uids = parts.map(({ text }) => String(JSON.parse(text).metadata.uid))
    for (let index = 0; index < count; index++) {
      const number = String(index).padStart(5, "0")
      for (const { storage, text } of parts) {
        const own = uids.reduce((rest, uid) => rest.replaceAll(uid, uid.slice(0, -5) + number), text)
        const address = `10.0.${1 + Math.floor(index / 250)}.${1 + (index % 250)}`
        store.put(
          storage,
          JSON.parse(own.replaceAll(key.name, `app-${number}`).replaceAll(/10\.0\.\d+\.\d+/g, address))
        )
      }
    }
    const settled = Effect.gen(function* () {
      const runners = yield* Manager.launch([controller]).pipe(Effect.provide(cluster.transport))
      const isBusy = () =>
        runners.some(({ queue }) => {
          const { processing, ready } = Option.getOrThrow(queue()).snapshot()
          return processing + ready > 0
        })
      for (let quiet = 0; quiet < 3; quiet++) {
        yield* Effect.sleep("1 second")
        if (isBusy()) quiet = -1
      }
    }).pipe(Effect.scoped)
    // The intents of the copies are those of the copied WebApp, and a manager corrects them.
    yield* settled
    for (const stored of store.list("apps/deployments")) {
      const deployment = JSON.parse(JSON.stringify(stored))
      deployment.status.observedGeneration = deployment.metadata.generation
      store.put("apps/deployments", deployment)
    }
    yield* settled
    const url = yield* cluster.serve()
    yield* Console.log(url)
    yield* Effect.promise(async () => {
      for await (const image of console) {
        for (const stored of store.list(kinds[0] ?? "")) {
          const app = JSON.parse(JSON.stringify(stored))
          app.metadata.generation++
          app.spec.image = image
          store.put(kinds[0] ?? "", app)
        }
        process.stdout.write(`${url}\n`)
      }
    })
  }).pipe(Effect.scoped)

/** Plans for the cluster at a URL, and prints the time and the memory of this process. */
const measured = (url: string, what: string, expected: number) =>
  Effect.gen(function* () {
    const writes: Array<string> = []
    const noting = Layer.effect(
      Transport.Transport,
      Effect.map(Transport.Transport, (transport) => ({
        ...transport,
        send: (request: Request) => {
          if (request.method !== "GET") writes.push(`${request.method} ${request.path}`)
          return transport.send(request)
        }
      }))
    )
    const cluster = Layer.provide(noting, Transport.layer(Cluster.make({ server: url })))
    const began = performance.now()
    const simulation = yield* Simulation.make
    const plan = yield* Plan.make([controller], Layer.empty, {
      simulation,
      kinds: [WebApp],
      timeout: "10 minutes"
    }).pipe(Effect.provide(cluster))
    const seconds = (performance.now() - began) / 1000
    const { maxRSS, userCPUTime, systemCPUTime } = process.resourceUsage()
    const counts = Map.groupBy(plan.writes, ({ target, subresource = "" }) => `${target.kind} ${subresource}`.trim())
    yield* Console.log(
      `${what}: ${plan.controllers[0]?.objects} WebApps in ${seconds.toFixed(1)} s (${((userCPUTime + systemCPUTime) / 1e6).toFixed(1)} s of CPU): ${plan.writes.length} writes (${[...counts].map(([kind, all]) => `${kind} ${all.length}`).join(", ")}), ${plan.unknown.length} unknown, ${writes.length} requests that could write, peak ${Math.round(maxRSS / 2 ** 10)} MiB`
    )
    if (plan.writes.length !== expected || plan.unknown.length > 0 || writes.length > 0) process.exitCode = 1
  }).pipe(Effect.scoped)

/** Runs this file in another process, with these arguments. */
const spawned = (...words: ReadonlyArray<string>) =>
  Effect.acquireRelease(
    Effect.sync(() =>
      Bun.spawn([process.execPath, ...process.execArgv, import.meta.path, ...words], {
        stdin: "pipe",
        stdout: "pipe",
        stderr: "inherit"
      })
    ),
    (child) => Effect.sync(() => child.kill())
  )

const compared = (count: number): Effect.Effect<void, never, Scope.Scope> =>
  Effect.gen(function* () {
    const server = yield* spawned("serve", String(count))
    const reader = server.stdout.getReader()
    const url = Effect.promise(async () => new TextDecoder().decode((await reader.read()).value).trim())
    const planned = (...words: ReadonlyArray<string>) =>
      Effect.gen(function* () {
        const child = yield* spawned("plan", yield* url, ...words)
        yield* Console.log((yield* Effect.promise(() => new Response(child.stdout).text())).trim())
        if ((yield* Effect.promise(() => child.exited)) !== 0) process.exitCode = 1
      })
    yield* planned("unchanged", "0")
    server.stdin.write(`${images[1]}\n`)
    yield* Effect.promise(async () => server.stdin.flush())
    yield* planned("new image", String(2 * count))
  })

const [second = "", what = "", expected = "0"] = args

const work =
  first === "serve"
    ? Effect.orDie(served(Number(second)))
    : first === "plan"
      ? Effect.orDie(measured(second, what, Number(expected)))
      : Effect.scoped(compared(Number(first)))

await Effect.runPromise(FairScheduler.within(work).pipe(Effect.provideService(References.MinimumLogLevel, "None")))
