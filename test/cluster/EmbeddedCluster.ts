/**
 * A whole Kubernetes cluster in this process: an API server, the controllers of Kubernetes, a scheduler and a node.
 *
 * It needs no installed programs and, without `serve`, no network. It takes all time from Effect's Clock: a TestClock stands still until
 * the test moves it. It rejects an unsupported request with a Status that names the request.
 */
import * as NodeFileSystem from "@effect/platform-node-shared/NodeFileSystem"
import * as ApiServer from "@homeostat/apiserver/http/ApiServer"
import * as Http from "@homeostat/apiserver/http/Http"
import * as Failure from "@homeostat/apiserver/model/Failure"
import type { JsonObject } from "@homeostat/apiserver/model/Json"
import * as Json from "@homeostat/apiserver/model/Json"
import { namespaceOf } from "@homeostat/apiserver/model/ObjectMeta"
import * as User from "@homeostat/apiserver/model/User"
import type { Streamed } from "@homeostat/apiserver/rest/Watch"
import * as Step from "@homeostat/apiserver/storage/Step"
import type { Saved } from "@homeostat/apiserver/storage/Store"
import type * as Outside from "@homeostat/apiserver/webhook/Outside"
import * as Client from "@homeostat/runtime/client/Client"
import type { Transport } from "@homeostat/runtime/client/Transport"
import * as Crd from "@homeostat/runtime/resource/Crd"
import type * as CustomResource from "@homeostat/runtime/resource/CustomResource"
import type * as Admission from "@homeostat/runtime/webhook/Admission"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { clusterRoleAggregation } from "./controllers/ClusterRoleAggregation.ts"
import * as Controllers from "./controllers/Controllers.ts"
import * as Loop from "./controllers/Loop.ts"
import * as Kubelet from "./kubelet/Kubelet.ts"
import * as Memory from "./Memory.ts"
import * as Webhooks from "./Webhooks.ts"

/** The parts of a cluster. */
export interface Options extends Omit<ApiServer.Options, "aggregatedRoles" | "inside"> {
  /** The CustomResourceDefinitions that it starts with: `Crd.of(Kind)`. */
  readonly crds?: ReadonlyArray<object> | undefined
  /** The kinds with several versions that it starts with. It calls their conversions in this process. */
  readonly converted?: ReadonlyArray<CustomResource.Any> | undefined
  /**
   * The webhooks and policies of a program: `Admission.validate(Kind, …)`. The API server calls the webhooks in this process as soon as
   * the cluster exists. The cluster has the configurations that the program would write. Webhooks may use the client. Default: none.
   */
  readonly webhooks?: ReadonlyArray<Admission.Admission<Client.Client>> | undefined
  /**
   * The names of the controllers to run, as in kube-controller-manager, and `scheduler`. Default: all. An unknown name stops the start.
   */
  readonly controllers?: ReadonlyArray<string> | undefined
  /** The certificates (PEM) of the API server for the ConfigMap `kube-root-ca.crt` of each namespace. Default: none. */
  readonly certificates?: string | undefined
  /** True if the controllers and nodes write Events. Default: true. */
  readonly events?: boolean | undefined
  /** One node or several. Default: one that simulates every pod. `false`: no node, so no pod runs. */
  readonly kubelet?: Kubelet.Options | ReadonlyArray<Kubelet.Options> | false | undefined
}

/** The transport and the client of one user. */
export interface Access {
  readonly transport: Layer.Layer<Transport>
  readonly client: Layer.Layer<Client.Client>
}

