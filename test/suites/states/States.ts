/**
 * Many WebApps, each with a random failure, in virtual time. Returns the state of each as three observers have it: the metric, the list of
 * `kubectl get`, and `why`.
 */
import { expect } from "bun:test"
import * as Pcg from "@homeostat/apiserver/model/Pcg"
import * as Cache from "@homeostat/runtime/cache/Cache"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import type { Transport } from "@homeostat/runtime/client/Transport"
import * as Reachability from "@homeostat/runtime/controller/Reachability"
import type * as Runner from "@homeostat/runtime/controller/Runner"
import * as RunnerFixture from "@homeostat/runtime/controller/Runner.fixture"
import * as EventRecorder from "@homeostat/runtime/events/EventRecorder"
import * as Gather from "@homeostat/runtime/manager/why/Gather"
import * as Journal from "@homeostat/runtime/manager/why/Journal"
import * as Why from "@homeostat/runtime/manager/why/Why"
import { Deployment, type Pod, Service } from "@homeostat/runtime/resource/BuiltIn"
import * as Crd from "@homeostat/runtime/resource/Crd"
import type { State } from "@homeostat/runtime/resource/ObjectState"
import * as Metrics from "@homeostat/runtime/telemetry/Metrics"
import { reading } from "@homeostat/runtime/telemetry/Reading.fixture"
import * as Faults from "@homeostat/testkit/Faults"
import * as Harness from "@homeostat/testkit/Harness"
import { controller } from "@homeostat/webapp"
import { WebApp } from "@homeostat/webapp/WebApp"
import { type Context, Effect, Layer, type Scope } from "effect"
import { TestClock } from "effect/testing"

const namespace = "default"

interface Key {
  readonly namespace: string
  readonly name: string
}

/** A failure of a WebApp. */
interface Failure {
  /** The state that the metric and `why` should have. */
  readonly state: State
  /** The words of the columns Ready and Reason in the list. */
  readonly row: string
  readonly spec?: object
  readonly metadata?: object
  readonly before?: (key: Key, faults: Faults.Faults) => Effect.Effect<unknown, unknown, Client.Client>
  readonly after?: (key: Key) => Effect.Effect<unknown, unknown, Client.Client>
  /** Happens once in each second. */
  readonly often?: (key: Key) => Effect.Effect<unknown, unknown, Client.Client>
}

const labels = Object.fromEntries(Array.from({ length: 3000 }, (_, at) => [`label-${at}`, "x".repeat(60)]))

const refused = (status: number, kind: typeof Service | typeof Deployment) => (key: Key, faults: Faults.Faults) =>
  Effect.sync(() => faults.on({ verb: "patch", kind, name: key.name }, Faults.answer(status, { message: "not now" })))

/** The failures by their names. */
export const failures: { readonly [name: string]: Failure } = {
  "no failure": { state: "Ready", row: "True AllReplicasReady" },
  "a rejected child": { state: "Failed", row: "False Invalid", before: refused(422, Service) },
  "a 5xx of a child": { state: "Failed", row: "False Unavailable", before: refused(500, Service) },
  "a conflict at each write": { state: "Failed", row: "False ", before: refused(409, Deployment) },
  "no answer in time": { state: "Failed", row: "False Unavailable", before: refused(504, Deployment) },
  "a fight": {
    state: "Failed",
    row: "False FieldFight",
    often: (key) => Client.patch(Deployment, key, Patch.merge({ spec: { replicas: 2 } }), { fieldManager: "rival" })
  },
  "a child of another owner": {
    state: "Failed",
    row: "False NotOwned",
    before: (key) => Client.create(Service, { metadata: key, spec: { ports: [{ port: 80 }] } })
  },
  "a missing Secret": {
    state: "Progressing",
    row: "False ConfigNotFound",
    spec: { config: [{ secret: "absent", env: {} }] }
  },
  "a crash loop": { state: "Progressing", row: "False ReplicasNotReady", spec: { image: "crash:1" } },
  "an image that is missing": { state: "Progressing", row: "False ReplicasNotReady", spec: { image: "missing:1" } },
  "a deletion that waits": {
    state: "Deleting",
    row: "False Deleting",
    metadata: { finalizers: ["example.com/hold"] },
    after: (key) => Client.delete(WebApp, key)
  },
  "a pause": {
    state: "Paused",
    row: "True AllReplicasReady True",
    after: (key) =>
      Client.patch(WebApp, key, Patch.merge({ metadata: { annotations: { "homeostat.dev/paused": "by hand" } } }))
  },
  "too many labels": {
    state: "Failed",
    row: "False TooLarge",
    metadata: { labels, annotations: { a: "x".repeat(250_000) } }
  }
}

