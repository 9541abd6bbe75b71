/** The generated roles are what running takes: enough for everything, and nothing that is not used. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import * as Election from "@homeostat/runtime/command/Election"
import * as Permission from "@homeostat/runtime/manager/Permission"
import { Deployment, HorizontalPodAutoscaler, Lease, Service } from "@homeostat/runtime/resource/BuiltIn"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import * as Envtest from "@homeostat/testkit/envtest/Envtest"
import * as Shared from "@homeostat/testkit/Shared"
import { adoptAnnotation } from "@homeostat/webapp"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect, Exit, Scope } from "effect"
import * as Managed from "../Managed.ts"
import * as Counted from "../runtime/Counted.ts"
import * as Kubectl from "../webapp/Kubectl.ts"
import * as Scene from "../webapp/Scene.ts"
import * as Audit from "./Audit.ts"
import * as Granted from "./Granted.ts"

/**
 * The audit log tells who asked for what. Without WatchList, as on many a server before 1.34, the first state is a list; with it,
 * `list` would be granted and not used.
 */
const options: Envtest.Options = {
  ...Envtest.everything,
  audit: true,
  apiServerFlags: ["--feature-gates=WatchList=false"]
}

const real = <A, E>(
  name: string,
  body: (cluster: ControlPlane) => Effect.Effect<A, E, Scope.Scope | Client.Client>
): void =>
  Shared.real(
    name,
    (cluster) =>
      Effect.gen(function* () {
        yield* Scene.install(cluster)
        return yield* Effect.provide(body(cluster), yield* Managed.client(cluster))
      }),
    { ...options, timeoutMillis: 240_000 }
  )

/** Starts a manager with a scope of its own, to be stopped in order. */
const start = (account: Granted.Account, labelSelector?: string) =>
  Effect.gen(function* () {
    const scope = yield* Effect.acquireRelease(Scope.make(), (scope) => Scope.close(scope, Exit.void))
    const working = yield* Scope.extend(Granted.start(account, labelSelector), scope)
    return { ...working, stop: Scope.close(scope, Exit.void) }
  })

type Started = Effect.Effect.Success<ReturnType<typeof start>>

const leads = ({ leads }: Started) => Managed.eventually("that it leads", Effect.sync(leads), (does) => does)

const failed = (scene: Scene.Scene, name: string) =>
  Managed.eventually(`that WebApp ${name} is stalled`, Scene.app(scene, name), Scene.isAt("Failed"))

const adopt = Patch.merge({ metadata: { annotations: { [adoptAnnotation]: "true" } } })

/** Made, changed, drifted, rid of what a stranger added, scaled by another, deleted with all that it has. */
const life = (scene: Scene.Scene) =>
  Effect.gen(function* () {
    const key = scene.key("shop")
    yield* Scene.launch(scene, "shop", { image: "registry.test/web:1" })
    yield* Client.patch(WebApp, key, Patch.merge({ spec: { port: 9090 } }))
    yield* Managed.eventually(
      "the new port",
      Scene.service(scene, "shop"),
      ({ spec }) => spec?.ports?.map(({ port }) => port).join() === "9090"
    )
    yield* Client.patch(Service, key, Patch.merge({ spec: { selector: { stranger: "yes" } } }))
    yield* Managed.eventually(
      "that the stranger is out",
      Scene.service(scene, "shop"),
      ({ spec }) => spec?.selector?.stranger === undefined
    )
    // Twice the same, which is told by one Event that is counted up.
    const { metadata } = yield* Scene.service(scene, "shop")
    yield* Client.delete(Service, key)
    yield* Managed.eventually(
      "a new Service",
      Scene.service(scene, "shop"),
      (service) => service.metadata.uid !== metadata.uid
    )
    yield* Client.create(HorizontalPodAutoscaler, {
      metadata: { namespace: scene.namespace, name: "shop" },
      spec: { scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "shop" }, maxReplicas: 5 }
    })
    yield* Client.patch(Deployment, key, Patch.merge({ spec: { replicas: 3 } }))
    yield* Managed.eventually(
      "the autoscaler's replicas",
      Scene.app(scene, "shop"),
      ({ status }) => status?.availableReplicas === 3
    )
    yield* Kubectl.run(scene, ["delete", "webapp/shop", "--wait=true", "--timeout=60s"])
  })

/** A name that is taken and given away; one that an older controller's finalizer holds. */
const inheritance = (scene: Scene.Scene) =>
  Effect.gen(function* () {
    const { namespace } = scene
    yield* Client.create(Service, { metadata: { namespace, name: "adopted" }, spec: { ports: [{ port: 1 }] } })
    yield* Scene.create(scene, "adopted")
    yield* failed(scene, "adopted")
    yield* Client.patch(Service, scene.key("adopted"), adopt)
    yield* Scene.running(scene, "adopted")

    yield* Client.create(WebApp, {
      metadata: { namespace, name: "old", finalizers: ["apps.kubedojo.io/finalizer"] },
      spec: { image: "registry.test/web:1", replicas: 1 }
    })
    yield* Scene.running(scene, "old")
    yield* Kubectl.run(scene, ["delete", "webapp/old", "--wait=true", "--timeout=60s"])
  })

/** Names that somebody takes in the moment in which the controller makes its children, before it can have heard of it. */
const raced = (scene: Scene.Scene, { deafen, listen }: Started) =>
  Effect.gen(function* () {
    const metadata = { namespace: scene.namespace, name: "raced" }
    const labels = { app: "somebody" }
    yield* deafen(["deployments", "services"])
    yield* Client.create(Deployment, {
      metadata,
      spec: {
        replicas: 1,
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: { containers: [{ name: "app", image: "registry.test/other:1" }] }
        }
      }
    })
    yield* Client.create(Service, { metadata, spec: { selector: labels, ports: [{ port: 1 }] } })
    yield* Scene.create(scene, "raced")
    yield* failed(scene, "raced")
    yield* listen
  })

