import { describe, expect, test } from "bun:test"
import type * as Watch from "../client/Watch.ts"
import type { KubernetesObject } from "../resource/KubernetesObject.ts"
import * as Time from "../resource/Time.ts"
import * as Mirror from "./Mirror.ts"
import { web } from "./Scripted.fixture.ts"
import * as Store from "./Store.ts"

const fixture = (namespace?: string) => {
  const table = Store.make()
  const mirror = Mirror.make({ table, namespace, clock: { ...Time.machine, currentTimeMillisUnsafe: () => 42 } })
  const shown = (changes: ReadonlyArray<Store.Change>): ReadonlyArray<string> =>
    changes.map(
      ({ initial, object, previous, relisted, type }) =>
        `${type} ${object.metadata.name} ${previous === undefined ? "" : `${previous.metadata.resourceVersion}->`}${object.metadata.resourceVersion}${initial ? " initial" : ""}${relisted ? " relisted" : ""}`
    )
  const stage = (...objects: ReadonlyArray<KubernetesObject>) => shown(mirror.edit({ _tag: "Stage", objects }))
  const commit = (resourceVersion: string) => shown(mirror.edit({ _tag: "Commit", resourceVersion }))
  return {
    table,
    mirror,
    stage,
    commit,
    list: (resourceVersion: string, ...objects: ReadonlyArray<KubernetesObject>) => {
      mirror.edit({ _tag: "Begin" })
      return [...stage(...objects), ...commit(resourceVersion)]
    },
    apply: (resourceVersion: string, ...events: ReadonlyArray<Watch.Event>) =>
      shown(mirror.edit({ _tag: "Apply", events, resourceVersion }))
  }
}

const put = (object: KubernetesObject): Watch.Event => ({ type: "MODIFIED", object })
const gone = (object: KubernetesObject): Watch.Event => ({ type: "DELETED", object })

describe("Subscribers receive", () => {
  test("all objects of the first list as initial", () => {
    const { list, mirror } = fixture()
    expect(mirror.synced()).toBe(false)
    expect(list("9", web({ name: "a", rv: "1" }), web({ name: "b", rv: "2" }))).toEqual([
      "added a 1 initial",
      "added b 2 initial"
    ])
    expect(mirror.synced()).toBe(true)
  })

  test("the differences of a later list, with the last known state of deleted objects", () => {
    const { list, table } = fixture()
    const same = web({ name: "same", rv: "1" })
    list("9", same, web({ name: "changed", rv: "2" }), web({ name: "gone", rv: "3" }))
    expect(
      list("20", web({ name: "same", rv: "1" }), web({ name: "changed", rv: "12" }), web({ name: "new", rv: "13" }))
    ).toEqual(["deleted gone 3 relisted", "updated changed 2->12 relisted", "added new 13 relisted"])
    // The same object keeps its identity, so caches that use the object as their key stay valid.
    expect(table.get("default/same")).toBe(same)
  })

  test("a deletion and a creation for an object that was recreated between two lists", () => {
    const { list } = fixture()
    list("9", web({ name: "a", rv: "1", uid: "u1" }))
    expect(list("20", web({ name: "a", rv: "12", uid: "u2" }))).toEqual(["deleted a 1 relisted", "added a 12 relisted"])
  })

  test("events with the states before and after, and deletions with the last state of the server", () => {
    const { apply, list } = fixture()
    list("9", web({ name: "a", rv: "1" }))
    expect(
      apply(
        "12",
        put(web({ name: "a", rv: "10" })),
        gone(web({ name: "a", rv: "11" })),
        put(web({ name: "a", rv: "12" }))
      )
    ).toEqual(["updated a 1->10", "deleted a 11", "added a 12"])
  })

  test("the time of each change, and whether it came with a list", () => {
    const { list, mirror } = fixture()
    list("9", web({ name: "a", rv: "1" }))
    const events = [put(web({ name: "a", rv: "10" })), gone(web({ name: "a", rv: "11" }))]
    const how = { initial: false, relisted: false, receivedAt: 42 }
    expect(mirror.edit({ _tag: "Apply", events, resourceVersion: "11" })).toMatchObject([
      { type: "updated", ...how },
      { type: "deleted", ...how }
    ])
    mirror.edit({ _tag: "Begin" })
    mirror.edit({ _tag: "Stage", objects: [web({ name: "b", rv: "12" })] })
    expect(mirror.edit({ _tag: "Commit", resourceVersion: "12" })).toMatchObject([
      { type: "added", initial: false, relisted: true, receivedAt: 42 }
    ])
  })

  test("no event without a change, and no deletion of an unknown object", () => {
    const { apply, list } = fixture()
    list("9", web({ name: "a", rv: "9" }))
    expect(apply("9", put(web({ name: "a", rv: "9" })), gone(web({ name: "b", rv: "9" })))).toEqual([])
  })

  test("the previous state of the watch, not that of an own write", () => {
    const { apply, list, mirror, table } = fixture()
    list("9", web({ name: "a", rv: "1" }))
    mirror.overlay.written("default/a", "10", web({ name: "a", rv: "10" }))
    expect(table.get("default/a")?.metadata.resourceVersion).toBe("10")
    expect(apply("10", put(web({ name: "a", rv: "10" })))).toEqual(["updated a 1->10"])
  })
})

