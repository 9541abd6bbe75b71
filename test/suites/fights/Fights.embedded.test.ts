/** The manager reports fights over fields and endless writes, and no others. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import * as Controller from "@homeostat/runtime/controller/Controller"
import * as HotLoop from "@homeostat/runtime/controller/HotLoop"
import * as Result from "@homeostat/runtime/controller/Result"
import * as Status from "@homeostat/runtime/controller/Status"
import { Deployment, Event, HorizontalPodAutoscaler } from "@homeostat/runtime/resource/BuiltIn"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Clock, Effect } from "effect"
import * as Managed from "../Managed.ts"
import * as Chore from "../runtime/Chore.ts"
import * as Counted from "../runtime/Counted.ts"
import * as ByHand from "../webapp/ByHand.ts"
import * as Scene from "../webapp/Scene.ts"
import * as Rival from "./Rival.ts"

/** The time within which the manager must report a fight. */
const window = "30 seconds"

const warnings = (scene: Scene.Scene) =>
  Effect.map(Scene.events(scene, "shop"), (events) => events.filter(({ type }) => type === "Warning"))

const image = (deployment: Deployment) => Scene.containerOf(deployment)?.image

/** Applies the rival's image with force. */
const takeImage = (scene: Scene.Scene) =>
  Client.apply(
    Deployment,
    {
      metadata: { namespace: scene.namespace, name: "shop" },
      // An apply configuration may be partial, but the type requires a whole spec.
      spec: {
        template: { spec: { containers: [{ name: "app", image: "registry.test/rival:1" }] } }
      } as Deployment["spec"] & object
    },
    { force: true, fieldManager: "rival" }
  )

/** Waits until the manager reports a fight, and then until the rival has written ten more times. */
const oneReport = (scene: Scene.Scene, rival: Rival.Rival) =>
  Effect.gen(function* () {
    const begun = yield* Clock.currentTimeMillis
    yield* Managed.eventually("the report of the fight", warnings(scene), (events) => events.length > 0, window)
    const took = (yield* Clock.currentTimeMillis) - begun
    const rounds = rival.times()
    const again = yield* Managed.eventually(
      "ten more rounds",
      Effect.sync(rival.times),
      (times) => times >= rounds + 10
    )
    return { took, rounds, again, events: yield* warnings(scene) }
  })

const sentence = (what: string, who: string) =>
  `${what} was put back 5 times within 30 s: ${who} keeps changing it. Give the field to one of the two: either ${who} stops setting it, or `

describe("Two managers", () => {
  Scene.empty(
    "that apply one field of a child with force cause one report of field and manager within 30 seconds",
    (scene) =>
      Effect.gen(function* () {
        const manager = yield* scene.manage()
        yield* Scene.launch(scene, "shop")
        const rival = yield* Rival.start(
          Deployment,
          scene.key("shop"),
          (deployment) => image(deployment) === "registry.test/rival:1",
          takeImage(scene)
        )
        const { events, rounds } = yield* oneReport(scene, rival)
        const place = `Deployment ${scene.namespace}/shop`
        const note = sentence(`spec.template.spec.containers[app].image of ${place}`, "rival")
        expect(events).toEqual([
          {
            type: "Warning",
            reason: "FieldFight",
            note: `${note}WebApp ${scene.namespace}/shop stops asking for it.`,
            count: 1
          }
        ])
        expect(rounds).toBeLessThan(10)
        expect(manager.recorded().filter(({ type }) => type === "Warning")).toHaveLength(1)
      })
  )

  Scene.managed("that set the replicas of one child cause a report", ({ manager, ...scene }) =>
    Effect.gen(function* () {
      yield* Scene.launch(scene, "shop", { image: "registry.test/web:1", replicas: 1 })
      const rival = yield* Rival.start(
        Deployment,
        scene.key("shop"),
        ({ spec }) => spec?.replicas === 2,
        ByHand.scale(scene, Deployment, 2)
      )
      const { events } = yield* oneReport(scene, rival)
      expect(events.map(({ note, reason }) => [reason, note])).toEqual([
        [
          "FieldFight",
          expect.stringContaining(sentence(`spec.replicas of Deployment ${scene.namespace}/shop`, "kubectl"))
        ]
      ])
      expect(manager.recorded().filter(({ type }) => type === "Warning")).toHaveLength(1)
    })
  )

  Scene.managed("that write one status cause a report", (scene) =>
    Effect.gen(function* () {
      yield* Scene.launch(scene, "shop")
      yield* Scene.quiet(scene, "shop")
      const rival = yield* Rival.start(
        WebApp,
        scene.key("shop"),
        ({ status }) => status?.phase === "Failed",
        Client.status.apply(
          WebApp,
          { metadata: { namespace: scene.namespace, name: "shop" }, status: { phase: "Failed" } },
          { force: true, fieldManager: "rival" }
        )
      )
      const { events } = yield* oneReport(scene, rival)
      expect(events.map(({ note, reason }) => [reason, note])).toEqual([
        ["FieldFight", expect.stringContaining(sentence(`status.phase of WebApp ${scene.namespace}/shop`, "rival"))]
      ])
    })
  )
})

