/**
 * Measures `plan`: `bun test/bench/plan.ts [WEBAPPS]`, by default 10,000 WebApps, each with its Deployment and Service.
 *
 * The cluster is an API server in memory in this process, so the times include its responses. It plans twice. In the first plan, nothing
 * has to be written. In the second, each WebApp has another image, so each Deployment rolls and each status changes.
 * It fails if the cluster gets a write. Run it alone on one core: `taskset -c 0 bun test/bench/plan.ts`.
 */
import * as Client from "@homeostat/runtime/client/Client"
import type { Request } from "@homeostat/runtime/client/Request"
import { Transport } from "@homeostat/runtime/client/Transport"
import * as Intent from "@homeostat/runtime/controller/Intent"
import * as FairScheduler from "@homeostat/runtime/manager/FairScheduler"
import * as Manager from "@homeostat/runtime/manager/Manager"
import * as Plan from "@homeostat/runtime/plan/Plan"
import { Deployment, Namespace, Service } from "@homeostat/runtime/resource/BuiltIn"
import * as Crd from "@homeostat/runtime/resource/Crd"
import type { KubernetesObject } from "@homeostat/runtime/resource/KubernetesObject"
import type * as Resource from "@homeostat/runtime/resource/Resource"
import * as EmbeddedCluster from "@homeostat/testkit/EmbeddedCluster"
import { eventually } from "@homeostat/testkit/Eventually"
import * as Simulation from "@homeostat/testkit/Simulation"
import { controller } from "@homeostat/webapp"
import { desiredDeployment, desiredService } from "@homeostat/webapp/children"
import { WebApp } from "@homeostat/webapp/WebApp"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"

/** The image of the converged WebApp. */
const old = "registry.example.com/team/app:1.27.3"

const count = Number(process.argv[2] ?? 10_000)
const key = { namespace: "bench", name: "app-00000" }
const collections = {
  webapps: { group: "apps.kubedojo.io", version: "v1beta1", plural: "webapps" },
  deployments: { group: "apps", version: "v1", plural: "deployments" },
  services: { group: "", version: "v1", plural: "services" },
  namespaces: { group: "", version: "v1", plural: "namespaces" }
}

/** A converged WebApp with its children. */
const atRest = Effect.gen(function* () {
  const cluster = yield* EmbeddedCluster.make({ crds: [Crd.of(WebApp)], seed: 1 })
  yield* Manager.launch([controller]).pipe(Effect.provide(cluster.transport))
  yield* Effect.gen(function* () {
    yield* Client.create(Namespace, { metadata: { name: key.namespace } })
    yield* Client.create(WebApp, { metadata: key, spec: { image: old } })
    yield* eventually("it runs", Client.get(WebApp, key), ({ status }) => status?.phase === "Running")
  }).pipe(Effect.provide(cluster.client))
  yield* Effect.sleep("1 second")
  const stored = (kind: string, group: string) => cluster.server.store.list(`${group}/${kind}`)
  return {
    webapps: stored("webapps", collections.webapps.group),
    deployments: stored("deployments", "apps"),
    services: stored("services", "").filter(({ metadata }) => JSON.stringify(metadata).includes(key.name)),
    namespaces: stored("namespaces", "")
  }
}).pipe(Effect.scoped)

/** A child with the hash of the intent for its own name. */
const intended = <A extends KubernetesObject, D extends Intent.Intended>(
  app: WebApp,
  kind: Resource.Resource<A, D>,
  desired: D,
  child: KubernetesObject
) => {
  const intent = Intent.of(app, WebApp, Intent.keyOf(app, kind, desired), desired, undefined)
  const { metadata } = child
  const annotations = { ...metadata.annotations, [Intent.intentAnnotation]: Intent.hashOf(intent) }
  return { ...child, metadata: { ...metadata, annotations } }
}

/** A cluster with copies of the objects, and the list of requests that could write. */
const clusterOf = (objects: Effect.Effect.Success<typeof atRest>, image: string) =>
  Effect.gen(function* () {
    const simulation = yield* Simulation.make
    const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    yield* simulation.transport.send({
      method: "POST",
      path,
      template: path,
      headers: { "content-type": "application/json" },
      body: JSON.stringify(Crd.of(WebApp)),
      repeatable: false
    })
    for (const namespace of objects.namespaces) simulation.load(collections.namespaces, namespace)
    const texts = [objects.webapps, objects.deployments, objects.services].map((all) => JSON.stringify(all[0]))
    const [webapp = "", deployment = "", service = ""] = texts
    const uids = texts.map((text) => String(JSON.parse(text).metadata.uid))
    for (let index = 0; index < count; index++) {
      const number = String(index).padStart(5, "0")
      const copy = (text: string) =>
        JSON.parse(
          uids
            .reduce((text, uid) => text.replaceAll(uid, uid.slice(0, -5) + number), text)
            .replaceAll(key.name, `app-${number}`)
        )
      const { metadata, spec, ...rest } = copy(webapp)
      const isNew = spec.image !== image
      const generation = metadata.generation + (isNew ? 1 : 0)
      simulation.load(collections.webapps, {
        ...rest,
        metadata: { ...metadata, generation },
        spec: { ...spec, image }
      })
      const app = Either.getOrThrow(WebApp.decode({ ...copy(webapp), spec: { ...spec, image: old } }))
      simulation.load(collections.deployments, intended(app, Deployment, desiredDeployment(app), copy(deployment)))
      simulation.load(collections.services, intended(app, Service, desiredService(app), copy(service)))
    }
    const writes: Array<string> = []
    const { transport } = simulation
    return {
      writes,
      transport: Layer.succeed(Transport, {
        ...transport,
        send: (request: Request) => {
          if (request.method !== "GET") writes.push(`${request.method} ${request.path}`)
          return transport.send(request)
        }
      })
    }
  })

const measured = (what: string, objects: Effect.Effect.Success<typeof atRest>, image: string, expected: number) =>
  Effect.gen(function* () {
    const cluster = yield* clusterOf(objects, image)
    Bun.gc(true)
    const began = performance.now()
    const { user, system } = process.cpuUsage()
    const simulation = yield* Simulation.make
    const plan = yield* Plan.make([controller], Layer.empty, {
      simulation,
      kinds: [WebApp],
      timeout: "10 minutes"
    }).pipe(Effect.provide(cluster.transport))
    const seconds = (performance.now() - began) / 1000
    const used = process.cpuUsage({ user, system })
    const kinds = Map.groupBy(plan.writes, ({ target, subresource = "" }) => `${target.kind} ${subresource}`)
    yield* Console.log(
      `${what}: ${plan.controllers[0]?.objects} WebApps in ${seconds.toFixed(1)} s (${((used.user + used.system) / 1e6).toFixed(1)} s of CPU): ${plan.writes.length} writes (${[...kinds].map(([kind, all]) => `${kind} ${all.length}`).join(", ")}), ${plan.unknown.length} unknown, ${cluster.writes.length} requests that could write, peak ${Math.round(process.memoryUsage.rss() / 2 ** 20)} MiB`
    )
    if (plan.writes.length !== expected || plan.unknown.length > 0 || cluster.writes.length > 0) process.exitCode = 1
  }).pipe(Effect.scoped)

await Effect.runPromise(
  FairScheduler.within(
    Effect.gen(function* () {
      const objects = yield* atRest
      yield* measured("unchanged", objects, old, 0)
      yield* measured("new image", objects, "registry.example.com/team/app:1.28.0", 2 * count)
    })
  ).pipe(Logger.withMinimumLogLevel(LogLevel.None))
)
