/** Random stories of WebApps, by seed. A manager has worked in the cluster, and then users and other programs have made changes. */
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import * as Manager from "@homeostat/runtime/manager/Manager"
import { Deployment, HorizontalPodAutoscaler, Service } from "@homeostat/runtime/resource/BuiltIn"
import * as Crd from "@homeostat/runtime/resource/Crd"
import * as EmbeddedCluster from "@homeostat/testkit/EmbeddedCluster"
import * as VirtualTime from "@homeostat/testkit/VirtualTime"
import { adoptAnnotation } from "@homeostat/webapp/children"
import { controller } from "@homeostat/webapp/controller"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect, Exit, Random, References, Scope } from "effect"

/** The state of a cluster, and its time in epoch milliseconds. */
export interface Moment {
  readonly saved: ReturnType<EmbeddedCluster.EmbeddedCluster["server"]["saved"]>
  readonly at: number
  /** The actions so far, for messages. */
  readonly actions: ReadonlyArray<string>
}

type Action = Effect.Effect<unknown, unknown, Client.Client>

const namespace = "default"

/** The CRD of an older program, which accepts values that a Deployment rejects. */
const older: Crd.Crd = JSON.parse(
  JSON.stringify(Crd.of(WebApp), (key, value) => (key === "x-kubernetes-validations" ? undefined : value))
)

const choose = <A>(items: readonly [A, ...ReadonlyArray<A>]): Effect.Effect<A> =>
  Effect.map(Random.nextIntBetween(0, items.length, { halfOpen: true }), (index) => items[index] ?? items[0])

const chance = (share: number): Effect.Effect<boolean> => Effect.map(Random.next, (found) => found < share)

const amounts = { requests: { cpu: "100m", memory: "64Mi" }, limits: { cpu: "1", memory: "128Mi" } }

const specs = Effect.gen(function* () {
  const env = [
    { name: "A", value: "1" },
    { name: "B", valueFrom: { secretKeyRef: { name: "shop", key: "b" } } }
  ]
  return {
    image: yield* choose(["nginx:1.27", "nginx:1.28", "registry.test/team/app:2"]),
    ...((yield* chance(0.7)) && { replicas: yield* Random.nextIntBetween(1, 5, { halfOpen: true }) }),
    ...((yield* chance(0.5)) && { port: yield* choose([80, 8080, 9090]) }),
    ...((yield* chance(0.4)) && { env: env.slice(0, yield* Random.nextIntBetween(1, 3, { halfOpen: true })) }),
    ...((yield* chance(0.3)) && { resources: amounts })
  }
})

