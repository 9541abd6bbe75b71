/**
 * A manager with the WebApp controller that reaches the API server only through a TCP proxy. A test can disturb the proxy and kill the
 * programs of the control plane. The test's own client bypasses the proxy.
 */

import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import { Deployment, Service } from "@homeostat/runtime/resource/BuiltIn"
import * as Crd from "@homeostat/runtime/resource/Crd"
import type { ObjectKey } from "@homeostat/runtime/resource/KubernetesObject"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import type * as Envtest from "@homeostat/testkit/envtest/Envtest"
import type { User } from "@homeostat/testkit/envtest/User"
import * as Shared from "@homeostat/testkit/Shared"
import * as TcpProxy from "@homeostat/testkit/TcpProxy"
import * as VirtualTime from "@homeostat/testkit/VirtualTime"
import { controller } from "@homeostat/webapp"
import { defaultContainer as container } from "@homeostat/webapp/children"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Clock, Duration, Effect, type Scope } from "effect"
import * as Managed from "../Managed.ts"
import * as Counted from "../runtime/Counted.ts"

/** The control plane of these tests. The garbage collector deletes the children of deleted WebApps. */
export const plane: Envtest.Options = { controllers: ["garbage-collector-controller"] }

/** A running manager, and the proxy and the cluster that a test can disturb. */
export interface Wired {
  readonly cluster: ControlPlane
  readonly namespace: string
  readonly proxy: TcpProxy.TcpProxy
  readonly manager: Counted.Counted
  /** Advances the manager's clock at once. */
  readonly leap: VirtualTime.LeapingTime["leap"]
}

/** The start of a test. */
export interface Options extends Envtest.Options {
  /** The number of WebApps that have converged when the test begins. Default: 5. */
  readonly apps?: number | undefined
  /** The user of the manager. Default: the administrator. */
  readonly user?: (cluster: ControlPlane, namespace: string) => Effect.Effect<User, unknown, Client.Client>
  /** The time limit of the test. Default: 120 000 ms. */
  readonly timeoutMillis?: number | undefined
}

const on =
  (test: typeof Shared.cluster) =>
  <A, E>(
    name: string,
    body: (wired: Wired) => Effect.Effect<A, E, Scope.Scope | Client.Client>,
    { apps = 5, user = (cluster) => Effect.succeed(cluster.admin), ...options }: Options = {}
  ): void =>
    test(
      name,
      (cluster) =>
        Effect.gen(function* () {
          yield* cluster.install(Crd.of(WebApp))
          const namespace = yield* cluster.namespace("faults")
          const proxy = yield* TcpProxy.make({ port: Number(new URL(cluster.url).port) })
          const { clock, leap } = VirtualTime.leaping()
          const access = yield* user(cluster, namespace)
          const manager = yield* Counted.start(behind(proxy, access), [controller], { namespaces: [namespace] }).pipe(
            Effect.provideService(Clock.Clock, clock)
          )
          yield* Counted.started(manager)
          const wired = { cluster, namespace, proxy, manager, leap }
          yield* create(wired, "app", apps)
          yield* converged(wired)
          return yield* body(wired)
        }).pipe((test) => Effect.flatMap(Managed.client(cluster), (client) => Effect.provide(test, client))),
      { ...plane, timeoutMillis: 120_000, ...options }
    )

/** Declares a test with a manager behind a TCP proxy. */
export const wired = on(Shared.cluster)

/** Declares the same test on a real control plane, for tests that kill the API server or need other flags. */
export const real = on(Shared.real)

/** The same user, with the proxy's address as the server. */
export const behind = (proxy: TcpProxy.TcpProxy, user: User): User => ({ ...user, server: proxy.instead(user.server) })