describe("The first list", () => {
  test("stores each object as it arrives, as initial", () => {
    const { commit, mirror, stage, table } = fixture()
    mirror.edit({ _tag: "Begin" })
    expect(stage(web({ name: "a", rv: "1" }))).toEqual(["added a 1 initial"])
    expect(stage(web({ name: "b", rv: "2" }))).toEqual(["added b 2 initial"])
    expect([[...table.keys()], mirror.synced()]).toEqual([["default/a", "default/b"], false])
    expect(commit("9")).toEqual([])
    expect(mirror.synced()).toBe(true)
  })

  test("removes objects of an earlier attempt when it is complete", () => {
    const { commit, mirror, stage, table } = fixture()
    mirror.edit({ _tag: "Begin" })
    stage(web({ name: "gone", rv: "1" }), web({ name: "changed", rv: "2" }), web({ name: "same", rv: "3" }))
    mirror.edit({ _tag: "Begin" })
    expect(stage(web({ name: "changed", rv: "12" }), web({ name: "same", rv: "3" }))).toEqual([
      "updated changed 2->12 initial"
    ])
    expect(commit("20")).toEqual(["deleted gone 1 relisted"])
    expect([...table.keys()]).toEqual(["default/changed", "default/same"])
  })
})

test("differs from a later list, which changes nothing until it is complete", () => {
  const { commit, list, mirror, stage, table } = fixture()
  list("9", web({ name: "a", rv: "1" }), web({ name: "b", rv: "2" }))
  mirror.edit({ _tag: "Begin" })
  expect(stage(web({ name: "a", rv: "11" }), web({ name: "c", rv: "12" }))).toEqual([])
  expect(table.list().map(({ metadata }) => metadata.resourceVersion)).toEqual(["1", "2"])
  expect(commit("20")).toEqual(["deleted b 2 relisted", "updated a 1->11 relisted", "added c 12 relisted"])
})

test("keeps an own write visible until the list is newer", () => {
  const { commit, mirror, stage, table } = fixture()
  mirror.edit({ _tag: "Begin" })
  mirror.overlay.written("default/a", "5", web({ name: "a", rv: "5" }))
  mirror.overlay.written("default/b", "30", web({ name: "b", rv: "30" }))
  stage(web({ name: "a", rv: "4" }), web({ name: "b", rv: "3" }))
  expect(table.list().map(({ metadata }) => metadata.resourceVersion)).toEqual(["5", "30"])
  commit("9")
  expect([table.get("default/a"), table.get("default/b")].map((one) => one?.metadata.resourceVersion)).toEqual([
    "4",
    "30"
  ])
})

test("of a server restored from a backup drops earlier own writes and deletions", () => {
  const { list, mirror, table } = fixture()
  const a = web({ name: "a", rv: "50", uid: "u1" })
  list("60", a, web({ name: "b", rv: "51" }))
  mirror.overlay.deleted("default/a", "u1", undefined)
  mirror.overlay.written("default/b", "70", web({ name: "b", rv: "70" }))
  expect(table.get("default/a")).toBeUndefined()
  expect(list("55", web({ name: "a", rv: "50", uid: "u1" }), web({ name: "b", rv: "51" }))).toEqual([])
  expect(table.get("default/a")).toBe(a)
  expect(table.get("default/b")?.metadata.resourceVersion).toBe("51")
  expect(mirror.overlay.size()).toBe(0)
})

test("of one namespace deletes nothing in another one", () => {
  const { list, table } = fixture("default")
  table.set("other/x", web({ name: "x", namespace: "other", rv: "1" }))
  list("9", web({ name: "a", rv: "2" }))
  expect(list("20")).toEqual(["deleted a 2 relisted"])
  expect([...table.keys()]).toEqual(["other/x"])
})
