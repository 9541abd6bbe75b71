import { describe, expect, test } from "bun:test"
import type { JsonObject } from "../model/Json.ts"
import * as Json from "../model/Json.ts"
import * as Store from "./Store.ts"

const object = (namespace: string, name: string, more: JsonObject = {}): JsonObject => ({
  metadata: { name, ...(namespace !== "" && { namespace }) },
  ...more
})

const names = (objects: ReadonlyArray<JsonObject> | undefined) =>
  objects?.map(({ metadata }) => `${Json.at(metadata, "namespace") ?? ""}/${Json.at(metadata, "name") ?? ""}`)

describe("Store", () => {
  test("gives every write the next revision across all storages", () => {
    const store = Store.make()
    const first = store.revision
    const written = [
      store.put("a", object("n", "x")),
      store.put("b", object("n", "x")),
      store.put("a", object("n", "x"))
    ]
    expect(written.map((one) => Json.at(one, "metadata", "resourceVersion"))).toEqual(
      [1, 2, 3].map((step) => String(first + step))
    )
  })

  test("lists by namespace and name, in the order of etcd's keys", () => {
    const store = Store.make()
    for (const [namespace, name] of [
      ["b", "a"],
      ["a", "z"],
      ["a-b", "m"],
      ["a", "b"]
    ] as const) {
      store.put("s", object(namespace, name))
    }
    expect(names(store.list("s"))).toEqual(["a-b/m", "a/b", "a/z", "b/a"])
    expect(names(store.list("s", "a"))).toEqual(["a/b", "a/z"])
    expect(store.list("other")).toEqual([])
  })

  test("restores a saved state by events for the differences", () => {
    const store = Store.make()
    const uid = (name: string, uid: string, value: number) => ({ metadata: { name, namespace: "n", uid }, value })
    const kept = store.put("s", uid("kept", "1", 1))
    store.put("s", uid("changed", "2", 1))
    store.put("s", uid("deleted", "3", 1))
    store.put("s", uid("replaced", "4", 1))
    const saved = store.saved()
    store.put("s", uid("changed", "2", 2))
    store.remove("s", "n", "deleted")
    store.remove("s", "n", "replaced")
    store.put("s", uid("replaced", "5", 1))
    store.put("s", uid("new", "6", 1))
    store.put("other", uid("new", "7", 1))
    const { revision } = store
    for (const again of [saved, JSON.parse(JSON.stringify(saved)) as Store.Saved]) {
      store.restore(again)
      expect(names(store.list("s"))).toEqual(["n/changed", "n/deleted", "n/kept", "n/replaced"])
      expect(store.list("s").map(({ value }) => value)).toEqual([1, 1, 1, 1])
      expect(store.list("other")).toEqual([])
      expect(store.get("s", "n", "kept")).toBe(kept)
    }
    const changes = store
      .changes("s", revision)
      ?.map(({ object, type }) => `${type} ${Json.at(object, "metadata", "uid")}`)
    expect(changes).toEqual(["DELETED 5", "DELETED 6", "MODIFIED 2", "ADDED 3", "ADDED 4"])
  })

  test("shows an earlier revision by undoing later changes", () => {
    const store = Store.make()
    store.put("s", object("n", "kept", { value: 1 }))
    store.put("s", object("n", "gone"))
    store.put("s", object("n", "still"))
    const then = store.revision
    store.put("s", object("n", "kept", { value: 2 }))
    store.remove("s", "n", "gone")
    store.put("s", object("n", "new"))
    store.put("other", object("n", "still"))
    const before = store.listAt("s", then)
    expect(names(before)).toEqual(["n/gone", "n/kept", "n/still"])
    expect(before?.map(({ value }) => value)).toEqual([undefined, 1, undefined])
    expect(names(store.list("s"))).toEqual(["n/kept", "n/new", "n/still"])
  })

  test("returns the changes after a revision, and nothing for a revision that is too old", () => {
    const store = Store.make({ history: 4 })
    const start = store.revision
    for (let index = 0; index < 3; index++) store.put("s", object("n", `x${index}`))
    expect(store.changes("s", start + 1)?.map(({ revision, type }) => [revision - start, type])).toEqual([
      [2, "ADDED"],
      [3, "ADDED"]
    ])
    for (let index = 0; index < 20; index++) store.put("s", object("n", "x0"))
    expect(store.changes("s", start + 1)).toBeUndefined()
    expect(store.listAt("s", start + 1)).toBeUndefined()
    expect(store.changes("s", store.oldest)?.length).toBeGreaterThanOrEqual(4)
    expect(store.changes("s", store.oldest - 1)).toBeUndefined()
  })

  test("keeps no change of a loaded object, unless a watch needs it", () => {
    const store = Store.make()
    const before = store.revision
    store.load("a", object("n", "x"))
    expect([store.revision, names(store.list("a")), store.changes("a", before)]).toEqual([before + 1, ["n/x"], []])
    const seen: Array<string> = []
    const unsubscribe = store.subscribe(({ type }) => seen.push(type), "a")
    store.load("a", object("n", "x"))
    store.load("b", object("n", "x"))
    unsubscribe()
    expect([seen, store.changes("a", before)?.length, store.changes("b", before)]).toEqual([["MODIFIED"], 1, []])
  })

  test("keeps the resourceVersion of a loaded object, and gives later writes higher ones", () => {
    const store = Store.make()
    const loaded = (name: string, resourceVersion: string) =>
      store.load("a", { metadata: { namespace: "n", name, resourceVersion } })
    const versionOf = ({ metadata }: JsonObject) => Json.object(metadata).resourceVersion
    expect(versionOf(loaded("x", "48213"))).toBe("48213")
    expect(versionOf(loaded("y", "7"))).toBe("7")
    expect(versionOf(loaded("z", "not a number"))).toBe("not a number")
    expect([store.revision, versionOf(store.put("a", object("n", "x")))]).toEqual([48213, "48214"])
    const seen: Array<readonly [number, unknown]> = []
    store.subscribe((change) => seen.push([change.revision, versionOf(change.object)]))
    loaded("w", "100")
    loaded("v", "60000")
    expect(seen).toEqual([
      [48215, "100"],
      [60000, "60000"]
    ])
  })

  test("returns the last state of a removed object with the revision of the removal", () => {
    const store = Store.make()
    const received: Array<Store.Change> = []
    const stop = store.subscribe((change) => received.push(change), "s")
    store.put("s", object("n", "x", { value: 1 }))
    store.remove("s", "n", "x")
    store.put("other", object("n", "x"))
    stop()
    store.put("s", object("n", "x"))
    expect(received.map(({ type }) => type)).toEqual(["ADDED", "DELETED"])
    expect(received[1]?.object).toMatchObject({
      value: 1,
      metadata: { resourceVersion: String(received[1]?.revision) }
    })
    expect(store.remove("s", "n", "none")).toBeUndefined()
  })

  test("keeps the values of all objects current through each kind of change", () => {
    const valuesOf = ({ list }: JsonObject) => Json.list(list).map(String)
    const store = Store.make()
    store.put("a", object("n", "before", { list: ["1"] }))
    const values = store.values("a", valuesOf)
    expect(store.values("a", valuesOf)).toBe(values)
    const held = () => ["1", "2", "3"].filter((value) => values.has(value))
    store.put("a", object("n", "x", { list: ["1", "2"] }))
    store.load("a", object("n", "y", { list: ["3"] }))
    store.put("b", object("n", "other", { list: ["4"] }))
    expect([held(), values.has("4"), values.losses]).toEqual([["1", "2", "3"], false, 0])
    expect([values.has("1", "n/x"), values.has("2", "n/x"), values.has("2", "n/y")]).toEqual([true, false, true])
    const saved = store.saved()
    store.put("a", object("n", "x", { list: ["2"] }))
    store.remove("a", "n", "y")
    expect([held(), values.losses]).toEqual([["1", "2"], 2])
    store.remove("a", "n", "before")
    expect([held(), values.losses]).toEqual([["2"], 3])
    store.restore(saved)
    expect(held()).toEqual(["1", "2", "3"])
    expect(Store.make({ saved }).values("a", valuesOf).has("3")).toBe(true)
  })

  test("continues from a saved state, without history", () => {
    const store = Store.make()
    store.put("s", object("b", "x"))
    store.put("s", object("a", "x"))
    const again = Store.make({ saved: JSON.parse(JSON.stringify(store.saved())) })
    expect(again.revision).toBe(store.revision)
    expect(again.list("s")).toEqual(store.list("s"))
    expect(again.changes("s", again.revision - 1)).toBeUndefined()
    expect(Json.at(again.put("s", object("c", "x")), "metadata", "resourceVersion")).toBe(String(store.revision + 1))
  })
})
