import { describe, expect, test } from "bun:test"
import { ConfigMap } from "../resource/BuiltIn.ts"
import * as Resource from "../resource/Resource.ts"
import * as Ownership from "./Ownership.ts"

const kindOf = (kind: string, namespaced: boolean) =>
  Resource.make<Resource.Any["Type"], never>({
    group: "example.com",
    version: "v1",
    kind,
    plural: `${kind.toLowerCase()}s`,
    namespaced
  })

const namespaced = kindOf("Widget", true)
const wide = kindOf("Gadget", false)

const owner = (namespace?: string) => ({
  metadata: {
    name: "w",
    uid: "u",
    resourceVersion: "1",
    creationTimestamp: "2026-11-20T00:00:00Z",
    ...(namespace === undefined ? {} : { namespace })
  }
})

describe("An owner can own", () => {
  test("an object in its own namespace", () => {
    expect(Ownership.mistakeIn(owner("a"), namespaced, ConfigMap, { name: "c", namespace: "a" })).toBeUndefined()
  })
  test("any object, if it is cluster-scoped", () => {
    expect(Ownership.mistakeIn(owner(), wide, ConfigMap, { name: "c", namespace: "b" })).toBeUndefined()
    expect(Ownership.mistakeIn(owner(), wide, wide, { name: "c" })).toBeUndefined()
  })
})

const wayOut =
  "(make Widget cluster-scoped, or create it with Client.apply and a label, watch that label with Trigger.on, delete it in a finalizer)"

describe("An owner cannot own", () => {
  test("an object in another namespace", () => {
    expect(Ownership.mistakeIn(owner("a"), namespaced, ConfigMap, { name: "c", namespace: "b" })).toBe(
      `Widget a/w cannot own an object in another namespace: ConfigMap b/c ${wayOut}`
    )
  })
  test("a cluster-scoped object, if it is namespaced", () => {
    expect(Ownership.mistakeIn(owner("a"), namespaced, wide, { name: "c" })).toBe(
      `Widget a/w cannot own a cluster-scoped object: Gadget c ${wayOut}`
    )
  })
  test("a namespaced object without a namespace", () => {
    expect(Ownership.mistakeIn(owner(), wide, ConfigMap, { name: "c" })).toBe(
      "ConfigMap c has no namespace: required (set metadata.namespace, as its owner is cluster-scoped)"
    )
  })
})

describe("A child is", () => {
  const controlledBy = (over: object) => ({
    ownerReferences: [{ apiVersion: "example.com/v1", kind: "Widget", name: "w", uid: "u", controller: true, ...over }]
  })
  const applied = { annotations: { "homeostat.dev/intent": "h" } }
  const given = { annotations: { "example.com/adopt": "true" } }
  const claim = (metadata: object, adoptAnnotation: string | undefined = "example.com/adopt") =>
    Ownership.of(
      owner("a"),
      namespaced,
      { metadata: { name: "c", namespace: "a", uid: "c", resourceVersion: "1", creationTimestamp: "", ...metadata } },
      { adoptAnnotation }
    )

  test("ours, if its controller is the owner by uid", () => {
    expect(claim(controlledBy({}))).toBe("ours")
    expect(claim(controlledBy({ controller: false }))).toBe("none")
  })

  test("adoptable, if it has no controller and has the adopt annotation", () => {
    expect(claim(given)).toBe("adoptable")
    expect(claim({ annotations: { "example.com/adopt": "yes" } })).toBe("none")
    expect(claim({ ...given, ...controlledBy({ uid: "other" }) })).toBe("none")
    expect(claim({})).toBe("none")
  })

  test("not adoptable without a configured annotation", () => {
    const options = {}
    const metadata = { name: "c", uid: "c", resourceVersion: "1", creationTimestamp: "", ...given }
    expect(Ownership.of(owner("a"), namespaced, { metadata }, options)).toBe("none")
  })

  test("an orphan, if it was applied and has no controller, or one with the owner's name", () => {
    expect(claim(applied)).toBe("orphan")
    expect(claim({ ...applied, ...controlledBy({ uid: "before" }) })).toBe("orphan")
    expect(claim({ ...applied, ...controlledBy({ uid: "before", apiVersion: "example.com/v2" }) })).toBe("orphan")
    expect(claim({ ...applied, ...controlledBy({ uid: "before", apiVersion: "example.org/v1" }) })).toBe("none")
    expect(claim({ ...applied, ...controlledBy({ uid: "before", apiVersion: "v1" }) })).toBe("none")
    expect(claim({ ...applied, ...controlledBy({ uid: "before", kind: "Gadget" }) })).toBe("none")
    expect(claim({ ...applied, ...controlledBy({ uid: "before", name: "x" }) })).toBe("none")
  })
})