/** Changes of an existing WebApp and its children, by name. */
const changes: { readonly [name: string]: (name: string) => Action } = {
  "new image": (name) => patch(WebApp, name, { spec: { image: "nginx:1.29" } }),
  "new port": (name) => patch(WebApp, name, { spec: { port: 7070 } }),
  "without env": (name) => patch(WebApp, name, { spec: { env: null } }),
  "new env": (name) => patch(WebApp, name, { spec: { env: [{ name: "C", value: "3" }] } }),
  "without resources": (name) => patch(WebApp, name, { spec: { resources: null } }),
  "impossible resources": (name) =>
    patch(WebApp, name, { spec: { resources: { requests: { cpu: "2" }, limits: { cpu: "1" } } } }),
  scaled: (name) => patch(WebApp, name, { spec: { replicas: 4 } }),
  "Deployment scaled by hand": (name) => patch(Deployment, name, { spec: { replicas: 0 } }),
  "other image by hand": (name) => container(name, { image: "evil:1" }),
  "variable by hand": (name) => container(name, { env: [{ name: "Z", value: "9" }] }),
  "port by hand": (name) => container(name, { ports: [{ containerPort: 1234, protocol: "TCP" }] }),
  "sidecar by hand": (name) => strategic(name, [{ name: "sidecar", image: "envoy:1" }]),
  "foreign label": (name) => patch(Deployment, name, { metadata: { labels: { team: "a" } } }),
  "label removed": (name) => patch(Deployment, name, { metadata: { labels: { app: null } } }),
  "hash removed": (name) => patch(Service, name, { metadata: { annotations: { "homeostat.dev/intent": null } } }),
  "owner removed": (name) => patch(Service, name, { metadata: { ownerReferences: null } }),
  "selector of the Service": (name) => patch(Service, name, { spec: { selector: { app: "other", extra: "x" } } }),
  "port of the Service": (name) =>
    patch(Service, name, { spec: { ports: [{ name: "x", port: 1, targetPort: 1, protocol: "TCP" }] } }),
  "Deployment deleted": (name) => Client.delete(Deployment, key(name)),
  "Deployment orphaned": (name) => Client.delete(Deployment, key(name), { propagation: "Orphan" }),
  "Service deleted": (name) => Client.delete(Service, key(name)),
  "Service replaced": (name) => Effect.andThen(Client.delete(Service, key(name)), foreignService(name, undefined)),
  "status removed": (name) =>
    Client.status.patch(WebApp, key(name), Patch.merge({ status: { conditions: null, phase: null } })),
  "foreign condition": (name) =>
    Effect.flatMap(Client.get(WebApp, key(name)), ({ status }) =>
      Client.status.patch(
        WebApp,
        key(name),
        Patch.merge({
          status: {
            conditions: [
              ...(status?.conditions ?? []),
              {
                type: "Audited",
                status: "True",
                reason: "Checked",
                message: "by hand",
                lastTransitionTime: "2026-11-20T00:00:00Z"
              }
            ]
          }
        })
      )
    ),
  autoscaler: (name) =>
    Client.create(HorizontalPodAutoscaler, {
      metadata: key(name),
      spec: { scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name }, minReplicas: 1, maxReplicas: 5 }
    }),
  "old finalizer and deleted": (name) =>
    Effect.andThen(
      patch(WebApp, name, { metadata: { finalizers: ["apps.kubedojo.io/finalizer"] } }),
      Client.delete(WebApp, key(name))
    ),
  "other finalizer and deleted": (name) =>
    Effect.andThen(
      patch(WebApp, name, { metadata: { finalizers: ["example.com/other"] } }),
      Client.delete(WebApp, key(name))
    ),
  deleted: (name) => Client.delete(WebApp, key(name)),
  "deleted without its children": (name) => Client.delete(WebApp, key(name), { propagation: "Orphan" }),
  "created again with its children": (name) =>
    Effect.andThen(
      Client.delete(WebApp, key(name), { propagation: "Orphan" }),
      Effect.delay(Client.create(WebApp, { metadata: key(name), spec: { image: "nginx:1.30" } }), "5 seconds")
    )
}

/** Objects of other owners with the name of a new WebApp. */
const squatters: { readonly [name: string]: (name: string) => Action } = {
  nothing: () => Effect.void,
  "foreign Deployment": (name) => foreignDeployment(name, undefined),
  "Deployment to adopt": (name) => foreignDeployment(name, { [adoptAnnotation]: "true" }),
  "foreign Service": (name) => foreignService(name, undefined),
  "Service to adopt": (name) => foreignService(name, { [adoptAnnotation]: "true" })
}

const key = (name: string) => ({ namespace, name })

const patch = (kind: Parameters<typeof Client.patch>[0], name: string, change: object): Action =>
  Client.patch(kind, key(name), Patch.merge(change), { fieldManager: "by-hand" })

const strategic = (name: string, containers: ReadonlyArray<object>): Action =>
  Client.patch(Deployment, key(name), Patch.strategic({ spec: { template: { spec: { containers } } } }), {
    fieldManager: "by-hand"
  })

const container = (name: string, change: object): Action => strategic(name, [{ name: "app", ...change }])

const foreignDeployment = (name: string, annotations: { readonly [name: string]: string } | undefined): Action =>
  Client.create(Deployment, {
    metadata: { ...key(name), ...(annotations && { annotations }) },
    spec: {
      selector: { matchLabels: { tier: "web" } },
      template: {
        metadata: { labels: { tier: "web" } },
        spec: { containers: [{ name: "app", image: "old:1", env: [{ name: "OLD", value: "1" }] }] }
      }
    }
  })

