/**
 * Two versions of the manager run side by side, as in a rolling update and in a rollback, while users change WebApps. The older version has
 * the current kind. The kind of the newer version has one more field in the spec and the status.
 */
import { expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import * as Crds from "@homeostat/runtime/manager/Crds"
import * as LeaderElection from "@homeostat/runtime/manager/LeaderElection"
import { Deployment, Service } from "@homeostat/runtime/resource/BuiltIn"
import * as Crd from "@homeostat/runtime/resource/Crd"
import { controllerOf, type KubernetesObject } from "@homeostat/runtime/resource/KubernetesObject"
import type * as Resource from "@homeostat/runtime/resource/Resource"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import * as Shared from "@homeostat/testkit/Shared"
import { live } from "@homeostat/testkit/Test"
import { controller } from "@homeostat/webapp"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect, Exit, Fiber, Logger, Ref, Scope } from "effect"
import { plane } from "../faults/Wired.ts"
import * as Replica from "../leadership/Replica.ts"
import * as Managed from "../Managed.ts"
import * as Rest from "../Rest.ts"
import * as Counted from "../runtime/Counted.ts"
import * as WebAppScene from "../webapp/Scene.ts"
import * as Newer from "./Newer.ts"

const versions = {
  older: { kind: WebApp, controller },
  newer: { kind: Newer.NewerWebApp, controller: Newer.newer }
}

interface Place {
  readonly cluster: ControlPlane
  readonly namespace: string
}

/** Starts a version, as `run --install-crds --leader-elect` does. */
const start = ({ cluster, namespace }: Place, version: keyof typeof versions) =>
  Effect.gen(function* () {
    const scope = yield* Effect.acquireRelease(Scope.make(), (scope) => Scope.close(scope, Exit.void))
    const { controller, kind } = versions[version]
    const logged: Array<string> = []
    const log = Logger.make<unknown, void>(({ message }) => void logged.push(String(message)))
    yield* Effect.provide(Crds.install([kind]), Logger.layer([log]))
    const identity = `${version}-${crypto.randomUUID().slice(0, 8)}`
    const leaderElection = yield* Effect.fromResult(
      LeaderElection.make({ namespace, name: "homeostat", identity, ...Replica.steady })
    )
    const manager = yield* Counted.start(cluster.admin, [controller], { namespaces: [namespace], leaderElection }).pipe(
      Scope.provide(scope)
    )
    const { state } = leaderElection
    return {
      ...manager,
      /** The log lines about CRDs. */
      logged,
      leads: Managed.eventually(`${version} leads`, Effect.sync(state), ({ leading }) => leading),
      standsBy: Managed.eventually(
        `${version} stands by`,
        Effect.sync(state),
        (now) => !now.leading && now.holder !== ""
      ),
      stop: Scope.close(scope, Exit.void)
    }
  })

/** The desired state of a WebApp. */
interface Want {
  readonly image: string
  readonly replicas: number
  readonly port: number
  readonly team: string
}

const apps = 8

const nameOf = (index: number) => `app-${index}`