describe("A controller", () => {
  Chore.placed(
    "that writes the time into a status causes one report of the field within 30 seconds",
    ({ cluster, namespace }) =>
      Effect.gen(function* () {
        yield* Client.create(Chore.Chore, { metadata: { namespace, name: "one" }, spec: {} })
        let runs = 0
        const controller = Controller.make("chores", {
          for: Chore.Chore,
          reconcile: (chore) =>
            Effect.as(
              Effect.andThen(Effect.sleep("50 millis"), Status.update(chore, { result: `at ${++runs}` })),
              Result.done
            )
        })
        const working = yield* Counted.start(cluster.admin, [controller], { namespaces: [namespace] })
        const notes = Effect.map(Client.list(Event, { namespace }), ({ items }) => items.map(({ note }) => note))
        yield* Managed.eventually("the report of the loop", notes, (notes) => notes.length > 0, window)
        const before = runs
        yield* Managed.eventually(
          "20 more runs",
          Effect.sync(() => runs),
          (now) => now > before + 20
        )
        const note = `status.result of Chore ${namespace}/one was written ${HotLoop.limits.rewrite} times within 30 s, though nothing woke controller chores but itself: a value that is new each time, such as a time? Write it only when something else has changed.`
        expect(yield* notes).toEqual([note])
        expect(working.warnings).toEqual([note])
        const counts = working.metrics().find(({ metric }) => metric.name === "homeostat_hot_loops_total")?.series
        expect(counts?.map((series) => ("value" in series ? [...series.labels, series.value] : []))).toEqual([
          ["chores", "fight", 0],
          ["chores", "altered", 0],
          ["chores", "rewrite", 1]
        ])
      })
  )

  Scene.managed(
    "causes no report for ten changes of a user in ten seconds, their rollouts, and fields of other managers",
    ({ manager, ...scene }) =>
      Effect.gen(function* () {
        yield* Scene.launch(scene, "shop", { image: "registry.test/web:1", replicas: 3 })
        for (let version = 2; version <= 11; version++) {
          const spec = { image: `registry.test/web:${version}`, replicas: 1 + (version % 3) }
          yield* Client.patch(WebApp, scene.key("shop"), Patch.merge({ spec }))
          yield* ByHand.label(scene, Deployment, { team: `team-${version}` })
          yield* Effect.sleep("1 second")
        }
        yield* Scene.settled(scene, "shop")

        // From now on the autoscaler owns the replicas, and changes them often.
        yield* Client.create(HorizontalPodAutoscaler, {
          metadata: { namespace: scene.namespace, name: "shop" },
          spec: {
            scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "shop" },
            minReplicas: 1,
            maxReplicas: 10
          }
        })
        yield* Scene.settled(scene, "shop")
        for (let replicas = 1; replicas <= 8; replicas++) {
          yield* ByHand.scale(scene, Deployment, replicas)
          yield* Effect.sleep("500 millis")
        }
        yield* Scene.settled(scene, "shop")
        expect(manager.recorded().flatMap(({ note, type }) => (type === "Warning" ? [note] : []))).toEqual([])
        expect(yield* warnings(scene)).toEqual([])
      })
  )
})
