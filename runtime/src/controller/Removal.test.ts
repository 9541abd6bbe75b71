import { describe, expect } from "bun:test"
import * as Faults from "@homeostat/testkit/Faults"
import { effect } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Client from "../client/Client.ts"
import type * as Cluster from "../client/Cluster.fixture.ts"
import { ConfigMap } from "../resource/BuiltIn.ts"
import * as Access from "./Access.ts"
import * as Controller from "./Controller.ts"
import * as Owned from "./Owned.ts"
import * as Result from "./Result.ts"
import { counted, pass, run, settle, story, Widget, widget, withWorld } from "./World.fixture.ts"

const owns = [Owned.kind(ConfigMap, { removes: true })]

const key = { namespace: "default", name: "a" }
const desired = { metadata: { name: "a" } }
const apply = (owner: Widget) => Owned.apply(owner, ConfigMap, desired)

/** A reconcile that keeps one ConfigMap while the size of its Widget is above 0. */
const switching = () =>
  counted((_, owner) =>
    Effect.as(
      owner.spec.size > 0
        ? Effect.asVoid(Owned.apply(owner, ConfigMap, { metadata: { name: "a" } }))
        : Effect.asVoid(Owned.remove(owner, ConfigMap, { name: "a" })),
      Result.done
    )
  )

const deletions = (server: Cluster.Cluster) => server.writes().filter(({ verb }) => verb === "delete")

const notes = (server: Cluster.Cluster) => server.events().map(({ note, reason }) => `${reason}: ${note}`)

const off = (server: Cluster.Cluster) => {
  server.change(Widget, "a", { spec: { size: 0 } })
  return settle
}