/** An object as the observers have it. */
export interface Observed {
  readonly name: string
  readonly failure: string
  /** The cells of the columns of the list, by name. */
  readonly row: { readonly [column: string]: unknown }
  readonly why: Why.Explanation
}

const none: Failure = { state: "Unknown", row: "" }

/** The objects and the metric, as the observers have them. */
export interface Seen {
  readonly objects: ReadonlyArray<Observed>
  /** The values of the metric by state. */
  readonly metric: { readonly [state: string]: number }
}

/** A random failure for each of some objects. */
const drawn = (count: number, seed: number): ReadonlyArray<readonly [name: string, failure: string]> => {
  const random = Pcg.make(seed)
  const names = Object.keys(failures)
  return Array.from({ length: count }, (_, at) => [
    `app-${String(at).padStart(3, "0")}`,
    // Each failure at least once.
    names[at < names.length ? at : random.integer(names.length)] ?? ""
  ])
}

/** A manager of WebApps whose facts the test can read. */
const managed = () => {
  const journal = Journal.make()
  const registry = Metrics.make()
  let runner: Runner.Runner | undefined
  type Services = Client.Client | Cache.Cache | Reachability.Reachability | EventRecorder.EventRecorder
  let services: Context.Context<Services> | undefined
  const manager: Effect.Effect<void, never, Transport | Scope.Scope> = Effect.gen(function* () {
    const client = Client.layer({ userAgent: "test" })
    const layer = Layer.mergeAll(
      Cache.layer(),
      EventRecorder.layer({ instance: "test" }),
      Layer.effect(Reachability.Reachability, Reachability.ofCluster)
    ).pipe(Layer.provideMerge(client))
    const context = yield* Layer.build(layer)
    services = context
    runner = yield* Effect.provide(RunnerFixture.start(controller, { gracePeriod: 0, history: journal }), context)
  }).pipe(Effect.provideService(Metrics.Metrics, registry))
  const why = (key: Key): Effect.Effect<Why.Explanation> => {
    if (runner === undefined || services === undefined) return Effect.die(new Error("the manager does not run"))
    const subject: Gather.Subject = {
      controller,
      runner: { ...runner, journal, recordingOf: () => undefined },
      election: undefined,
      admissions: undefined,
      since: 0
    }
    return Effect.map(Effect.provide(Gather.gather(subject, key), services), Why.explain)
  }
  const metric = () =>
    Object.fromEntries(
      Object.entries(reading(registry, "homeostat_objects")).map(([series, value]) => [
        /state="(\w+)"/.exec(series)?.[1] ?? series,
        value
      ])
    )
  return { manager, why, metric }
}

