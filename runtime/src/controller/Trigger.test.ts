import { describe, expect, test } from "bun:test"
import { ConfigMap, Deployment, Namespace } from "../resource/BuiltIn.ts"
import type { KubernetesObject, OwnerReference } from "../resource/KubernetesObject.ts"
import * as Resource from "../resource/Resource.ts"
import * as Trigger from "./Trigger.ts"
import { Widget } from "./World.fixture.ts"

const owner: OwnerReference = { apiVersion: "example.com/v1", kind: "Widget", name: "a", uid: "u", controller: true }

const child = (...ownerReferences: ReadonlyArray<OwnerReference>): KubernetesObject => ({
  metadata: {
    name: "child",
    namespace: "shop",
    uid: "c",
    resourceVersion: "7",
    creationTimestamp: "2026-11-20T00:00:00Z",
    ownerReferences
  }
})

const mapped = (trigger: Trigger.Trigger, object: KubernetesObject) => {
  const keys = trigger.map(object)
  // These triggers read nothing, so their keys are synchronous.
  return Array.from(keys as Iterable<unknown>)
}

describe("An owned object", () => {
  const trigger = Trigger.owned(Widget, { resource: ConfigMap })

  test("triggers its controlling owner, in its own namespace", () => {
    expect(mapped(trigger, child(owner))).toEqual([{ namespace: "shop", name: "a" }])
  })
  test("triggers its owner after a new version of the owner's kind", () => {
    expect(mapped(trigger, child({ ...owner, apiVersion: "example.com/v1alpha1" }))).toEqual([
      { namespace: "shop", name: "a" }
    ])
  })
  test("triggers no owner of another group or kind", () => {
    expect(mapped(trigger, child({ ...owner, apiVersion: "other.com/v1" }))).toEqual([])
    expect(mapped(trigger, child({ ...owner, apiVersion: "v1" }))).toEqual([])
    expect(mapped(trigger, child({ ...owner, kind: "Gadget" }))).toEqual([])
  })
  test("triggers only its controlling owner among several", () => {
    const { controller, ...plain } = owner
    expect(mapped(trigger, child(plain))).toEqual([])
    expect(mapped(trigger, child({ ...owner, controller: false }))).toEqual([])
    expect(mapped(trigger, child({ ...plain, name: "x" }, owner))).toEqual([{ namespace: "shop", name: "a" }])
    expect(mapped(trigger, child(owner, { ...plain, kind: "Gadget" }))).toEqual([{ namespace: "shop", name: "a" }])
  })
  test("without an owner triggers nothing", () => {
    expect(mapped(trigger, child())).toEqual([])
  })
  test("of an owner in the core group has an empty group", () => {
    const pod = { ...owner, apiVersion: "v1", kind: "ConfigMap" }
    expect(mapped(Trigger.owned(ConfigMap, { resource: Deployment }), child(pod))).toEqual([
      { namespace: "shop", name: "a" }
    ])
    expect(
      mapped(Trigger.owned(ConfigMap, { resource: Deployment }), child({ ...pod, apiVersion: "apps/v1" }))
    ).toEqual([])
  })
  test("of a cluster-scoped owner triggers it by name", () => {
    const reference = { ...owner, apiVersion: "v1", kind: "Namespace" }
    expect(mapped(Trigger.owned(Namespace, { resource: ConfigMap }), child(reference))).toEqual([{ name: "a" }])
  })
})

describe("A watched object", () => {
  const map = (object: KubernetesObject) => [{ name: object.metadata.name }]

  test("triggers the keys of its map", () => {
    expect(mapped(Trigger.on(ConfigMap, { map }), child())).toEqual([{ name: "child" }])
  })
  test("that is invalid triggers nothing", () => {
    const invalid: KubernetesObject & { readonly spec: unknown } = { ...child(), spec: { size: "big" } }
    expect(mapped(Trigger.on(Widget, { map }), invalid)).toEqual([])
    expect(mapped(Trigger.onMetadata(Widget, { map }), invalid)).toEqual([{ name: "child" }])
  })
  test("has another identity if only its metadata is watched", () => {
    expect(Resource.identityOf(Trigger.onMetadata(ConfigMap, { map }).resource)).toBe("configmaps/v1:metadata")
  })
})

describe("A trigger event", () => {
  const change = { object: child(), initial: false, relisted: false, receivedAt: 42 }
  test("contains the object, its version and the time", () => {
    expect(Trigger.fired("owned", ConfigMap, { ...change, type: "updated" })).toEqual({
      kind: "owned.modified",
      source: { kind: "ConfigMap", key: "shop/child", uid: change.object.metadata.uid, resourceVersion: "7" },
      at: 42
    })
    expect(Trigger.fired("watch", ConfigMap, { ...change, type: "deleted" }).kind).toBe("watch.deleted")
  })
  test("of the first list has the kind startup", () => {
    expect(Trigger.fired("owned", ConfigMap, { ...change, type: "added", initial: true }).kind).toBe("startup")
  })

  describe("A trigger event has the trace of the change", () => {
    const trace = `00-${"b".repeat(32)}-${"c".repeat(16)}-01`
    const annotated = (value: string | undefined): KubernetesObject => {
      const object = child()
      const annotations = value === undefined ? {} : { "my/trace": value }
      return { ...object, metadata: { ...object.metadata, annotations } }
    }
    const of = (over: Partial<Parameters<typeof Trigger.fired>[2]>, key: string | undefined = "my/trace") =>
      Trigger.fired("owned", ConfigMap, { ...change, object: annotated(trace), type: "added", ...over }, key)
        .traceparent
    const other = trace.replaceAll("c", "d")

    test("if the object is new, or had another trace before", () => {
      expect(of({})).toBe(trace)
      expect(of({ type: "updated", previous: annotated(undefined) })).toBe(trace)
      expect(of({ type: "updated", previous: annotated(other) })).toBe(trace)
    })
    test("but not if the trace is older or of unknown age", () => {
      expect(of({ type: "updated", previous: annotated(trace) })).toBeUndefined()
      expect(of({ type: "updated" })).toBeUndefined()
      expect(of({ initial: true })).toBeUndefined()
      expect(of({ type: "deleted" })).toBeUndefined()
    })
    test("but not without tracing, under another key, or if it is invalid", () => {
      expect(
        Trigger.fired("owned", ConfigMap, { ...change, object: annotated(trace), type: "added" })
      ).not.toHaveProperty("traceparent")
      expect(of({}, "other/trace")).toBeUndefined()
      expect(of({ object: annotated("<script>") })).toBeUndefined()
    })
  })
})
