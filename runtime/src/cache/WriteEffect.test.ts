import { describe, expect, test } from "bun:test"
import type * as WriteBroadcaster from "../client/WriteBroadcaster.ts"
import type { KubernetesObject, ObjectMeta } from "../resource/KubernetesObject.ts"
import * as Resource from "../resource/Resource.ts"
import * as LabelSelector from "./LabelSelector.ts"
import { web } from "./Scripted.fixture.ts"
import * as WriteEffect from "./WriteEffect.ts"

const coordinates = { group: "apps.kubedojo.io", version: "v1beta1", kind: "WebApp", plural: "webapps" }
const WebApp = Resource.make(coordinates)
const WebAppV1 = Resource.make({ ...coordinates, version: "v1" })
const Other = Resource.make({ ...coordinates, plural: "others", kind: "Other" })
const Namespace = Resource.make({
  group: "",
  version: "v1",
  kind: "Namespace",
  plural: "namespaces",
  namespaced: false
})

const kind = (resource: Resource.Any, selector?: string): WriteEffect.CachedKind => ({
  resource,
  matches: LabelSelector.parse(selector)
})

const write = (change: Partial<WriteBroadcaster.Write> = {}): WriteBroadcaster.Write => ({
  resource: WebApp,
  verb: "update",
  key: { namespace: "default", name: "a" },
  object: web({ name: "a", rv: "7", labels: { app: "a" } }),
  ...change
})

const tag = (of: WriteEffect.WriteEffect | undefined): string => of?._tag ?? "nothing"
const leaving = (metadata: Partial<ObjectMeta>): KubernetesObject =>
  web({ name: "a", rv: "7", metadata: { deletionTimestamp: "2026-11-20T00:00:00Z", ...metadata } })

describe("the answer to a write", () => {
  test("is the object, without managedFields, and leaves the writer's answer as it is", () => {
    const answer = web({ name: "a", rv: "7", metadata: { managedFields: [{ manager: "m" }] } })
    const of = WriteEffect.of(write({ object: answer }), kind(WebApp))
    expect(of).toMatchObject({ _tag: "Present", key: "default/a" })
    const metadata = of?._tag === "Present" ? of.object.metadata : undefined
    expect(metadata).not.toHaveProperty("managedFields")
    expect(metadata?.resourceVersion).toBe("7")
    expect(answer.metadata.managedFields).toHaveLength(1)
    const bare = web({ name: "a", rv: "7" })
    const same = WriteEffect.of(write({ object: bare }), kind(WebApp))
    expect(same?._tag === "Present" && same.object).toBe(bare)
  })

  test("says nothing about another kind, nor about the object if it is about a subresource other than status", () => {
    expect(tag(WriteEffect.of(write(), kind(Other)))).toBe("nothing")
    expect(tag(WriteEffect.of(write({ subresource: "scale" }), kind(WebApp)))).toBe("nothing")
    expect(tag(WriteEffect.of(write({ subresource: "status" }), kind(WebApp)))).toBe("Present")
  })

  test("says nothing certain about another version of the kind, but everything about its metadata", () => {
    expect(tag(WriteEffect.of(write(), kind(WebAppV1)))).toBe("nothing")
    const metadata = WriteEffect.of(write(), kind(Resource.metadataOnly(WebAppV1)))
    expect(metadata).toMatchObject({
      _tag: "Present",
      object: {
        apiVersion: "meta.k8s.io/v1",
        kind: "PartialObjectMetadata",
        metadata: { name: "a", labels: { app: "a" } }
      }
    })
  })

  test("does not stand for the object when it is its metadata alone", () => {
    const partial: KubernetesObject = { ...web({ name: "a", rv: "7" }), kind: "PartialObjectMetadata" }
    const byMetadata = write({ resource: Resource.metadataOnly(WebApp), object: partial })
    expect(tag(WriteEffect.of(byMetadata, kind(WebApp)))).toBe("nothing")
    expect(tag(WriteEffect.of(byMetadata, kind(Resource.metadataOnly(WebApp))))).toBe("Present")
  })

  test("without a kind is the object, unless only its metadata was asked for", () => {
    const { kind: _, ...nameless } = { kind: "", ...web({ name: "a", rv: "7" }) }
    expect(tag(WriteEffect.of(write({ object: nameless }), kind(WebApp)))).toBe("Present")
    const byMetadata = write({ resource: Resource.metadataOnly(WebApp), object: nameless })
    expect(tag(WriteEffect.of(byMetadata, kind(WebApp)))).toBe("nothing")
  })

  test("says that the object left a selector that it does not match, and nothing when only the server can decide", () => {
    expect(tag(WriteEffect.of(write(), kind(WebApp, "app=a")))).toBe("Present")
    expect(WriteEffect.of(write(), kind(WebApp, "app=b"))).toEqual({
      _tag: "Outside",
      key: "default/a",
      resourceVersion: "7"
    })
    expect(tag(WriteEffect.of(write(), kind(WebApp, "app>1")))).toBe("nothing")
  })
})

describe("the answer to a deletion", () => {
  test("as a Status means that the object with its UID is gone, in every version and selection", () => {
    const deletion = write({ verb: "delete", object: undefined, uid: "u" })
    const gone = { _tag: "Removed", key: "default/a", uid: "u", resourceVersion: undefined } as const
    for (const resource of [WebApp, WebAppV1, Resource.metadataOnly(WebApp)]) {
      expect(WriteEffect.of(deletion, kind(resource, "app=b"))).toEqual(gone)
    }
    expect(tag(WriteEffect.of(write({ verb: "delete", object: undefined }), kind(WebApp)))).toBe("nothing")
  })

  test("as an object that is not being deleted means the same: it is the last state", () => {
    expect(tag(WriteEffect.of(write({ verb: "delete" }), kind(WebApp)))).toBe("Removed")
    expect(tag(WriteEffect.of(write({ verb: "update" }), kind(WebApp)))).toBe("Present")
  })

  test("as an object that waits for a finalizer or for its pod to stop means that it is still there", () => {
    const waiting = [leaving({ finalizers: ["f"] }), leaving({ deletionGracePeriodSeconds: 30 })]
    for (const object of waiting) {
      expect(tag(WriteEffect.of(write({ verb: "delete", object }), kind(WebApp)))).toBe("Present")
    }
  })

  test("is the one to an update that took the last finalizer off, too", () => {
    expect(tag(WriteEffect.of(write({ verb: "patch", object: leaving({}) }), kind(WebApp)))).toBe("Removed")
    expect(
      tag(WriteEffect.of(write({ verb: "patch", object: leaving({ deletionGracePeriodSeconds: 0 }) }), kind(WebApp)))
    ).toBe("Removed")
    expect(tag(WriteEffect.of(write({ verb: "patch", object: leaving({ finalizers: ["f"] }) }), kind(WebApp)))).toBe(
      "Present"
    )
  })

  test("does not end a Namespace, which its own controller removes", () => {
    const object: KubernetesObject = { ...leaving({ namespace: "" }), kind: "Namespace" }
    expect(tag(WriteEffect.of(write({ resource: Namespace, verb: "delete", object }), kind(Namespace)))).toBe("Present")
  })
})
