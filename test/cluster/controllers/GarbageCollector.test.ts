import { describe, expect } from "bun:test"
import { at, type JsonObject, object as objectOf, objects } from "@homeostat/apiserver/model/Json"
import { nameOf, uidOf } from "@homeostat/apiserver/model/ObjectMeta"
import { Effect } from "effect"
import { effect } from "../Test.ts"
import { garbageCollector } from "./GarbageCollector.ts"
import { type Running, start } from "./Running.fixture.ts"

const v1 = "v1"

const configMap = (name: string, ...owners: ReadonlyArray<JsonObject>): JsonObject => ({
  apiVersion: v1,
  kind: "ConfigMap",
  metadata: { name, ...(owners.length === 0 ? {} : { ownerReferences: owners }) }
})

const held = (object: JsonObject): JsonObject => ({
  ...object,
  metadata: { ...objectOf(object.metadata), finalizers: ["example.com/held"] }
})

const reference = (owner: JsonObject, more: JsonObject = {}): JsonObject => ({
  apiVersion: owner.apiVersion,
  kind: owner.kind,
  name: nameOf(owner),
  uid: uidOf(owner),
  ...more
})

const scene = (
  name: string,
  body: (running: Running & { readonly has: (name: string) => boolean }) => Effect.Effect<unknown>
) =>
  effect(name, () =>
    Effect.flatMap(start([garbageCollector]), (running) =>
      body({ ...running, has: (wanted) => running.find(v1, "ConfigMap", wanted) !== undefined })
    )
  )

const owners = (running: Running, name: string) =>
  objects(at(running.find(v1, "ConfigMap", name), "metadata", "ownerReferences")).map((owner) => owner.name)

describe("An owner deleted in the background", () => {
  scene("is removed at once, and its dependents are deleted recursively", (running) =>
    Effect.gen(function* () {
      const owner = running.make(configMap("owner"))
      const child = running.make(configMap("child", reference(owner)))
      running.make(configMap("grandchild", reference(child)))
      yield* running.idle
      running.remove(v1, "ConfigMap", "owner", { propagationPolicy: "Background" })
      expect(running.has("owner")).toBe(false)
      yield* running.idle
      expect(["child", "grandchild"].map(running.has)).toEqual([false, false])
    })
  )

  scene("leaves dependents with another owner, without its owner reference", (running) =>
    Effect.gen(function* () {
      const [one, other] = [running.make(configMap("one")), running.make(configMap("other"))]
      running.make(configMap("child", reference(one), reference(other)))
      running.remove(v1, "ConfigMap", "one")
      yield* running.idle
      expect(owners(running, "child")).toEqual(["other"])
    })
  )
})

