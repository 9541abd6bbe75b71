import { describe, expect, test } from "bun:test"
import * as Index from "./Index.ts"
import { owner, web } from "./Scripted.fixture.ts"
import * as Store from "./Store.ts"

const names = (objects: ReadonlyArray<{ readonly metadata: { readonly name: string } }>): ReadonlyArray<string> =>
  objects.map(({ metadata }) => metadata.name).sort()

const byImage: Index.Definition = { name: "image", values: ({ metadata }) => [metadata.annotations?.image ?? "none"] }
const withImage = (name: string, image: string) => web({ name, rv: "1", metadata: { annotations: { image } } })

describe("A store", () => {
  const filled = () => {
    const store = Store.make()
    store.set("a/x", web({ name: "x", namespace: "a", rv: "1", labels: { app: "x", tier: "front" }, owner: "o1" }))
    store.set("a/y", web({ name: "y", namespace: "a", rv: "2", labels: { app: "y", tier: "front" }, owner: "o1" }))
    store.set("b/x", web({ name: "x", namespace: "b", rv: "3", labels: { app: "x" }, owner: "o2" }))
    return store
  }

  test("returns the stored object itself", () => {
    const store = Store.make()
    const object = web({ name: "x", rv: "1" })
    store.set("default/x", object)
    expect(store.get("default/x")).toBe(object)
    expect(store.list()[0]).toBe(object)
    expect(store.get("default/y")).toBeUndefined()
  })

  test("lists by namespace, by labels, by both, and all", () => {
    const store = filled()
    expect(names(store.list())).toEqual(["x", "x", "y"])
    expect(names(store.list({ namespace: "a" }))).toEqual(["x", "y"])
    expect(names(store.list({ namespace: "c" }))).toEqual([])
    expect(names(store.list({ labels: { app: "x" } }))).toEqual(["x", "x"])
    expect(names(store.list({ labels: { app: "x", tier: "front" } }))).toEqual(["x"])
    expect(names(store.list({ namespace: "b", labels: { app: "x" } }))).toEqual(["x"])
    expect([...store.keys("a")].sort()).toEqual(["a/x", "a/y"])
    expect([...store.keys()].sort()).toEqual(["a/x", "a/y", "b/x"])
  })

  test("finds objects by each of their owners", () => {
    const store = filled()
    expect(names(store.byOwner(owner("o1")))).toEqual(["x", "y"])
    const both = { apiVersion: "v1", kind: "Owner", name: "o" }
    store.set(
      "a/x",
      web({
        name: "x",
        namespace: "a",
        rv: "4",
        metadata: {
          ownerReferences: [
            { ...both, uid: "o2" },
            { ...both, uid: "o3" }
          ]
        }
      })
    )
    expect(names(store.byOwner(owner("o1")))).toEqual(["y"])
    expect(names(store.byOwner(owner("o2")))).toEqual(["x", "x"])
    expect(names(store.byOwner(owner("o3")))).toEqual(["x"])
    store.delete("a/x")
    expect(store.byOwner(owner("o3"))).toEqual([])
  })

  test("ignores owner references across namespaces", () => {
    const store = filled()
    expect(names(store.byOwner(owner("o1", "a")))).toEqual(["x", "y"])
    expect(store.byOwner(owner("o2", "a"))).toEqual([])
    expect(names(store.byOwner(owner("o2", "b")))).toEqual(["x"])
  })

  test("finds objects by a custom index, including one that is added later", () => {
    const store = Store.make([byImage])
    store.set("default/a", withImage("a", "nginx"))
    store.set("default/b", withImage("b", "nginx"))
    store.set("default/c", withImage("c", "caddy"))
    store.addIndex({ name: "initial", values: ({ metadata }) => [metadata.name.slice(0, 1)] })
    store.set("default/b", withImage("b", "caddy"))
    const find = (name: string, value: string) => names(store.list({ index: { name, value } }))
    expect(find("image", "nginx")).toEqual(["a"])
    expect(find("image", "caddy")).toEqual(["b", "c"])
    expect(find("initial", "b")).toEqual(["b"])
    expect(names(store.list({ index: { name: "image", value: "caddy" }, namespace: "other" }))).toEqual([])
    store.delete("default/c")
    expect(find("image", "caddy")).toEqual(["b"])
  })

  test("names a missing index in the error", () => {
    expect(() => Store.make().list({ index: { name: "image", value: "nginx" } })).toThrow('no index "image"')
  })

  test("omits an object from an index whose function throws for it", () => {
    const store = Store.make([
      {
        name: "odd",
        values: ({ metadata }) => {
          if (metadata.name === "odd") throw new Error("no such field")
          return ["v"]
        }
      }
    ])
    store.set("default/odd", web({ name: "odd", rv: "1" }))
    store.set("default/even", web({ name: "even", rv: "1" }))
    expect(names(store.list({ index: { name: "odd", value: "v" } }))).toEqual(["even"])
    expect(store.size()).toBe(2)
  })
})

describe("An index", () => {
  test("drops values without objects", () => {
    const index = Index.make(Index.byOwner)
    const all = Array.from({ length: 3 }, (_, i) => web({ name: `n${i}`, rv: "1", owner: "o" }))
    for (const object of all) index.replace(object.metadata.name, undefined, object)
    expect([...index.keys("o")].sort()).toEqual(["n0", "n1", "n2"])
    for (const object of all) index.replace(object.metadata.name, object, undefined)
    expect(index.size()).toBe(0)
    expect([...index.keys("o")]).toEqual([])
  })

  test("contains an object once that has a value twice", () => {
    const index = Index.make({ name: "twice", values: () => ["v", "v"] })
    const object = web({ name: "a", rv: "1" })
    index.replace("a", undefined, object)
    expect([...index.keys("v")]).toEqual(["a"])
    index.replace("a", object, undefined)
    expect(index.size()).toBe(0)
  })

  test("contains no cluster-scoped object by namespace", () => {
    const index = Index.make(Index.byNamespace)
    index.replace("n", undefined, web({ name: "n", namespace: "", rv: "1" }))
    expect(index.size()).toBe(0)
  })
})
