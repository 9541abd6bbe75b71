import { describe, expect, test } from "bun:test"
import type * as Writes from "../client/Writes.ts"
import type { KubernetesObject, ObjectMeta } from "../resource/KubernetesObject.ts"
import * as Resource from "../resource/Resource.ts"
import * as LabelSelector from "./LabelSelector.ts"
import { web } from "./Scripted.fixture.ts"
import * as Write from "./Write.ts"

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

const scope = (resource: Resource.Any, selector?: string): Write.Scope => ({
  resource,
  matches: LabelSelector.parse(selector)
})

const write = (change: Partial<Writes.Write> = {}): Writes.Write => ({
  resource: WebApp,
  verb: "update",
  key: { namespace: "default", name: "a" },
  object: web({ name: "a", rv: "7", labels: { app: "a" } }),
  ...change
})

const tag = (meaning: Write.Meaning | undefined): string => meaning?._tag ?? "nothing"
const leaving = (metadata: Partial<ObjectMeta>): KubernetesObject =>
  web({ name: "a", rv: "7", metadata: { deletionTimestamp: "2026-11-20T00:00:00Z", ...metadata } })

describe("the answer to a write", () => {
  test("is the object, without managedFields, and leaves the writer's answer as it is", () => {
    const answer = web({ name: "a", rv: "7", metadata: { managedFields: [{ manager: "m" }] } })
    const meaning = Write.meaning(write({ object: answer }), scope(WebApp))
    expect(meaning).toMatchObject({ _tag: "Present", key: "default/a" })
    const metadata = meaning?._tag === "Present" ? meaning.object.metadata : undefined
    expect(metadata).not.toHaveProperty("managedFields")
    expect(metadata?.resourceVersion).toBe("7")
    expect(answer.metadata.managedFields).toHaveLength(1)
    const bare = web({ name: "a", rv: "7" })
    const same = Write.meaning(write({ object: bare }), scope(WebApp))
    expect(same?._tag === "Present" && same.object).toBe(bare)
  })

  test("says nothing about another kind, nor about the object if it is about a subresource other than status", () => {
    expect(tag(Write.meaning(write(), scope(Other)))).toBe("nothing")
    expect(tag(Write.meaning(write({ subresource: "scale" }), scope(WebApp)))).toBe("nothing")
    expect(tag(Write.meaning(write({ subresource: "status" }), scope(WebApp)))).toBe("Present")
  })

  test("says nothing certain about another version of the kind, but everything about its metadata", () => {
    expect(tag(Write.meaning(write(), scope(WebAppV1)))).toBe("nothing")
    const metadata = Write.meaning(write(), scope(Resource.metadataOnly(WebAppV1)))
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
    expect(tag(Write.meaning(byMetadata, scope(WebApp)))).toBe("nothing")
    expect(tag(Write.meaning(byMetadata, scope(Resource.metadataOnly(WebApp))))).toBe("Present")
  })

  test("without a kind is the object, unless only its metadata was asked for", () => {
    const { kind: _, ...nameless } = { kind: "", ...web({ name: "a", rv: "7" }) }
    expect(tag(Write.meaning(write({ object: nameless }), scope(WebApp)))).toBe("Present")
    const byMetadata = write({ resource: Resource.metadataOnly(WebApp), object: nameless })
    expect(tag(Write.meaning(byMetadata, scope(WebApp)))).toBe("nothing")
  })

  test("says that the object left a selector that it does not match, and nothing when only the server can decide", () => {
    expect(tag(Write.meaning(write(), scope(WebApp, "app=a")))).toBe("Present")
    expect(Write.meaning(write(), scope(WebApp, "app=b"))).toEqual({
      _tag: "Outside",
      key: "default/a",
      resourceVersion: "7"
    })
    expect(tag(Write.meaning(write(), scope(WebApp, "app>1")))).toBe("nothing")
  })
})

describe("the answer to a deletion", () => {
  test("as a Status means that the object with its UID is gone, in every version and selection", () => {
    const deletion = write({ verb: "delete", object: undefined, uid: "u" })
    const gone = { _tag: "Removed", key: "default/a", uid: "u", resourceVersion: undefined } as const
    for (const resource of [WebApp, WebAppV1, Resource.metadataOnly(WebApp)]) {
      expect(Write.meaning(deletion, scope(resource, "app=b"))).toEqual(gone)
    }
    expect(tag(Write.meaning(write({ verb: "delete", object: undefined }), scope(WebApp)))).toBe("nothing")
  })

  test("as an object that is not being deleted means the same: it is the last state", () => {
    expect(tag(Write.meaning(write({ verb: "delete" }), scope(WebApp)))).toBe("Removed")
    expect(tag(Write.meaning(write({ verb: "update" }), scope(WebApp)))).toBe("Present")
  })

  test("as an object that waits for a finalizer or for its pod to stop means that it is still there", () => {
    const waiting = [leaving({ finalizers: ["f"] }), leaving({ deletionGracePeriodSeconds: 30 })]
    for (const object of waiting) {
      expect(tag(Write.meaning(write({ verb: "delete", object }), scope(WebApp)))).toBe("Present")
    }
  })

  test("is the one to an update that took the last finalizer off, too", () => {
    expect(tag(Write.meaning(write({ verb: "patch", object: leaving({}) }), scope(WebApp)))).toBe("Removed")
    expect(
      tag(Write.meaning(write({ verb: "patch", object: leaving({ deletionGracePeriodSeconds: 0 }) }), scope(WebApp)))
    ).toBe("Removed")
    expect(tag(Write.meaning(write({ verb: "patch", object: leaving({ finalizers: ["f"] }) }), scope(WebApp)))).toBe(
      "Present"
    )
  })

  test("does not end a Namespace, which its own controller removes", () => {
    const object: KubernetesObject = { ...leaving({ namespace: "" }), kind: "Namespace" }
    expect(tag(Write.meaning(write({ resource: Namespace, verb: "delete", object }), scope(Namespace)))).toBe("Present")
  })
})
