import { expect, test } from "bun:test"
import type { Method } from "../client/Request.ts"
import * as Assumed from "./Assumed.ts"

const before = {
  metadata: { name: "a", namespace: "default", uid: "u", resourceVersion: "7", creationTimestamp: "then" },
  spec: { size: 1, items: ["x", "y"], old: true },
  status: { seen: 1 }
}

const request = (method: Method, body: unknown, type = "application/merge-patch+json") => ({
  method,
  headers: { "content-type": type },
  body: JSON.stringify(body)
})

const after = (one: Parameters<typeof Assumed.of>[0], known: typeof before, subresource = ""): unknown =>
  Assumed.of(one, known.metadata.name, known, subresource, 0)?.after

test("A patch changes the known object", () => {
  const merge = request("PATCH", { spec: { size: 2, old: null } })
  expect(after(merge, before)).toEqual({ ...before, spec: { size: 2, items: ["x", "y"] } })
  const apply = request("PATCH", { metadata: { name: "a" }, spec: { size: 3 } }, "application/apply-patch+yaml")
  expect(after(apply, before)).toEqual({ ...before, spec: { ...before.spec, size: 3 } })
  const operations = [
    { op: "test", path: "/spec/size", value: 1 },
    { op: "replace", path: "/spec/size", value: 2 },
    { op: "remove", path: "/spec/items/0" },
    { op: "add", path: "/spec/items/-", value: "z" },
    { op: "add", path: "/metadata/annotations", value: { "a/b": "1" } },
    { op: "replace", path: "/metadata/annotations/a~1b", value: "2" }
  ]
  expect(after(request("PATCH", operations, "application/json-patch+json"), before)).toEqual({
    ...before,
    metadata: { ...before.metadata, annotations: { "a/b": "2" } },
    spec: { ...before.spec, size: 2, items: ["y", "z"] }
  })
})

test("A write of a subresource changes only that part", () => {
  const patch = request("PATCH", { spec: { size: 9 }, status: { seen: 2 } })
  expect(after(patch, before, "status")).toEqual({ ...before, status: { seen: 2 } })
})

test("A creation and an apply of an absent object store the object with the metadata of an API server", () => {
  const metadata = { uid: "assumed-b", resourceVersion: "1", creationTimestamp: "1970-01-01T00:00:00Z" }
  const body = { metadata: { name: "b" }, data: {} }
  expect(Assumed.of(request("POST", body), "b", null, "", 0)).toMatchObject({
    status: 201,
    after: { metadata: { name: "b", ...metadata }, data: {} }
  })
  const apply = request("PATCH", body, "application/apply-patch+yaml")
  expect(Assumed.of(apply, "b", undefined, "", 0)).toMatchObject({ status: 201, after: { metadata } })
})

test("A creation of a known object gets 409, and generated names differ", () => {
  expect(Assumed.of(request("POST", before), "a", before, "", 0)).toMatchObject({
    status: 409,
    body: { reason: "AlreadyExists", message: '"a" already exists' },
    after: before
  })
  const generated = request("POST", { metadata: { generateName: "c-" } })
  expect([1, 2].map((nth) => Assumed.nameOf(generated, nth))).toEqual(["c-00001", "c-00002"])
  expect(Assumed.of(generated, "c-00001", null, "", 0)).toMatchObject({ after: { metadata: { name: "c-00001" } } })
  expect(Assumed.nameOf(request("POST", before), 3)).toBe("a")
})

test("A replacement keeps the identity of the object", () => {
  expect(after(request("PUT", { metadata: { name: "a" }, spec: { size: 2 } }), before)).toEqual({
    metadata: { name: "a", uid: "u", resourceVersion: "7", creationTimestamp: "then" },
    spec: { size: 2 }
  })
})

test("A deletion removes the object, or marks it while it has finalizers", () => {
  expect(Assumed.of(request("DELETE", {}), "a", before, "", 0)).toMatchObject({ status: 200, after: null })
  const held = { ...before, metadata: { ...before.metadata, finalizers: ["f"] } }
  expect(after(request("DELETE", {}), held)).toMatchObject({
    metadata: { deletionTimestamp: "1970-01-01T00:00:00Z" }
  })
})

test("A patch or a deletion of an absent object gets 404, and of an unknown object no answer", () => {
  for (const method of ["PATCH", "PUT", "DELETE"] as const) {
    expect(Assumed.of(request(method, {}), "b", null, "", 0)).toMatchObject({ status: 404, after: null })
    expect(Assumed.of(request(method, {}), "b", undefined, "", 0)).toBeUndefined()
  }
})
