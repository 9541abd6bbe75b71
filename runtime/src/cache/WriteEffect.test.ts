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

describe("The effect of a write", () => {
  test("is the answered object without managedFields, and the answer itself is unchanged", () => {
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

  test("is unknown for another kind, and for subresources other than status", () => {
    expect(tag(WriteEffect.of(write(), kind(Other)))).toBe("nothing")
    expect(tag(WriteEffect.of(write({ subresource: "scale" }), kind(WebApp)))).toBe("nothing")
    expect(tag(WriteEffect.of(write({ subresource: "status" }), kind(WebApp)))).toBe("Present")
  })

  test("is unknown for another version of the kind, except for its metadata", () => {
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

  test("is unknown if the answer contains only metadata", () => {
    const partial: KubernetesObject = { ...web({ name: "a", rv: "7" }), kind: "PartialObjectMetadata" }
    const byMetadata = write({ resource: Resource.metadataOnly(WebApp), object: partial })
    expect(tag(WriteEffect.of(byMetadata, kind(WebApp)))).toBe("nothing")
    expect(tag(WriteEffect.of(byMetadata, kind(Resource.metadataOnly(WebApp))))).toBe("Present")
  })

  test("is the object of an answer without a kind, unless only metadata was requested", () => {
    const { kind: _, ...nameless } = { kind: "", ...web({ name: "a", rv: "7" }) }
    expect(tag(WriteEffect.of(write({ object: nameless }), kind(WebApp)))).toBe("Present")
    const byMetadata = write({ resource: Resource.metadataOnly(WebApp), object: nameless })
    expect(tag(WriteEffect.of(byMetadata, kind(WebApp)))).toBe("nothing")
  })

  test("is that the object left a selector, unless only the server can evaluate the selector", () => {
    expect(tag(WriteEffect.of(write(), kind(WebApp, "app=a")))).toBe("Present")
    expect(WriteEffect.of(write(), kind(WebApp, "app=b"))).toEqual({
      _tag: "Outside",
      key: "default/a",
      resourceVersion: "7"
    })
    expect(tag(WriteEffect.of(write(), kind(WebApp, "app>1")))).toBe("nothing")
  })
})

describe("The effect of a deletion", () => {
  test("answered with a Status is that the object with this UID is removed, for every version and selector", () => {
    const deletion = write({ verb: "delete", object: undefined, uid: "u" })
    const gone = { _tag: "Removed", key: "default/a", uid: "u", resourceVersion: undefined } as const
    for (const resource of [WebApp, WebAppV1, Resource.metadataOnly(WebApp)]) {
      expect(WriteEffect.of(deletion, kind(resource, "app=b"))).toEqual(gone)
    }
    expect(tag(WriteEffect.of(write({ verb: "delete", object: undefined }), kind(WebApp)))).toBe("nothing")
  })

  test("answered with an object that is not being deleted is the same", () => {
    expect(tag(WriteEffect.of(write({ verb: "delete" }), kind(WebApp)))).toBe("Removed")
    expect(tag(WriteEffect.of(write({ verb: "update" }), kind(WebApp)))).toBe("Present")
  })

  test("answered with a finalizer or a grace period is that the object still exists", () => {
    const waiting = [leaving({ finalizers: ["f"] }), leaving({ deletionGracePeriodSeconds: 30 })]
    for (const object of waiting) {
      expect(tag(WriteEffect.of(write({ verb: "delete", object }), kind(WebApp)))).toBe("Present")
    }
  })

  test("also follows an update that removes the last finalizer", () => {
    expect(tag(WriteEffect.of(write({ verb: "patch", object: leaving({}) }), kind(WebApp)))).toBe("Removed")
    expect(
      tag(WriteEffect.of(write({ verb: "patch", object: leaving({ deletionGracePeriodSeconds: 0 }) }), kind(WebApp)))
    ).toBe("Removed")
    expect(tag(WriteEffect.of(write({ verb: "patch", object: leaving({ finalizers: ["f"] }) }), kind(WebApp)))).toBe(
      "Present"
    )
  })

  test("is not the removal of a Namespace, which its own controller removes", () => {
    const object: KubernetesObject = { ...leaving({ namespace: "" }), kind: "Namespace" }
    expect(tag(WriteEffect.of(write({ resource: Namespace, verb: "delete", object }), kind(Namespace)))).toBe("Present")
  })
})