/** Creates `count` WebApps, named `prefix-0`, `prefix-1` and so on. */
export const create = ({ namespace }: Pick<Wired, "namespace">, prefix: string, count: number) =>
  Effect.forEach(
    Array.from({ length: count }, (_, index) => `${prefix}-${index}`),
    (name) =>
      Client.create(WebApp, { metadata: { namespace, name }, spec: { image: "registry.test/web:1", replicas: 1 } }),
    { concurrency: 8 }
  )

/** Changes the image of a WebApp, as a user does. */
export const want = (key: ObjectKey, image: string) => Client.patch(WebApp, key, Patch.merge({ spec: { image } }))

/** The differences between the WebApps of a namespace and their children, one line each. */
export const strays = (namespace: string) =>
  Effect.gen(function* () {
    const [apps, deployments, services] = yield* Effect.all(
      [Client.list(WebApp, { namespace }), Client.list(Deployment, { namespace }), Client.list(Service, { namespace })],
      { concurrency: "unbounded" }
    )
    const named = <A extends { readonly metadata: { readonly name: string } }>(items: ReadonlyArray<A>) =>
      new Map(items.map((item) => [item.metadata.name, item]))
    const [deployed, served] = [named(deployments.items), named(services.items)]
    return apps.items.flatMap(({ metadata, spec, status }) => {
      const deployment = deployed.get(metadata.name)
      const image = deployment?.spec?.template.spec?.containers.find(({ name }) => name === container)?.image
      const port = served.get(metadata.name)?.spec?.ports?.[0]?.port
      return [
        image === spec.image ? [] : `${metadata.name} has image ${image} instead of ${spec.image}`,
        deployment?.spec?.replicas === spec.replicas
          ? []
          : `${metadata.name} has ${deployment?.spec?.replicas} replicas`,
        port === spec.port ? [] : `${metadata.name} has port ${port}`,
        status?.observedGeneration === metadata.generation ? [] : `${metadata.name} says nothing of its present spec`
      ].flat()
    })
  })

/** Waits until all children match their WebApps. Fails after `timeout`. */
export const converged = (
  { namespace }: Pick<Wired, "namespace">,
  timeout: Duration.Input = "60 seconds"
): Effect.Effect<unknown, Managed.NotSo, Client.Client> =>
  Managed.eventually("that nothing strays", strays(namespace), ({ length }) => length === 0, timeout)

/** The state and the counters of the manager's informers, with the kind of each. An optional kind that is not served has none. */
export const informers = ({ manager }: Pick<Wired, "manager">) =>
  // A kind that is owned and watched has one informer.
  [...new Set(manager.runners.flatMap(({ informers }) => informers))]
    .filter((informer) => !informer.isAbsent())
    .map((informer) => ({ kind: informer.resource.kind, size: informer.store.size(), ...informer.state() }))

/** The number of requests that the manager has sent, with watches. */
export const sent = ({ manager }: Pick<Wired, "manager">): number => manager.requests.length + manager.watches.length

/**
 * Advances the manager's clock in steps of 250 ms. After each step it waits until every pending request has a response or an error. The
 * API server must therefore answer or refuse connections.
 */
export const pass = ({ leap, manager }: Pick<Wired, "leap" | "manager">, duration: Duration.Input) =>
  Effect.repeat(
    Effect.andThen(
      leap("250 millis"),
      Managed.eventually("that every request has its answer", Effect.sync(manager.pending), (count) => count === 0)
    ),
    { times: Math.ceil(Duration.toMillis(duration) / 250) - 1 }
  )

/** The sum of a metric of the manager over all series with these labels. */
export const metric = (
  { manager }: { readonly manager: Counted.Counted },
  name: string,
  labels: { readonly [label: string]: string } = {}
): number => {
  const family = manager.metrics().find(({ metric }) => metric.name === name)
  const matching = (family?.series ?? []).filter((series) =>
    Object.entries(labels).every(
      ([label, value]) => series.labels[family?.metric.labels.indexOf(label) ?? -1] === value
    )
  )
  return matching.reduce((sum, series) => sum + ("value" in series ? series.value : 0), 0)
}