const foreignService = (name: string, annotations: { readonly [name: string]: string } | undefined): Action =>
  Client.create(Service, {
    metadata: { ...key(name), ...(annotations && { annotations }) },
    spec: { selector: { tier: "web" }, ports: [{ name: "http", port: 80, targetPort: 8000, protocol: "TCP" }] }
  })

const pick = (all: { readonly [name: string]: (name: string) => Action }) =>
  Effect.map(Random.shuffle(Object.keys(all)), ([...names]) => {
    const [name = ""] = names
    return [name, all[name]] as const
  })

/** Runs the manager until the cluster is at rest, and stops it. */
const managed = (cluster: EmbeddedCluster.EmbeddedCluster, time: VirtualTime.VirtualTime) =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    yield* Effect.forkIn(
      Manager.launch([controller]).pipe(Effect.provide(cluster.transport), Scope.provide(scope)),
      scope
    )
    yield* time.pass("1 minute")
    yield* time.during(Scope.close(scope, Exit.void))
  })

/** Runs a story. Returns its moments right after the last change, and when the cluster is at rest again. */
export const run = (seed: number): Effect.Effect<ReadonlyArray<Moment>> =>
  Effect.suspend(() => {
    const time = VirtualTime.make(Date.parse("2026-11-20T08:00:00Z"))
    const actions: Array<string> = []
    return Effect.gen(function* () {
      const cluster = yield* EmbeddedCluster.make({ seed, crds: [(yield* chance(0.3)) ? older : Crd.of(WebApp)] })
      const act = (text: string, action: Action | undefined) =>
        Effect.map(Effect.exit(Effect.provide(action ?? Effect.void, cluster.client)), (exit) => {
          // The API server rejects some actions, and the story continues without them.
          actions.push(Exit.isSuccess(exit) ? text : `${text} (rejected)`)
        })
      const create = (name: string) =>
        Effect.flatMap(specs, (spec) => act(`${name}: created`, Client.create(WebApp, { metadata: key(name), spec })))
      const names = Array.from(
        { length: yield* Random.nextIntBetween(0, 4, { halfOpen: true }) },
        (_, index) => `old-${index}`
      )
      yield* Effect.forEach(names, create)
      if (names.length > 0) yield* managed(cluster, time)
      for (const name of names) {
        for (let left = yield* Random.nextIntBetween(0, 4, { halfOpen: true }); left > 0; left--) {
          const [text, change] = yield* pick(changes)
          yield* time.during(act(`${name}: ${text}`, change?.(name)))
          if (yield* chance(0.5)) yield* time.pass("20 seconds")
        }
      }
      for (let index = yield* Random.nextIntBetween(0, 3, { halfOpen: true }); index > 0; index--) {
        const name = `new-${index}`
        const [text, squat] = yield* pick(squatters)
        yield* act(`${name}: ${text}`, squat?.(name))
        yield* create(name)
      }
      const moment = (what: string): Moment => ({
        saved: cluster.server.saved(),
        at: time.clock.currentTimeMillisUnsafe(),
        actions: [...actions, what]
      })
      const first = moment("at once")
      yield* time.pass("1 minute")
      return [first, moment("a minute later")]
    }).pipe(
      Effect.scoped,
      time.within,
      Random.withSeed(seed),
      Effect.provideService(References.MinimumLogLevel, "None")
    )
  })

/** Starts a cluster from a moment. Only the program of the test runs in it. */
export const frozen = <A, E>(
  { at, saved }: Moment,
  course: (cluster: EmbeddedCluster.EmbeddedCluster, time: VirtualTime.VirtualTime) => Effect.Effect<A, E, Scope.Scope>
): Effect.Effect<A, E> =>
  Effect.suspend(() => {
    const time = VirtualTime.make(at)
    return EmbeddedCluster.make({ saved, seed: 7, controllers: [], kubelet: false }).pipe(
      Effect.flatMap((cluster) => course(cluster, time)),
      Effect.scoped,
      time.within,
      Random.withSeed(7),
      Effect.provideService(References.MinimumLogLevel, "None")
    )
  })