const expected = (account: Granted.Account) =>
  Audit.distinct(
    Granted.permissions(account).map((right) => `${right.verb} ${Permission.pathOf(right)} ${right.group}`)
  )

/** Nothing was refused, and what was asked for is what the roles grant. */
const check = (account: Granted.Account) =>
  Effect.gen(function* () {
    const all = Audit.of(account.cluster, account.user.user)
    // A line is written when its request is answered, and may be read a moment later.
    yield* Managed.eventually(
      "that no right is left unused",
      Effect.map(all, (asked) => expected(account).filter((right) => !Audit.rights(asked).includes(right))),
      (unused) => unused.length === 0
    )
    const asked = yield* all
    expect(asked.filter(({ code }) => code === 403 || code === 401)).toEqual([])
    expect(Audit.rights(asked)).toEqual(expected(account))
    return asked
  })

/** Two replicas do all of that, one after the other leading. */
const work = (account: Granted.Account, scenes: ReadonlyArray<Scene.Scene>) =>
  Effect.gen(function* () {
    yield* Granted.grant(account)
    const first = yield* start(account)
    yield* leads(first)
    yield* Counted.started(first)
    const second = yield* start(account)
    yield* Effect.forEach(scenes, (scene) => Effect.zipRight(life(scene), inheritance(scene)), {
      concurrency: "unbounded"
    })
    for (const scene of scenes) yield* raced(scene, first)

    yield* first.stop
    yield* leads(second)
    for (const scene of scenes) {
      yield* Client.patch(Deployment, scene.key("adopted"), Patch.merge({ spec: { replicas: 4 } }))
      yield* Managed.eventually(
        "that the second one repairs",
        Scene.deployment(scene, "adopted"),
        ({ spec }) => spec?.replicas === 2
      )
    }
    yield* second.stop
  })

describe("The manager of WebApps, under exactly the generated roles,", () => {
  real("works in the whole cluster, is refused nothing, and uses every right that it is given", (cluster) =>
    Effect.gen(function* () {
      const home = yield* cluster.namespace("system")
      const lease = { namespace: home, name: "homeostat" }
      const account = yield* Granted.account(cluster, home, { lease })
      yield* work(account, [Scene.of(cluster, yield* cluster.namespace("rights"))])
      yield* check(account)
    })
  )

  real("works in some namespaces without any right across the cluster or in others", (cluster) =>
    Effect.gen(function* () {
      const home = yield* cluster.namespace("system")
      const scenes = [
        Scene.of(cluster, yield* cluster.namespace("rights-a")),
        Scene.of(cluster, yield* cluster.namespace("rights-b"))
      ]
      const namespaces = scenes.map(({ namespace }) => namespace)
      const account = yield* Granted.account(cluster, home, {
        namespaces,
        lease: { namespace: home, name: "homeostat" }
      })
      yield* work(account, scenes)
      const asked = yield* check(account)
      expect(Audit.distinct(asked.map(({ namespace }) => namespace ?? "cluster"))).toEqual([...namespaces, home].sort())

      const can = (where: string) =>
        Effect.map(
          cluster.kubectl(["auth", "can-i", "list", "webapps.apps.kubedojo.io", where], { as: account.user }),
          ({ stdout }) => stdout.trim()
        )
      expect(yield* can("--all-namespaces")).toBe("no")
      expect(yield* can(`--namespace=${home}`)).toBe("no")
      expect(yield* can(`--namespace=${namespaces[0]}`)).toBe("yes")
    })
  )

  real("that sees some labels leads beside one that sees others, each by a Lease of its own", (cluster) =>
    Effect.gen(function* () {
      const home = yield* cluster.namespace("system")
      const scene = Scene.of(cluster, yield* cluster.namespace("rights"))
      const { namespace } = scene
      const namespaces = [namespace]
      const slices = yield* Effect.forEach(["team=red", "team=blue"], (selector) =>
        Effect.gen(function* () {
          const lease = { namespace: home, name: Election.defaultName("homeostat", { namespaces, selector }) }
          const account = yield* Granted.account(cluster, home, { namespaces, lease })
          yield* Granted.grant(account)
          return { account, lease, working: yield* start(account, selector) }
        })
      )
      for (const { working } of slices) yield* leads(working)
      for (const { lease } of slices) {
        expect((yield* Client.get(Lease, lease)).spec?.holderIdentity).not.toBe("")
      }
      expect(new Set(slices.map(({ lease }) => lease.name)).size).toBe(2)

      const teams = ["red", "blue"]
      for (const team of [...teams, "green"]) {
        yield* Client.create(WebApp, {
          metadata: { namespace, name: team, labels: { team } },
          spec: { image: "registry.test/web:1", replicas: 1 }
        })
      }
      for (const team of teams) yield* Scene.running(scene, team)
      expect((yield* Scene.app(scene, "green")).status).toBeUndefined()
      for (const [index, { account, working }] of slices.entries()) {
        // Children have no such labels, so those of the others are heard of, and lead to nothing.
        const seen = working.attempts.filter(({ outcome }) => outcome._tag !== "Vanished").map(({ key }) => key)
        expect(Audit.distinct(seen)).toEqual([`${namespace}/${teams[index]}`])
        const asked = yield* Audit.of(cluster, account.user.user)
        expect(asked.filter(({ code }) => code === 403)).toEqual([])
      }
    })
  )
})
