import { describe, expect } from "bun:test"
import * as Faults from "@homeostat/testkit/Faults"
import { effect } from "@homeostat/testkit/Test"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type * as Cluster from "../client/Cluster.fixture.ts"
import type { Fields } from "../client/Cluster.fixture.ts"
import { ConfigMap } from "../resource/BuiltIn.ts"
import * as Owned from "./Owned.ts"
import * as Result from "./Result.ts"
import { counted, pass, run, settle, Widget, widget, withWorld } from "./World.fixture.ts"

const adoptAnnotation = "example.com/adopt"

/** A reconcile that makes one ConfigMap after a delay, and the conflicts that it reported instead of failing. */
const makes = (delay: Duration.Input = 0) => {
  const reported: Array<Owned.NotOwned | Owned.OwnerGone> = []
  const report = (error: Owned.NotOwned | Owned.OwnerGone) => Effect.sync(() => void reported.push(error))
  const { reconcile, names } = counted((_, owner) =>
    Owned.apply(
      owner,
      ConfigMap,
      { metadata: { name: owner.metadata.name }, data: { a: "1" } },
      { adoptAnnotation }
    ).pipe(Effect.catchTags({ NotOwned: report, OwnerGone: report }), Effect.as(Result.done), Effect.delay(delay))
  )
  return { options: { owns: [ConfigMap], reconcile, retry: Schedule.spaced("1 second") }, reported, names }
}

const other = { apiVersion: "other.com/v1", kind: "Gadget", name: "g", uid: "uid-g", controller: true }

const foreign = (metadata: Fields = {}, data: Fields = { theirs: "yes" }): Cluster.Put => ({
  metadata: { name: "a", ...metadata },
  data
})

/** An object with the annotation of an applied intent. */
const applied = foreign({ annotations: { [Owned.intentAnnotation]: "0123456789abcdef" } })

const child = (server: Cluster.Cluster) => server.get(ConfigMap, "a") ?? expect.unreachable("no ConfigMap a")
const writes = (server: Cluster.Cluster) => server.writes().filter(({ path }) => !path.endsWith("/events"))
const notes = (server: Cluster.Cluster) =>
  server.events().map((object) => {
    const { note, reason, type } = object
    return `${type} ${reason}: ${note}`
  })
const ownersOf = (server: Cluster.Cluster) => child(server).metadata.ownerReferences?.map(({ uid }) => uid)

describe("A name that is taken", () => {
  for (const [by, metadata, words] of [
    ["an object without an owner", {}, "has no controller"],
    ["another controller's object", { ownerReferences: [other] }, "is controlled by Gadget g"],
    [
      "another controller's object with the adopt annotation",
      { ownerReferences: [other], annotations: { [adoptAnnotation]: "true" } },
      "is controlled by Gadget g"
    ],
    [
      "an object with another value of the adopt annotation",
      { annotations: { [adoptAnnotation]: "yes" } },
      "has no controller"
    ]
  ] as const) {
    effect(
      `by ${by} is not written to, and is reported once`,
      withWorld(({ server }) =>
        Effect.gen(function* () {
          server.put(Widget, widget("a"))
          server.put(ConfigMap, foreign(metadata))
          const { options, reported } = makes()
          yield* run(options)
          for (const label of ["1", "2"]) {
            server.change(Widget, "a", { metadata: { labels: { label } } })
            yield* settle
          }
          expect(writes(server)).toEqual([])
          expect(reported.length).toBeGreaterThan(2)
          const remedy = words === "has no controller" ? `annotate it with ${adoptAnnotation}=true` : "use another name"
          expect(reported[0]?.message).toBe(`ConfigMap default/a already exists and ${words} (delete it, or ${remedy})`)
          expect(reported.map((error) => error._tag === "NotOwned" && error.news)).toEqual([
            true,
            ...reported.slice(1).map(() => false)
          ])
          yield* pass("10 seconds")
          expect(notes(server)).toEqual([`Warning NameConflict: ${reported[0]?.message}`])
          expect(server.events()[0]?.series).toBeUndefined()
        })
      )
    )
  }

  effect(
    "wakes the owner when it becomes free, and is reported again when it is taken again",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        server.put(ConfigMap, foreign())
        const { names, options } = makes()
        yield* run(options)
        server.remove(ConfigMap, "a")
        yield* settle
        expect(child(server).data).toEqual({ a: "1" })
        const before = names().length
        server.remove(ConfigMap, "a")
        server.put(ConfigMap, foreign())
        yield* settle
        expect(names().length).toBeGreaterThan(before)
        expect(child(server).data).toEqual({ theirs: "yes" })
        expect(notes(server).map((note) => note.split(":")[0])).toEqual([
          "Warning NameConflict",
          "Normal ConfigMapCreated"
        ])
        yield* pass("10 seconds")
        const series = server.events()[0]?.series
        expect(series?.count).toBe(2)
      })
    )
  )

  effect(
    "is reported again for a recreated owner",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        server.put(ConfigMap, foreign())
        yield* run(makes().options)
        server.remove(Widget, "a")
        server.put(Widget, widget("a"))
        yield* settle
        expect(notes(server).map((note) => note.split(":")[0])).toEqual([
          "Warning NameConflict",
          "Warning NameConflict"
        ])
      })
    )
  )

  effect(
    "causes an Event for a new owner, even after the earlier one was deleted during its reconcile",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        server.put(ConfigMap, foreign())
        yield* run(makes("1 second").options)
        server.remove(Widget, "a")
        yield* pass("1 second")
        expect(notes(server)).toHaveLength(1)
        server.put(Widget, widget("a"))
        yield* pass("1 second")
        expect(notes(server).map((note) => note.split(":")[0])).toEqual([
          "Warning NameConflict",
          "Warning NameConflict"
        ])
      })
    )
  )

  for (const [fields, data] of [
    ["fields of the intent", { a: "theirs" }],
    ["other fields", { precious: "theirs" }]
  ] as const) {
    effect(
      `by an object with ${fields} that is not yet in the cache is not written to`,
      withWorld(({ server }) =>
        Effect.gen(function* () {
          server.put(Widget, widget("a"))
          const held = server.faults.on({ verb: "patch", kind: ConfigMap }, Faults.held)
          const { options, reported } = makes()
          yield* run(options)
          server.put(ConfigMap, foreign({}, data))
          const before = child(server)
          held.remove()
          yield* settle
          expect(reported[0]?._tag).toBe("NotOwned")
          expect(child(server)).toEqual(before)
          expect(writes(server).every(({ query }) => query.get("force") === null)).toBe(true)
          expect(notes(server)).toHaveLength(1)
        })
      )
    )
  }
})