/** A cluster, until the end of its Scope. */
export interface EmbeddedCluster extends Access {
  /** The API server. A restore also restarts the controllers. The nodes continue with the restored pods. */
  readonly server: ApiServer.ApiServer
  /** The transport in memory, for a client or a manager. Its user is an administrator. */
  readonly transport: Layer.Layer<Transport>
  /** A client on that transport. */
  readonly client: Layer.Layer<Client.Client>
  /**
   * The transport and the client of another user, who has the permissions of the roles: `cluster.as({ name: "ann", groups: ["devs"] })`.
   * The user is also in the groups that kube-apiserver adds, such as `system:authenticated`.
   */
  readonly as: (user: User.User) => Access
  /**
   * Creates roles and bindings, such as `Rbac.of([controller])`, and their missing namespaces. Returns the access of the subject of the
   * first binding. Without objects, it returns the access of a user without permissions.
   */
  readonly bind: (roles: ReadonlyArray<object>) => Effect.Effect<Access>
  /** Adds these webhooks. They use the client of this user. */
  readonly admit: (
    webhooks: ReadonlyArray<Admission.Admission<Client.Client>>,
    as: Access
  ) => Effect.Effect<void, never, Scope.Scope>
  /** The node, or the first of several. */
  readonly kubelet: Kubelet.Kubelet | undefined
  /** Waits until the controllers have nothing left to do at the present time. */
  readonly idle: Effect.Effect<void>
  /** Also serves the cluster over HTTP. Default: on the loopback with a free port. Returns the URL. */
  readonly serve: (options?: Http.Options) => Effect.Effect<string, Http.ListenFailed, Scope.Scope>
}

/**
 * Makes a cluster, and starts its controllers, scheduler and nodes.
 *
 * @example
 * ```ts
 * import { BuiltIn, Client } from "@homeostat/runtime"
 * import * as EmbeddedCluster from "@homeostat/testkit/EmbeddedCluster"
 * import { live } from "@homeostat/testkit/Test"
 * import { Effect } from "effect"
 *
 * live("the cluster answers", () =>
 *   Effect.gen(function* () {
 *     const cluster = yield* EmbeddedCluster.make()
 *     yield* Effect.provide(Client.get(BuiltIn.Namespace, { name: "default" }), cluster.client)
 *   })
 * )
 * ```
 */
export const make = (options: Options = {}): Effect.Effect<EmbeddedCluster, never, Scope.Scope> =>
  Effect.gen(function* () {
    const controllers = Controllers.named(options.controllers, options)
    const { events = true, webhooks = [] } = options
    const endpoints = new Map<string, ReturnType<Outside.Inside>>()
    const started = yield* ApiServer.make({
      ...options,
      aggregatedRoles: controllers.includes(clusterRoleAggregation),
      inside: (url) => endpoints.get(url)
    })
    const { converted = [] } = options
    if (converted.length > 0) {
      const { endpoint, url } = Webhooks.conversion(converted)
      endpoints.set(url, (body) => Effect.map(endpoint(body), (reply) => reply.body))
      yield* create(
        started,
        converted.map((kind) => Crd.of(kind, { url }))
      )
    }
    yield* create(started, options.crds ?? [])
    const { idle, restart } = yield* Loop.start(started, controllers, { events })
    const restore = (saved: Saved) => Effect.andThen(started.restore(saved), restart)
    const server: ApiServer.ApiServer = { ...started, restore }
    const accessOf = (user: User.User | undefined): Access => {
      const transport = Memory.layer(server, { user })
      return { transport, client: Layer.provide(Client.layer(), transport) }
    }
    const { client, transport } = accessOf(undefined)
    const nodes = options.kubelet === false ? [] : [options.kubelet ?? {}].flat()
    const ofKubelets = Layer.merge(
      Layer.provide(Client.layer({ userAgent: "kubelet" }), transport),
      NodeFileSystem.layer
    )
    const kubelets =
      nodes.length === 0
        ? []
        : yield* Effect.provide(
            Effect.forEach(nodes, (node) => Kubelet.start({ events, ...node })),
            yield* Layer.build(ofKubelets)
          )
    if (kubelets.length > 0) serveLogs(server, kubelets)
    const bound = new Map<string, Access>()
    const bind: EmbeddedCluster["bind"] = (roles) =>
      Effect.gen(function* () {
        const key = JSON.stringify(roles)
        const before = bound.get(key)
        if (before !== undefined) return before
        const objects: ReadonlyArray<JsonObject> = JSON.parse(key)
        if (subjectsOf(objects).length === 0 && objects.length > 0)
          return yield* Effect.die(new Error("no binding with a subject"))
        const namespaces = [...new Set(objects.map(namespaceOf))].filter(
          (name) => name !== "" && server.store.get("/namespaces", "", name) === undefined
        )
        yield* create(server, [
          ...namespaces.map((name) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } })),
          ...objects
        ])
        const own = accessOf(User.complete(subjectOf(objects)))
        bound.set(key, own)
        return own
      })
    const admit: EmbeddedCluster["admit"] = (webhooks, as) =>
      Effect.gen(function* () {
        const services = yield* Layer.build(as.client)
        yield* create(server, Webhooks.objects(webhooks))
        for (const [url, endpoint] of Webhooks.endpoints(webhooks)) {
          endpoints.set(url, (body) =>
            Effect.provide(
              Effect.map(endpoint(body), (reply) => reply.body),
              services
            )
          )
        }
      })
    if (webhooks.length > 0) yield* admit(webhooks, { client, transport })
    return {
      server,
      transport,
      client,
      as: (user) => accessOf(User.complete(user)),
      bind,
      admit,
      kubelet: kubelets[0],
      idle,
      serve: (http) => Effect.map(Http.serve(server, http), ({ url }) => url)
    }
  })

