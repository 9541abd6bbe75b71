/** The scene of a WebApp test: a namespace with the WebApp controller, and functions for reading and changing it. */
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
   * Starts a manager in this namespace, by default with the WebApp controller. The manager has the permissions of the generated roles. The
   * test fails if the API server rejects a request because of a missing permission.
   */
  readonly manage: (
    controllers?: ReadonlyArray<Controller<Manager.Runtime>>
  ) => Effect.Effect<Managed.Managed, never, Scope.Scope>
}

/** Runs `make` once per control plane, although tests run concurrently. */
export const once = <A>(make: (cluster: ControlPlane) => Effect.Effect<A, unknown>) => {
  const running = new WeakMap<ControlPlane, Promise<Exit.Exit<A, unknown>>>()
  return (cluster: ControlPlane): Effect.Effect<A, unknown> =>
    Effect.suspend(() => {
      const made = running.get(cluster) ?? Effect.runPromiseExit(make(cluster))
      running.set(cluster, made)
      return Effect.flatten(Effect.promise(() => made))
    })
}

/** Installs the CRD once per control plane, because a new kind restarts the garbage collector. */
export const install = once((cluster) => cluster.install(Crd.of(WebApp)))

/** The account of the managers, with the permissions of the generated roles in every namespace. */
const manager = once((cluster) =>
  Effect.flatMap(Granted.account(cluster, "default"), (account) => Effect.as(Granted.grant(account), account.user))
)

/** Returns the scene of an existing namespace. */
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
 * Declares a test on the cluster of the lane. An `empty` scene has no manager, so that the test can start one itself. In a `managed`
 * scene, the WebApp controller is running.
 */
export const { empty, managed } = on(Shared.cluster)

/** Declares a test on a real control plane, which kubectl needs. */
export const real = on(Shared.real)

/** Runs `body` with a manager, and stops the manager when the body ends. */
export const during = <A, E, R>(
  manager: Effect.Effect<Managed.Managed, never, Scope.Scope>,
  body: Effect.Effect<A, E, R>
): Effect.Effect<A, E, Exclude<R, Scope.Scope>> =>
  Effect.flatMap(Scope.make(), (scope) =>
    manager.pipe(
      Scope.provide(scope),
      Effect.andThen(Effect.scoped(body)),
      Effect.ensuring(Scope.close(scope, Exit.void))
    )
  )

type Spec = Parameters<typeof WebApp.Desired>[0]["spec"]

/** Creates a WebApp; without a spec, only with an image. */
export const create = ({ namespace }: Scene, name: string, spec: Spec = { image: "registry.test/web:1" }) =>
  Client.create(WebApp, { metadata: { namespace, name }, spec })

/** Reads the WebApp. */
export const app = ({ key }: Scene, name: string) => Client.get(WebApp, key(name))

/** Reads the Deployment of a WebApp. */
export const deployment = ({ key }: Scene, name: string) => Client.get(Deployment, key(name))

/** Reads the Service of a WebApp. */
export const service = ({ key }: Scene, name: string) => Client.get(Service, key(name))

/** Lists the pods with the WebApp's name in their `app` label. */
export const pods = ({ namespace }: Scene, name: string) =>
  Effect.map(Client.list(Pod, { namespace, labelSelector: `app=${name}` }), ({ items }) => items)

/** Returns the container of a Deployment that runs the image. */
export const containerOf = ({ spec }: Deployment) =>
  spec?.template.spec?.containers.find(({ name }) => name === container)

/** Returns the status of a condition; undefined if the condition does not exist. */
export const condition = ({ status }: WebApp, type: string) => Condition.find(status?.conditions, type)

/** Whether the WebApp has this phase for its current generation. */
export const isAt =
  (phase: string) =>
  ({ metadata, status }: WebApp): boolean =>
    status?.phase === phase && status.observedGeneration === metadata.generation

/** Waits until the WebApp is Running for its current spec. */
export const running = (scene: Scene, name: string) =>
  Managed.eventually(`WebApp ${name} runs`, app(scene, name), isAt("Running"))

/** Creates a WebApp and waits until it is Running. */
export const launch = (scene: Scene, name: string, spec?: Spec) =>
  Effect.andThen(create(scene, name, spec), running(scene, name))

/** An Event with the columns of `kubectl describe`. */
export interface RecordedEvent {
  readonly type: string | undefined
  readonly reason: string | undefined
  readonly note: string | undefined
  readonly count: number
}

/** Lists the Events of a WebApp, the oldest first. */
export const events = ({ namespace }: Scene, name: string) =>
  Effect.map(Client.list(Event, { namespace }), ({ items }) =>
    items
      .filter(({ regarding }) => regarding?.kind === "WebApp" && regarding.name === name)
      .sort((a, b) => (a.eventTime ?? "").localeCompare(b.eventTime ?? ""))
      .map(({ note, reason, series, type }): RecordedEvent => ({ type, reason, note, count: series?.count ?? 1 }))
  )

const resourceVersions = (scene: Scene, name: string) =>
  Effect.map(
    Effect.all([app(scene, name), deployment(scene, name), service(scene, name)], { concurrency: "unbounded" }),
    (objects) => objects.map(({ metadata }) => metadata.resourceVersion)
  )

/** Whether the rollout of a Deployment is complete, and its status reports that. */
export const isRolledOut = ({ metadata, spec, status }: Deployment): boolean =>
  status?.observedGeneration === metadata.generation &&
  (status?.updatedReplicas ?? 0) === spec?.replicas &&
  status?.conditions?.find(({ type }) => type === "Progressing")?.reason === "NewReplicaSetAvailable"

/** Waits until the managers of the scene are idle. */
export const rest = ({ namespace }: Scene) => Effect.suspend(() => Rest.ofAll(Managed.within(namespace)))

/**
 * Waits until the cluster and the managers of this process have no work left for the WebApp. Returns the resourceVersions of the WebApp
 * and its children. Fails if two managers revert each other's writes without end.
 */
export const quiet = (scene: Scene, name: string) =>
  Effect.gen(function* () {
    yield* Managed.eventually(`the rollout of ${name} is over`, deployment(scene, name), isRolledOut)
    yield* rest(scene)
    return yield* resourceVersions(scene, name)
  })

/** Waits until the WebApp is Running, and then until no work is left. */
export const settled = (scene: Scene, name: string) => Effect.andThen(running(scene, name), quiet(scene, name))

/** A state of an object from a watch. */
export interface Seen<A> {
  /** The resourceVersion, which all kinds share. */
  readonly at: bigint
  readonly deleted: boolean
  readonly object: A
}

/** Records every state of the scene's objects of a kind, until the end of the scope. */
export const record = <A extends KubernetesObject>({ namespace }: Scene, kind: Resource.Resource<A, never>) =>
  Effect.gen(function* () {
    const seen: Array<Seen<A>> = []
    const { resourceVersion } = yield* Client.page(kind, { namespace })
    const watch = yield* Client.watch(kind, { namespace, resourceVersion })
    yield* Effect.gen(function* () {
      for (const event of yield* watch.next) {
        if (event.type === "BOOKMARK" || event.type === "ERROR") continue
        const object = yield* Effect.fromResult(kind.decode(event.object))
        seen.push({ at: BigInt(object.metadata.resourceVersion), deleted: event.type === "DELETED", object })
      }
    }).pipe(Effect.forever, Effect.forkScoped)
    return (): ReadonlyArray<Seen<A>> => seen
  })

/** Removes immediate repetitions. */
export const steps = <A>(values: ReadonlyArray<A>): ReadonlyArray<A> =>
  values.filter((value, index) => index === 0 || value !== values[index - 1])
