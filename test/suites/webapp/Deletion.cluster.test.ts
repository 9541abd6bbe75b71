/** Tests of deleted WebApps: their children are deleted, other objects stay, and a new WebApp can have the same name. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import { Deployment, Service } from "@homeostat/runtime/resource/BuiltIn"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"
import * as Scene from "./Scene.ts"

/** Counts the remaining WebApps, Deployments and Services of the scene. */
const left = ({ namespace }: Scene.Scene) =>
  Effect.map(
    Effect.all([
      Client.list(WebApp, { namespace }),
      Client.list(Deployment, { namespace }),
      Client.list(Service, { namespace })
    ]),
    (lists) => lists.map(({ items }) => items.length)
  )

const isEmpty = (counts: ReadonlyArray<number>): boolean => counts.every((count) => count === 0)

const uids = (scene: Scene.Scene) =>
  Effect.map(Scene.pods(scene, "shop"), (pods) => pods.map(({ metadata }) => metadata.uid).sort())

describe.concurrent("a deleted WebApp", () => {
  for (const propagation of ["Background", "Foreground"] as const) {
    Scene.managed(`takes its Deployment, Service and pods along, in the ${propagation.toLowerCase()}`, (scene) =>
      Effect.gen(function* () {
        yield* Scene.launch(scene, "shop")
        yield* Client.delete(WebApp, scene.key("shop"), { propagation })
        yield* Managed.eventually("they are gone", left(scene), isEmpty)
        yield* Managed.eventually("the pods are gone", Scene.pods(scene, "shop"), ({ length }) => length === 0)
        // A reconcile with a stale cache must not recreate the children.
        yield* Scene.rest(scene)
        expect(yield* left(scene)).toEqual([0, 0, 0])
      })
    )
  }

  Scene.managed("can be made again under its name at once, without a word of conflict", (scene) =>
    Effect.gen(function* () {
      yield* Scene.launch(scene, "shop", { image: "registry.test/web:1" })
      // The test continues at once, because the garbage collector needs only some milliseconds.
      yield* Client.delete(WebApp, scene.key("shop"))
      const app = yield* Scene.create(scene, "shop", { image: "registry.test/web:2" })
      yield* Scene.settled(scene, "shop")
      const children = [yield* Scene.deployment(scene, "shop"), yield* Scene.service(scene, "shop")]
      for (const { metadata } of children) {
        expect(metadata.ownerReferences?.map(({ uid }) => uid)).toEqual([app.metadata.uid])
        expect(metadata.deletionTimestamp).toBeUndefined()
      }
      const reasons = (yield* Scene.events(scene, "shop")).map(({ reason }) => reason)
      expect(reasons).not.toContain("NameConflict")
    })
  )

  Scene.managed(
    "leaves its children where that is asked for, and one of the same name takes them over, pods and all",
    (scene) =>
      Effect.gen(function* () {
        yield* Scene.launch(scene, "shop")
        const before = yield* uids(scene)
        yield* Client.delete(WebApp, scene.key("shop"), { propagation: "Orphan" })
        yield* Managed.eventually("it is gone", left(scene), ([apps]) => apps === 0)
        yield* Scene.rest(scene)
        expect(yield* left(scene)).toEqual([0, 1, 1])
        expect((yield* Scene.deployment(scene, "shop")).metadata.ownerReferences).toBeUndefined()

        const app = yield* Scene.create(scene, "shop")
        yield* Scene.settled(scene, "shop")
        const children = [yield* Scene.deployment(scene, "shop"), yield* Scene.service(scene, "shop")]
        for (const { metadata } of children) {
          expect(metadata.ownerReferences?.map(({ uid }) => uid)).toEqual([app.metadata.uid])
        }
        expect(yield* uids(scene)).toEqual(before)
      })
  )

  Scene.managed(
    "loses the finalizer of the older controller, and stays for the finalizer of another controller",
    (scene) =>
      Effect.gen(function* () {
        const { namespace } = scene
        yield* Client.create(WebApp, {
          metadata: {
            namespace,
            name: "shop",
            finalizers: ["example.test/first", "apps.kubedojo.io/finalizer", "example.test/last"]
          },
          spec: { image: "registry.test/web:1" }
        })
        yield* Scene.running(scene, "shop")
        expect((yield* Scene.app(scene, "shop")).metadata.finalizers).toHaveLength(3)
        yield* Client.delete(WebApp, scene.key("shop"))
        yield* Managed.eventually(
          "ours is taken off",
          Scene.app(scene, "shop"),
          ({ metadata }) => metadata.finalizers?.includes("apps.kubedojo.io/finalizer") === false
        )
        yield* Scene.rest(scene)
        expect((yield* Scene.app(scene, "shop")).metadata.finalizers).toEqual([
          "example.test/first",
          "example.test/last"
        ])

        yield* Client.patch(WebApp, scene.key("shop"), Patch.merge({ metadata: { finalizers: null } }))
        yield* Managed.eventually("they are gone", left(scene), isEmpty)
      })
  )
})