describe("A child that its owner removes", () => {
  effect(
    "is deleted once with its uid and resourceVersion as preconditions, and reported",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const { reconcile, runs } = switching()
        yield* run({ reconcile, owns })
        const { metadata } = server.get(ConfigMap, "a") ?? expect.unreachable("no ConfigMap a")
        yield* off(server)
        const before = runs.length
        server.change(Widget, "a", { metadata: { labels: { again: "1" } } })
        yield* settle
        expect(runs.length).toBeGreaterThan(before)
        expect(server.get(ConfigMap, "a")).toBeUndefined()
        const { resourceVersion, uid } = metadata
        expect(deletions(server).map(({ body }) => body)).toMatchObject([{ preconditions: { resourceVersion, uid } }])
        expect(notes(server)).toEqual([
          "ConfigMapCreated: Created ConfigMap a",
          "ConfigMapRemoved: Removed ConfigMap a"
        ])
      })
    )
  )

  effect(
    "stays if the owner does not control it",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a", 0))
        server.put(ConfigMap, { metadata: { name: "a" } })
        const { reconcile, runs } = switching()
        yield* run({ reconcile, owns })
        expect(runs).toHaveLength(1)
        expect(server.get(ConfigMap, "a")).toBeDefined()
        expect(server.writes()).toEqual([])
      })
    )
  )

  effect(
    "stays if it has another owner by now that is not yet in the cache",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const { reconcile } = switching()
        yield* run({ reconcile, owns })
        server.faults.on({ verb: "watch", kind: ConfigMap }, Faults.delayed("20 seconds"))
        server.change(ConfigMap, "a", { metadata: { ownerReferences: null } })
        yield* off(server)
        expect(server.get(ConfigMap, "a")).toBeDefined()
        expect(deletions(server)).toEqual([])
      })
    )
  )

  const ways = {
    "Owned.remove": (owner: Widget) =>
      owner.spec.size > 0 ? Effect.asVoid(apply(owner)) : Effect.asVoid(Owned.remove(owner, ConfigMap, { name: "a" })),
    "Owned.all": (owner: Widget) =>
      Effect.asVoid(Owned.all(owner, owner.spec.size > 0 ? [Owned.child(ConfigMap, desired)] : []))
  }
  for (const by of ["Owned.remove", "Owned.all"] as const) {
    effect(
      `by ${by} stays if a newer version of the owner that is not yet in the cache wants it`,
      withWorld(({ attempts, server }) =>
        Effect.gen(function* () {
          server.put(Widget, widget("a"))
          const { reconcile } = counted((_, owner) => Effect.as(ways[by](owner), Result.done))
          yield* run({ reconcile, owns, retry: Schedule.spaced("1 second") })
          const { annotations = {}, ownerReferences = [] } = (yield* Client.get(ConfigMap, key)).metadata
          yield* off(server)
          expect(server.get(ConfigMap, "a")).toBeUndefined()
          const late = server.faults.on({ verb: "watch", kind: Widget }, Faults.delayed("20 seconds"))
          server.change(Widget, "a", { spec: { size: 1 } })
          // The write of another replica with the newer version.
          const again = { metadata: { ...key, annotations, ownerReferences } }
          const { metadata } = yield* Client.apply(ConfigMap, again, { fieldManager: "widgets", force: true })
          yield* pass("5 seconds")
          expect(story(attempts)).toContain("Failed +1000")
          late.remove()
          yield* pass("1 minute")
          expect(server.get(ConfigMap, "a")?.metadata.uid).toBe(metadata.uid)
          expect(deletions(server)).toHaveLength(1)
          expect(story(attempts).at(-1)).toBe("Done")
        })
      )
    )
  }

  effect(
    "is returned while a finalizer holds it, and deleted once",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const left: Array<boolean> = []
        let isWanted = true
        const { reconcile } = counted((_, owner) =>
          isWanted
            ? Effect.as(Owned.apply(owner, ConfigMap, { metadata: { name: "a" } }), Result.done)
            : Effect.map(Owned.remove(owner, ConfigMap, { name: "a" }), (child) => {
                left.push(Option.isSome(child))
                return Result.done
              })
        )
        yield* run({ reconcile, owns })
        server.change(ConfigMap, "a", { metadata: { finalizers: ["example.com/hold"] } })
        yield* settle
        isWanted = false
        for (const again of ["1", "2"]) {
          server.change(Widget, "a", { metadata: { labels: { again } } })
          yield* settle
        }
        expect(new Set(left)).toEqual(new Set([true]))
        server.change(ConfigMap, "a", { metadata: { finalizers: [] } })
        yield* settle
        expect(left.at(-1)).toBe(false)
        expect(deletions(server)).toHaveLength(1)
      })
    )
  )

  effect(
    "that another manager deletes at the same time causes no failure",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const { reconcile } = switching()
        yield* run({ reconcile, owns })
        server.faults.on({ verb: "watch", kind: ConfigMap }, Faults.delayed("20 seconds"))
        server.remove(ConfigMap, "a")
        yield* off(server)
        expect(deletions(server)).toEqual([])
        expect(new Set(story(attempts))).toEqual(new Set(["Done"]))
      })
    )
  )

  effect(
    "that changes between the read and the deletion is deleted by the next attempt",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const { reconcile } = switching()
        yield* run({ reconcile, owns, retry: Schedule.spaced("1 second") })
        const deletion = server.faults.on({ verb: "delete", kind: ConfigMap }, Faults.held)
        yield* off(server)
        server.change(ConfigMap, "a", { data: { theirs: "yes" } })
        deletion.remove()
        yield* settle
        expect(story(attempts)).toContain("Failed +1000")
        yield* pass("1 second")
        expect(server.get(ConfigMap, "a")).toBeUndefined()
      })
    )
  )

  effect(
    "by Owned.removeAll stays if the deletion of its owner orphans it",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        // The state after `kubectl delete --cascade=orphan`, before the garbage collector has removed the owner references.
        server.put(Widget, { ...widget("a"), metadata: { name: "a", finalizers: ["orphan"] } })
        const finalizer = { name: "example.com/children", cleanup: Owned.removeAll }
        yield* run({ ...counted((_, owner) => Effect.as(apply(owner), Result.done)), owns, finalizer })
        server.remove(Widget, "a")
        yield* settle
        expect(server.get(Widget, "a")?.metadata.finalizers).toEqual(["orphan"])
        expect(server.get(ConfigMap, "a")).toBeDefined()
        expect(deletions(server)).toEqual([])
      })
    )
  )

  effect(
    "needs a declaration, which the permanent error mentions",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a", 0))
        yield* run({ ...switching(), owns: [ConfigMap] })
        expect(server.get(Widget, "a")?.status?.conditions?.[0]?.message).toContain(
          "controller widgets deletes configmaps and does not declare it: add Owned.kind(ConfigMap, { removes: true }) to owns"
        )
      })
    )
  )
})

effect("needs only the additional permission to delete", () =>
  Effect.sync(() => {
    const reconcile = () => Effect.succeed(Result.done)
    const plain = Controller.make("widgets", { for: Widget, owns: [ConfigMap], reconcile }).access
    const removing = Controller.make("widgets", { for: Widget, owns, reconcile }).access
    const added = removing.filter((each) => !plain.some((other) => Bun.deepEquals(other, each)))
    expect(added).toEqual([Access.delete(ConfigMap)])
  })
)