const subjectsOf = (objects: ReadonlyArray<JsonObject>): ReadonlyArray<JsonObject> =>
  objects.flatMap(({ subjects }) => Json.objects(subjects))

/**
 * Returns the subject of the first binding as a user.
 *
 * @internal
 */
export const subjectOf = (roles: ReadonlyArray<object>): User.User => {
  const [subject] = subjectsOf(JSON.parse(JSON.stringify(roles)))
  const { kind = "ServiceAccount", name = "manager", namespace = "default" } = Json.texts(subject)
  return { name: kind === "ServiceAccount" ? User.serviceAccountName(namespace, name) : name, groups: [] }
}

/**
 * Creates objects, which the server stores at once. Dies if it rejects one of them.
 *
 * @internal
 */
export const create = ({ registry, verbs }: ApiServer.ApiServer, wanted: ReadonlyArray<object>): Effect.Effect<void> =>
  Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    // The objects pass through JSON, as over the network.
    const objects: ReadonlyArray<JsonObject> = JSON.parse(JSON.stringify(wanted))
    for (const object of objects) {
      const kind = registry.named(Json.text(object.apiVersion) ?? "", Json.text(object.kind) ?? "")
      if (kind === undefined) continue
      yield* Step.run(Step.make(), () => verbs.create(kind, namespaceOf(object), object, { now, manager: "homeostat" }))
    }
  }).pipe(Effect.orDie)

const serveLogs = (server: ApiServer.ApiServer, kubelets: ReadonlyArray<Kubelet.Kubelet>): void =>
  server.serveLogs((pod, { container, follow, tailLines }) => {
    const { name, namespace } = Json.object(pod.metadata)
    const { nodeName } = Json.object(pod.spec)
    const kubelet = kubelets.find((kubelet) => kubelet.name === nodeName) ?? kubelets[0]
    if (kubelet === undefined) return Effect.succeed("")
    const request = { namespace: Json.text(namespace) ?? "", name: Json.text(name) ?? "", container, tailLines }
    const log: Effect.Effect<string | Streamed, Kubelet.NoLog> = follow
      ? Effect.map(kubelet.follow(request), (next) => ({ next, close: Effect.void }))
      : kubelet.logs(request)
    return Effect.mapError(log, ({ message }) => Failure.badRequest(message))
  })