/** Users create, change and delete WebApps, one operation at a time. `wants` records their current intent. */
const people = ({ namespace }: Place, wants: Map<string, Want>) =>
  Effect.gen(function* () {
    const done = yield* Ref.make(0)
    const step = Effect.gen(function* () {
      const count = yield* Ref.getAndUpdate(done, (count) => count + 1)
      const name = nameOf((count * 5) % apps)
      const key = { namespace, name }
      const want = wants.get(name)
      if (want === undefined) {
        const made = { image: `registry.test/web:${count}`, replicas: 1, port: 8080, team: `team-${count}` }
        yield* Client.create(Newer.NewerWebApp, { metadata: key, spec: made })
        wants.set(name, made)
      } else if (count % 9 === 4) {
        yield* Client.delete(WebApp, key)
        // The name is free after the object is gone and the garbage collector has deleted the children.
        yield* Managed.eventually(
          "it is gone",
          Effect.result(Client.get(WebApp, key)),
          ({ _tag }) => _tag === "Failure"
        )
        yield* Managed.eventually(
          "its children are gone",
          Effect.all([Effect.result(Client.get(Deployment, key)), Effect.result(Client.get(Service, key))]),
          (children) => children.every(({ _tag }) => _tag === "Failure")
        )
        wants.delete(name)
      } else {
        const changed = {
          ...want,
          image: `registry.test/web:${count}`,
          ...(count % 2 === 0 ? { replicas: 1 + (count % 7), team: `team-${count}` } : { port: 8000 + (count % 50) })
        }
        yield* Client.patch(WebApp, key, Patch.merge({ spec: changed }))
        wants.set(name, changed)
      }
    })
    const busy = yield* Effect.uninterruptible(step).pipe(
      Effect.andThen(Effect.sleep("20 millis")),
      Effect.forever,
      Effect.forkScoped
    )
    return {
      count: Ref.get(done),
      /** Waits until the users have done this many more operations. */
      work: (more: number) =>
        Effect.flatMap(Ref.get(done), (before) =>
          Managed.eventually("that people have worked", Ref.get(done), (count) => count >= before + more)
        ),
      /** Stops the users between two operations. Fails if an operation failed. */
      stop: Effect.gen(function* () {
        expect(busy.pollUnsafe()).toBeUndefined()
        yield* Fiber.interrupt(busy)
      })
    }
  })

/** All objects of a kind. */
const all = <A extends KubernetesObject>({ namespace }: Place, kind: Resource.Resource<A, never>) =>
  Effect.map(Client.list(kind, { namespace }), ({ items }) =>
    items.toSorted((one, other) => one.metadata.name.localeCompare(other.metadata.name))
  )

/** The compared parts of every WebApp and its children. */
const picture = (place: Place) =>
  Effect.gen(function* () {
    const [webapps, deployments, services] = yield* Effect.all([
      all(place, Newer.NewerWebApp),
      all(place, Deployment),
      all(place, Service)
    ])
    return {
      webapps: webapps.map(({ metadata, spec, status }) => ({
        name: metadata.name,
        image: spec.image,
        replicas: spec.replicas,
        port: spec.port,
        team: Newer.teamOf(spec),
        reported: Newer.teamOf(status),
        isObserved: status?.observedGeneration === metadata.generation
      })),
      deployments: deployments.map(({ metadata, spec }) => ({
        name: metadata.name,
        image: spec?.template.spec?.containers[0]?.image,
        replicas: spec?.replicas,
        team: metadata.annotations?.[Newer.annotation]
      })),
      services: services.map(({ metadata, spec }) => ({ name: metadata.name, port: spec?.ports?.[0]?.port }))
    }
  })

/** The same parts, as the users want them. */
const wanted = (wants: ReadonlyMap<string, Want>): Effect.Success<ReturnType<typeof picture>> => {
  const sorted = [...wants].toSorted(([one], [other]) => one.localeCompare(other))
  return {
    webapps: sorted.map(([name, want]) => ({ name, ...want, reported: want.team, isObserved: true })),
    deployments: sorted.map(([name, { image, replicas, team }]) => ({ name, image, replicas, team })),
    services: sorted.map(([name, { port }]) => ({ name, port }))
  }
}

