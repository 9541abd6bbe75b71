/**
 * What each test of WebApps begins with: a namespace of its own, in which the WebApp controller works, and the ways of a user
 * to look at it and to change it.
 */
import { expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import type { Controller } from "@homeostat/runtime/controller/Controller"
import type * as Manager from "@homeostat/runtime/manager/Manager"
import { Deployment, Event, Pod, Service } from "@homeostat/runtime/resource/BuiltIn"
import * as Condition from "@homeostat/runtime/resource/Condition"
import * as Crd from "@homeostat/runtime/resource/Crd"
import type { KubernetesObject, ObjectKey } from "@homeostat/runtime/resource/KubernetesObject"
import type * as Resource from "@homeostat/runtime/resource/Resource"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import * as Envtest from "@homeostat/testkit/envtest/Envtest"
import * as Shared from "@homeostat/testkit/Shared"
import { controller } from "@homeostat/webapp"
import { defaultContainer as container } from "@homeostat/webapp/children"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect, Exit, Scope } from "effect"
import * as Managed from "../Managed.ts"
import * as Rest from "../Rest.ts"
import * as Granted from "../rbac/Granted.ts"

/** A namespace with WebApps. */
export interface Scene {
  readonly cluster: ControlPlane
  readonly namespace: string
  readonly key: (name: string) => ObjectKey
  /**
   * Starts a manager in this namespace, with the WebApp controller unless another is given. It has the rights of the generated
   * roles, and the test fails if it asks for anything that it has no right to.
   */
  readonly manage: (
    controllers?: ReadonlyArray<Controller<Manager.Runtime>>
  ) => Effect.Effect<Managed.Managed, never, Scope.Scope>
}

/** What is made once per control plane, though tests run side by side. */
export const once = <A>(make: (cluster: ControlPlane) => Effect.Effect<A, unknown>) => {
  const running = new WeakMap<ControlPlane, Promise<Exit.Exit<A, unknown>>>()
  return (cluster: ControlPlane): Effect.Effect<A, unknown> =>
    Effect.suspend(() => {
      const made = running.get(cluster) ?? Effect.runPromiseExit(make(cluster))
      running.set(cluster, made)
      return Effect.flatten(Effect.promise(() => made))
    })
}

/** The kind is installed once per control plane: a new kind restarts the garbage collector. */
export const install = once((cluster) => cluster.install(Crd.of(WebApp)))

/** Who the managers are: an account that may do what the generated roles say, in every namespace, and nothing else. */
const manager = once((cluster) =>
  Effect.flatMap(Granted.account(cluster, "default"), (account) => Effect.as(Granted.grant(account), account.user))
)

/** The scene in a namespace that is there. */
export const of = (cluster: ControlPlane, namespace: string): Scene => ({
  cluster,
  namespace,
  key: (name) => ({ namespace, name }),
  manage: (controllers = [controller]) =>
    Effect.orDie(manager(cluster)).pipe(
      Effect.flatMap((user) => Managed.start(cluster, controllers, { namespaces: [namespace], user })),
      Effect.tap(({ refused }) => Effect.addFinalizer(() => Effect.sync(() => expect(refused()).toEqual([]))))
    )
})

type Body<Place, A, E> = (place: Place) => Effect.Effect<A, E, Scope.Scope | Client.Client>

const on = (test: typeof Shared.cluster) => {
  const empty = <A, E>(name: string, body: Body<Scene, A, E>, timeoutMillis?: number): void =>
    test(
      name,
      (cluster) =>
        Effect.gen(function* () {
          yield* install(cluster)
          const scene = of(cluster, yield* cluster.namespace("webapp"))
          return yield* Effect.provide(body(scene), yield* Managed.client(cluster))
        }),
      { ...Envtest.everything, timeoutMillis }
    )
  const managed = <A, E>(
    name: string,
    body: Body<Scene & { readonly manager: Managed.Managed }, A, E>,
    timeoutMillis?: number
  ): void =>
    empty(name, (scene) => Effect.flatMap(scene.manage(), (manager) => body({ ...scene, manager })), timeoutMillis)
  return { empty, managed }
}

/**
 * A test on the cluster of the lane; `empty` is a scene without a manager, for those that start one when it suits them, in a
 * `managed` one the WebApp controller is at work.
 */
export const { empty, managed } = on(Shared.cluster)

/** The same on a real control plane, for those that need kubectl. */
export const real = on(Shared.real)

/** Runs with a manager that is stopped when the body ends. */
export const during = <A, E, R>(
  manager: Effect.Effect<Managed.Managed, never, Scope.Scope>,
  body: Effect.Effect<A, E, R>
): Effect.Effect<A, E, Exclude<R, Scope.Scope>> =>
  Effect.flatMap(Scope.make(), (scope) =>
    manager.pipe(
      Scope.extend(scope),
      Effect.zipRight(Effect.scoped(body)),
      Effect.ensuring(Scope.close(scope, Exit.void))
    )
  )

type Spec = Parameters<typeof WebApp.Desired>[0]["spec"]