describe("An owner deleted in the foreground", () => {
  scene("is removed after its blocking dependents", (running) =>
    Effect.gen(function* () {
      const owner = running.make(configMap("owner"))
      const child = configMap("child", reference(owner, { blockOwnerDeletion: true }))
      running.make(held(child))
      running.remove(v1, "ConfigMap", "owner", { propagationPolicy: "Foreground" })
      yield* running.idle
      expect([running.has("owner"), running.has("child")]).toEqual([true, true])
      running.merge(v1, "ConfigMap", "child", { metadata: { finalizers: null } })
      yield* running.idle
      expect([running.has("owner"), running.has("child")]).toEqual([false, false])
    })
  )

  scene("does not wait for other dependents", (running) =>
    Effect.gen(function* () {
      const owner = running.make(configMap("owner"))
      const child = configMap("child", reference(owner, { blockOwnerDeletion: false }))
      running.make(held(child))
      running.remove(v1, "ConfigMap", "owner", { propagationPolicy: "Foreground" })
      yield* running.idle
      expect([running.has("owner"), running.has("child")]).toEqual([false, true])
    })
  )

  scene("has its dependents deleted in the foreground, too", (running) =>
    Effect.gen(function* () {
      const owner = running.make(configMap("owner"))
      const child = running.make(configMap("child", reference(owner, { blockOwnerDeletion: true })))
      const grandchild = configMap("grandchild", reference(child, { blockOwnerDeletion: true }))
      running.make(held(grandchild))
      yield* running.idle
      running.remove(v1, "ConfigMap", "owner", { propagationPolicy: "Foreground" })
      yield* running.idle
      expect(at(running.find(v1, "ConfigMap", "child"), "metadata", "finalizers")).toEqual(["foregroundDeletion"])
      running.merge(v1, "ConfigMap", "grandchild", { metadata: { finalizers: null } })
      yield* running.idle
      expect(["owner", "child", "grandchild"].map(running.has)).toEqual([false, false, false])
    })
  )

  scene("is removed even if a dependent owns it", (running) =>
    Effect.gen(function* () {
      const one = running.make(configMap("one"))
      const other = running.make(configMap("other", reference(one, { blockOwnerDeletion: true })))
      running.merge(v1, "ConfigMap", "one", {
        metadata: { ownerReferences: [reference(other, { blockOwnerDeletion: true })] }
      })
      yield* running.idle
      running.remove(v1, "ConfigMap", "one", { propagationPolicy: "Foreground" })
      yield* running.idle
      expect(["one", "other"].map(running.has)).toEqual([false, false])
    })
  )
})

scene("An owner deleted with Orphan leaves its dependents without the owner reference", (running) =>
  Effect.gen(function* () {
    running.make(configMap("child", reference(running.make(configMap("owner")))))
    running.remove(v1, "ConfigMap", "owner", { propagationPolicy: "Orphan" })
    yield* running.idle
    expect([running.has("owner"), running.has("child")]).toEqual([false, true])
    expect(owners(running, "child")).toEqual([])
  })
)

scene("An object whose owner never existed is deleted", (running) =>
  Effect.gen(function* () {
    running.make(configMap("child", { apiVersion: v1, kind: "ConfigMap", name: "nobody", uid: "none" }))
    yield* running.idle
    expect(running.has("child")).toBe(false)
  })
)

scene("An owner in another namespace counts as missing: the dependent is deleted, with an Event", (running) =>
  Effect.gen(function* () {
    const owner = running.make(configMap("owner"), "kube-public")
    running.make(configMap("child", reference(owner)))
    yield* running.idle
    expect(running.has("child")).toBe(false)
    const [event] = running.store.list("/events", "default")
    expect(event?.message).toBe(
      `ownerRef [v1/ConfigMap, namespace: default, name: owner, uid: ${uidOf(owner)}] does not exist in namespace "default"`
    )
  })
)

scene("A cluster-scoped object with a namespaced owner is not deleted", (running) =>
  Effect.gen(function* () {
    const ownerReferences = [{ apiVersion: v1, kind: "ConfigMap", name: "nobody", uid: "none" }]
    running.make({ apiVersion: v1, kind: "Node", metadata: { name: "node", ownerReferences } })
    yield* running.idle
    expect(running.find(v1, "Node", "node")).toBeDefined()
  })
)

scene("An object with an owner of an unknown kind is not deleted until the kind is served", (running) =>
  Effect.gen(function* () {
    running.make(configMap("child", { apiVersion: "example.com/v1", kind: "Thing", name: "nobody", uid: "none" }))
    yield* running.idle
    expect(running.has("child")).toBe(true)
    running.make({
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: "things.example.com" },
      spec: {
        group: "example.com",
        scope: "Namespaced",
        names: { plural: "things", kind: "Thing" },
        versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }]
      }
    })
    yield* running.idle
    expect(running.has("child")).toBe(false)
    const thing = running.make({ apiVersion: "example.com/v1", kind: "Thing", metadata: { name: "thing" } })
    running.make(configMap("owned", reference(thing)))
    running.remove("example.com/v1", "Thing", "thing")
    yield* running.idle
    expect(running.has("owned")).toBe(false)
  })
)