describe("A child is adopted", () => {
  effect(
    "with the adopt annotation before the cache has the child",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const held = server.faults.on({ verb: "patch", kind: ConfigMap }, Faults.held)
        yield* run(makes().options)
        server.put(ConfigMap, foreign({ annotations: { [adoptAnnotation]: "true" } }))
        held.remove()
        yield* settle
        expect(ownersOf(server)).toEqual([server.get(Widget, "a")?.metadata.uid ?? "none"])
        expect(child(server).data).toEqual({ a: "1", theirs: "yes" })
      })
    )
  )

  effect(
    "with the adopt annotation, even if it is added later",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        server.put(ConfigMap, foreign())
        yield* run(makes().options)
        expect(ownersOf(server)).toBeUndefined()
        server.change(ConfigMap, "a", { metadata: { annotations: { [adoptAnnotation]: "true" } } })
        yield* settle
        expect(ownersOf(server)).toEqual([server.get(Widget, "a")?.metadata.uid ?? "none"])
        expect(child(server).data).toEqual({ a: "1", theirs: "yes" })
      })
    )
  )

  for (const [when, isCached] of [
    ["in the cache", true],
    ["not yet in the cache", false]
  ] as const) {
    effect(
      `when it changes after the API server has refused its adoption, and was ${when} then`,
      withWorld(({ server }) =>
        Effect.gen(function* () {
          server.put(Widget, widget("a"))
          const given = foreign({ annotations: { [adoptAnnotation]: "true" } })
          const held = server.faults.on({ verb: "patch", kind: ConfigMap }, Faults.held)
          if (isCached) server.put(ConfigMap, given)
          yield* run(makes().options)
          if (!isCached) server.put(ConfigMap, given)
          // The first apply of a child that is not cached meets a Conflict, and the second one adopts the child.
          if (!isCached) server.faults.on({ verb: "patch", kind: ConfigMap }, Faults.conflict, { times: 1 })
          const immutable = { message: "is immutable", causes: [{ field: "data", message: "is immutable" }] }
          const refusal = server.faults.on({ verb: "patch", kind: ConfigMap }, Faults.answer(422, immutable))
          held.remove()
          yield* settle
          refusal.remove()
          expect(ownersOf(server)).toBeUndefined()
          server.change(ConfigMap, "a", { data: { theirs: "no" } })
          yield* settle
          expect(ownersOf(server)).toEqual([server.get(Widget, "a")?.metadata.uid ?? "none"])
        })
      )
    )
  }

  effect(
    "as an orphan of the same controller",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        server.apply(ConfigMap, applied, "widgets")
        yield* run(makes().options)
        expect(ownersOf(server)).toEqual([server.get(Widget, "a")?.metadata.uid ?? "none"])
      })
    )
  )

  for (const [what, make] of [
    ["a copy of a child", (server: Cluster.Cluster) => server.put(ConfigMap, applied)],
    ["the orphan of another program", (server: Cluster.Cluster) => server.apply(ConfigMap, applied, "gadgets")]
  ] as const) {
    effect(
      `but not ${what}, even with the annotation`,
      withWorld(({ server }) =>
        Effect.gen(function* () {
          server.put(Widget, widget("a"))
          make(server)
          const { options, reported } = makes()
          yield* run(options)
          expect(reported.map(({ _tag }) => _tag)).toEqual(["NotOwned"])
          expect(ownersOf(server)).toBeUndefined()
          expect(writes(server)).toEqual([])
        })
      )
    )
  }

  for (const [state, finalizers] of [
    ["gone", []],
    ["being deleted", ["example.com/other"]]
  ] as const) {
    effect(
      `but not by an owner that is ${state} before the cache knows that`,
      withWorld(({ server }) =>
        Effect.gen(function* () {
          server.put(Widget, { ...widget("a"), metadata: { name: "a", finalizers } })
          server.put(ConfigMap, foreign({ annotations: { [adoptAnnotation]: "true" } }))
          const held = server.faults.on({ verb: "get", kind: Widget, name: "a" }, Faults.held)
          const { options, reported } = makes()
          yield* run(options)
          server.remove(Widget, "a")
          held.remove()
          yield* settle
          expect(reported.map(({ _tag }) => _tag)).toEqual(["OwnerGone"])
          expect(ownersOf(server)).toBeUndefined()
          expect(writes(server)).toEqual([])
        })
      )
    )
  }
})