live(
  "An older and a newer version that replace each other, in both directions, lose no concurrent changes of users",
  () =>
    Effect.gen(function* () {
      const cluster = yield* Shared.own(plane)
      return yield* Effect.gen(function* () {
        const namespace = yield* cluster.namespace("rolling")
        const place: Place = { cluster, namespace }
        const wants = new Map<string, Want>()

        yield* cluster.install(Crd.of(WebApp))
        const older = yield* start(place, "older")
        expect(older.logged).toEqual([])
        yield* older.leads
        // The update: the newer version starts, and the older one stops and restarts once.
        const newer = yield* start(place, "newer")
        expect(newer.logged).toEqual(["Applied CRD webapps.apps.kubedojo.io"])
        yield* newer.standsBy
        // The test sets up the scene now, because a change of the CRD ends the watches of its kind.
        const scene = WebAppScene.of(cluster, namespace)
        const seen = {
          WebApp: yield* WebAppScene.record(scene, WebApp),
          Deployment: yield* WebAppScene.record(scene, Deployment),
          Service: yield* WebAppScene.record(scene, Service)
        }
        const busy = yield* people(place, wants)
        yield* busy.work(30)
        yield* older.stop
        yield* newer.leads
        const restarted = yield* start(place, "older")
        expect(restarted.logged).toEqual([
          expect.stringContaining("v1beta1 spec.team is gone: what it holds would be pruned")
        ])
        yield* restarted.standsBy
        yield* busy.work(30)

        // The rollback.
        yield* newer.stop
        yield* restarted.leads
        yield* busy.work(30)
        yield* busy.stop
        const expected = wanted(wants)
        const underOlder = yield* Managed.eventually(
          "that the older one has done all",
          picture(place),
          ({ services, webapps }) =>
            Bun.deepEquals(services, expected.services) && webapps.every(({ isObserved }) => isObserved)
        )
        // The older version does not manage the team. It removes neither the users' fields nor the status fields of the newer version.
        expect(underOlder.webapps.map(({ name, team }) => ({ name, team }))).toEqual(
          expected.webapps.map(({ name, team }) => ({ name, team }))
        )
        expect(underOlder.webapps.filter(({ reported }) => reported !== undefined).length).toBeGreaterThan(0)

        // The second update.
        const again = yield* start(place, "newer")
        expect(again.logged).toEqual([])
        yield* again.standsBy
        yield* restarted.stop
        yield* again.leads
        const more = yield* people(place, wants)
        yield* more.work(10)
        yield* more.stop
        const last = wanted(wants)
        yield* Managed.eventually("that all is as people want it", picture(place), (now) => Bun.deepEquals(now, last))
        expect(last.webapps.length).toBeGreaterThan(3)

        // No child was created twice. A deleted child may come back for a moment, until the controller sees the deletion of its owner.
        const ends = new Map(
          seen.WebApp().flatMap(({ at, deleted, object }) => (deleted ? [[object.metadata.uid, at]] : []))
        )
        for (const states of [seen.Deployment(), seen.Service()]) {
          const first = new Map<string, WebAppScene.Seen<KubernetesObject>>()
          for (const one of states) first.set(one.object.metadata.uid, first.get(one.object.metadata.uid) ?? one)
          const owners = [...first.values()].flatMap(({ at, object }) => {
            const owner = controllerOf(object)?.uid ?? "nobody"
            return at < (ends.get(owner) ?? at + 1n) ? [owner] : []
          })
          expect(owners.length).toBeGreaterThan(apps)
          expect(new Set(owners).size).toBe(owners.length)
        }
        // The writes stop, and their number is limited: each user operation causes the writes of two children and of the status. Every new
        // leader may repeat all of them once.
        const managers = [older, newer, restarted, again]
        yield* Rest.of(again)
        const counts = managers.map(
          ({ writes }) => writes.filter((write) => /^\w+ (WebApp|Deployment|Service) /.test(write)).length
        )
        const things = (yield* busy.count) + (yield* more.count)
        expect(counts.reduce((sum, count) => sum + count)).toBeLessThan(5 * things + 4 * 3 * apps)
        // A user may win twice in a row. A second conflict is a warning, and the next attempt succeeds.
        const isConflict = (warning: string) => warning.includes("the object has been modified")
        expect(managers.flatMap(({ warnings }) => warnings).filter((warning) => !isConflict(warning))).toEqual([])
      }).pipe(Effect.provide(yield* Managed.client(cluster)))
    }).pipe(Effect.timeout("150 seconds")),
  200_000
)
