/**
 * A manager with the WebApp controller whose only way to the API server is a wire that can be damaged, on a control plane
 * whose programs may be killed. The test itself has a way of its own.
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
import { Duration, Effect, type Scope } from "effect"
import * as Managed from "../Managed.ts"
import * as Counted from "../runtime/Counted.ts"

/** What these tests run on: a control plane of their own, as they kill it, with what takes away the children of the deleted. */
export const plane: Envtest.Options = { controllers: ["garbage-collector-controller"] }

/** Where a test damages things. */
export interface Wired {
  readonly cluster: ControlPlane
  readonly namespace: string
  readonly proxy: TcpProxy.TcpProxy
  readonly manager: Counted.Counted
  /** The manager's time passes at once. */
  readonly leap: VirtualTime.LeapingTime["leap"]
}

/** How a test begins. */
export interface Options extends Envtest.Options {
  /** WebApps that are there, and converged, when the test begins; default 5. */
  readonly apps?: number | undefined
  /** Who the manager is; default the administrator. */
  readonly user?: (cluster: ControlPlane, namespace: string) => Effect.Effect<User, unknown, Client.Client>
  /** Default 120 000. */
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
            Effect.withClock(clock)
          )
          yield* Counted.started(manager)
          const wired = { cluster, namespace, proxy, manager, leap }
          yield* create(wired, "app", apps)
          yield* converged(wired)
          return yield* body(wired)
        }).pipe((test) => Effect.flatMap(Managed.client(cluster), (client) => Effect.provide(test, client))),
      { ...plane, timeoutMillis: 120_000, ...options }
    )

/** A test with a manager at work, behind a wire. */
export const wired = on(Shared.cluster)

/** The same on a real control plane, for those that kill it, or need another one than the usual. */
export const real = on(Shared.real)

/** The user, at the other end of the wire. */
export const behind = (proxy: TcpProxy.TcpProxy, user: User): User => ({ ...user, server: proxy.instead(user.server) })

/** Makes WebApps, called `prefix-0` and so on. */
export const create = ({ namespace }: Pick<Wired, "namespace">, prefix: string, count: number) =>
  Effect.forEach(
    Array.from({ length: count }, (_, index) => `${prefix}-${index}`),
    (name) =>
      Client.create(WebApp, { metadata: { namespace, name }, spec: { image: "registry.test/web:1", replicas: 1 } }),
    { concurrency: 8 }
  )

/** A user wants another image. */
export const want = (key: ObjectKey, image: string) => Client.patch(WebApp, key, Patch.merge({ spec: { image } }))

/** What is not as the WebApps of a namespace say, one line each. */
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

/** Waits until all is as the WebApps say. */
export const converged = (
  { namespace }: Pick<Wired, "namespace">,
  timeout: Duration.DurationInput = "60 seconds"
): Effect.Effect<unknown, Managed.NotSo, Client.Client> =>
  Managed.eventually("that nothing strays", strays(namespace), ({ length }) => length === 0, timeout)

/** How the manager's informers are doing: by kind, what they counted. */
export const informers = ({ manager }: Pick<Wired, "manager">) =>
  manager.runners
    .flatMap(({ informers }) => informers)
    .map((informer) => ({ kind: informer.resource.kind, size: informer.store.size(), ...informer.state() }))

/** What the manager has sent so far, watches too. */
export const sent = ({ manager }: Pick<Wired, "manager">): number => manager.requests.length + manager.watches.length

/**
 * Lets the manager's time pass, a quarter of a second after another. Each time this waits until the requests that fell due are
 * answered or refused, so that a server has to do one of the two.
 */
export const pass = ({ leap, manager }: Pick<Wired, "leap" | "manager">, duration: Duration.DurationInput) =>
  Effect.repeatN(
    Effect.zipRight(
      leap("250 millis"),
      Managed.eventually("that every request has its answer", Effect.sync(manager.pending), (count) => count === 0)
    ),
    Math.ceil(Duration.toMillis(duration) / 250) - 1
  )

/** A metric of the manager's, summed over its series with these labels. */
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