/** Makes a WebApp; without a spec, one that says its image and nothing else. */
export const create = ({ namespace }: Scene, name: string, spec: Spec = { image: "registry.test/web:1" }) =>
  Client.create(WebApp, { metadata: { namespace, name }, spec })

/** The WebApp as it is. */
export const app = ({ key }: Scene, name: string) => Client.get(WebApp, key(name))

/** Its Deployment. */
export const deployment = ({ key }: Scene, name: string) => Client.get(Deployment, key(name))

/** Its Service. */
export const service = ({ key }: Scene, name: string) => Client.get(Service, key(name))

/** The pods with its name as their `app` label. */
export const pods = ({ namespace }: Scene, name: string) =>
  Effect.map(Client.list(Pod, { namespace, labelSelector: `app=${name}` }), ({ items }) => items)

/** The container of a Deployment that runs the image. */
export const containerOf = ({ spec }: Deployment) =>
  spec?.template.spec?.containers.find(({ name }) => name === container)

/** The status of a condition; undefined while there is none. */
export const condition = ({ status }: WebApp, type: string) => Condition.find(status?.conditions, type)

/** A phase and the generation that it speaks of is the present one. */
export const isAt =
  (phase: string) =>
  ({ metadata, status }: WebApp): boolean =>
    status?.phase === phase && status.observedGeneration === metadata.generation

/** Waits until the WebApp runs as its present spec says. */
export const running = (scene: Scene, name: string) =>
  Managed.eventually(`WebApp ${name} runs`, app(scene, name), isAt("Running"))

/** Makes a WebApp and waits until it runs. */
export const launch = (scene: Scene, name: string, spec?: Spec) =>
  Effect.zipRight(create(scene, name, spec), running(scene, name))

/** An Event as a reader of `kubectl describe` sees it. */
export interface Told {
  readonly type: string | undefined
  readonly reason: string | undefined
  readonly note: string | undefined
  readonly count: number
}

/** What was told about a WebApp, oldest first. */
export const events = ({ namespace }: Scene, name: string) =>
  Effect.map(Client.list(Event, { namespace }), ({ items }) =>
    items
      .filter(({ regarding }) => regarding?.kind === "WebApp" && regarding.name === name)
      .sort((a, b) => (a.eventTime ?? "").localeCompare(b.eventTime ?? ""))
      .map(({ note, reason, series, type }): Told => ({ type, reason, note, count: series?.count ?? 1 }))
  )

const resourceVersions = (scene: Scene, name: string) =>
  Effect.map(
    Effect.all([app(scene, name), deployment(scene, name), service(scene, name)], { concurrency: "unbounded" }),
    (objects) => objects.map(({ metadata }) => metadata.resourceVersion)
  )

/** Whether the cluster has rolled out what a Deployment says, and has reported all of that. */
export const isRolledOut = ({ metadata, spec, status }: Deployment): boolean =>
  status?.observedGeneration === metadata.generation &&
  (status?.updatedReplicas ?? 0) === spec?.replicas &&
  status?.conditions?.find(({ type }) => type === "Progressing")?.reason === "NewReplicaSetAvailable"

/** Waits until the managers of the scene have nothing left to do. */
export const rest = ({ namespace }: Scene) => Effect.suspend(() => Rest.ofAll(Managed.within(namespace)))

/**
 * Waits until neither the cluster nor a manager of this process has anything left to do for the WebApp, and gives the
 * resourceVersions of it and its children. Fails where that does not come: two managers that undo each other's writes go on.
 */
export const quiet = (scene: Scene, name: string) =>
  Effect.gen(function* () {
    yield* Managed.eventually(`the rollout of ${name} is over`, deployment(scene, name), isRolledOut)
    yield* rest(scene)
    return yield* resourceVersions(scene, name)
  })

/** Waits until the WebApp runs, and then until nothing is left to do. */
export const settled = (scene: Scene, name: string) => Effect.zipRight(running(scene, name), quiet(scene, name))

/** A state of an object, as a watch told of it. */
export interface Seen<A> {
  /** Where it stands in the history of the cluster: counted over all kinds. */
  readonly at: bigint
  readonly deleted: boolean
  readonly object: A
}

/** Records every state of the scene's objects of a kind from now on, to the end of the scope. */
export const record = <A extends KubernetesObject>({ namespace }: Scene, kind: Resource.Resource<A, never>) =>
  Effect.gen(function* () {
    const seen: Array<Seen<A>> = []
    const { resourceVersion } = yield* Client.page(kind, { namespace })
    const watch = yield* Client.watch(kind, { namespace, resourceVersion })
    yield* Effect.gen(function* () {
      for (const event of yield* watch.next) {
        if (event.type === "BOOKMARK" || event.type === "ERROR") continue
        const object = yield* kind.decode(event.object)
        seen.push({ at: BigInt(object.metadata.resourceVersion), deleted: event.type === "DELETED", object })
      }
    }).pipe(Effect.forever, Effect.forkScoped)
    return (): ReadonlyArray<Seen<A>> => seen
  })

/** The values without immediate repetitions. */
export const steps = <A>(values: ReadonlyArray<A>): ReadonlyArray<A> =>
  values.filter((value, index) => index === 0 || value !== values[index - 1])