/** The rows of `kubectl get webapps`, by name. */
const rows = ({ server }: Harness.Cluster) =>
  Effect.map(
    server.handle({
      method: "GET",
      path: `/apis/apps.kubedojo.io/v1beta1/namespaces/${namespace}/webapps`,
      headers: { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" },
      body: undefined,
      user: undefined
    }),
    ({ body }) => {
      const table: {
        readonly columnDefinitions: ReadonlyArray<{ readonly name: string; readonly priority: number }>
        readonly rows: ReadonlyArray<{
          readonly cells: ReadonlyArray<unknown>
          readonly object: { readonly metadata: { readonly name: string } }
        }>
      } = JSON.parse(String(body))
      const columns = table.columnDefinitions
      return new Map(
        table.rows.map(({ cells, object }) => [
          object.metadata.name,
          // Without `-o wide`.
          Object.fromEntries(
            cells.flatMap((cell, at) => (columns[at]?.priority === 0 ? [[columns[at].name, cell]] : []))
          )
        ])
      )
    }
  )

/** The states as the list shows them. */
const listed: { readonly [state in State]: string } = {
  Ready: "Ready",
  Progressing: "not ready",
  Failed: "not ready",
  Unknown: "not ready",
  Paused: "Paused",
  Deleting: "Deleting"
}

const ofRow = ({ Paused: paused, Ready: ready, Reason: reason }: Observed["row"]): string =>
  paused === "True" ? "Paused" : reason === "Deleting" ? "Deleting" : ready === "True" ? "Ready" : "not ready"

const counts = (all: ReadonlyArray<string>): { readonly [word: string]: number } =>
  Object.fromEntries(
    Map.groupBy(all, (each) => each)
      .entries()
      .map(([word, those]) => [word, those.length])
  )

/** Compares the observers with each other, and each object with its failure. */
export const agree = ({ metric, objects }: Seen): void => {
  const present = Object.fromEntries(Object.entries(metric).filter(([, count]) => count > 0))
  expect(counts(objects.map(({ why }) => why.state))).toEqual(present)
  const inList = counts(objects.map(({ row }) => ofRow(row)))
  const inMetric = counts(objects.flatMap(({ why }) => listed[why.state]))
  expect(inList).toEqual(inMetric)
  for (const { failure, name, row, why } of objects) {
    const expected = failures[failure]
    const of = `${failure} of ${name}`
    const cells = `${row.Ready} ${row.Reason} ${row.Paused ?? ""}`
    expect(`${of}: ${why.state}, ${ofRow(row)}`).toBe(`${of}: ${expected?.state}, ${listed[why.state]}`)
    expect(`${of}: ${cells}`).toStartWith(`${of}: ${expected?.row}`)
    expect(`${of}: ${why.health}`).toBe(`${of}: ${why.state === "Ready" ? "healthy" : "unhealthy"}`)
  }
}

/** Lets the objects fail for two minutes, and returns them as the observers have them. */
export const observe = (count: number, seed: number): Effect.Effect<Seen, unknown> => {
  const { manager, metric, why } = managed()
  const pods = (pod: Pod) =>
    pod.spec?.containers[0]?.image === "crash:1" ? { ends: { after: "1 second", exitCode: 1 } as const } : undefined
  return Harness.run(
    { crds: [Crd.of(WebApp)], manager, kubelet: { pods, unpullable: ["missing:1"] }, atRest: false, seed },
    (cluster) =>
      Effect.gen(function* () {
        const objects = drawn(count, seed).map(([name, failure]) => ({
          key: { namespace, name },
          failure,
          ...(failures[failure] ?? none)
        }))
        for (const { before, key, metadata, spec } of objects) {
          if (before !== undefined) yield* before(key, cluster.faults)
          const app = { image: "nginx:1.27", replicas: 1, ...spec }
          yield* Client.create(WebApp, { metadata: { ...key, ...metadata }, spec: app })
        }
        yield* TestClock.adjust("20 seconds")
        for (const { after, key } of objects) if (after !== undefined) yield* after(key)
        for (let second = 0; second < 10; second++) {
          for (const { key, often } of objects) if (often !== undefined) yield* often(key)
          yield* TestClock.adjust("1 second")
        }
        yield* TestClock.adjust("1 minute")
        const list = yield* rows(cluster)
        return {
          objects: yield* Effect.forEach(objects, ({ failure, key }) =>
            Effect.map(why(key), (why) => ({ name: key.name, failure, row: list.get(key.name) ?? {}, why }))
          ),
          metric: metric()
        }
      })
  )
}
