import { describe, expect, test } from "bun:test"
import { jsonPatch } from "../fields/JsonPatch.ts"
import { mergePatch } from "../fields/MergePatch.ts"
import { strategicMergePatch } from "../fields/StrategicMergePatch.ts"
import { deployment, knows, webApp } from "../kinds/Kinds.fixture.ts"
import type { Json, JsonObject } from "../model/Json.ts"
import * as J from "../model/Json.ts"
import * as Patch from "./PatchBody.ts"

const refusal = "the server rejected our request due to an error in our request"

describe("JSON patch", () => {
  const document = { a: { b: 1, n: null }, l: ["x", "y"], "s/t~": 1 }
  const makes = (name: string, operations: Json, result: Json) =>
    test(name, () => expect(jsonPatch(document, operations)).toEqual(result))
  const refuses = (name: string, operations: Json, code = 422, message = refusal) =>
    test(`refuses ${name}`, () => {
      expect(() => jsonPatch(document, operations)).toThrow(expect.objectContaining({ code, message }))
    })

  makes("adds a member", [{ op: "add", path: "/a/c", value: 2 }], { ...document, a: { b: 1, n: null, c: 2 } })
  makes("adds null where it says no value", [{ op: "add", path: "/a/c" }], {
    ...document,
    a: { b: 1, n: null, c: null }
  })
  makes("adds to the end of a list", [{ op: "add", path: "/l/-", value: "z" }], { ...document, l: ["x", "y", "z"] })
  makes("inserts", [{ op: "add", path: "/l/1", value: "z" }], { ...document, l: ["x", "z", "y"] })
  makes("counts from the end", [{ op: "add", path: "/l/-1", value: "z" }], { ...document, l: ["x", "y", "z"] })
  makes(
    "removes",
    [
      { op: "remove", path: "/l/0" },
      { op: "remove", path: "/a" }
    ],
    { l: ["y"], "s/t~": 1 }
  )
  makes("replaces what is not there", [{ op: "replace", path: "/a/z", value: 1 }], {
    ...document,
    a: { b: 1, n: null, z: 1 }
  })
  makes("replaces all", [{ op: "replace", path: "", value: { q: 1 } }], { q: 1 })
  makes("moves", [{ op: "move", from: "/a/b", path: "/m" }], { ...document, a: { n: null }, m: 1 })
  makes(
    "copies, apart from the original",
    [
      { op: "copy", from: "/a", path: "/c" },
      { op: "remove", path: "/a/b" }
    ],
    { ...document, a: { n: null }, c: { b: 1, n: null } }
  )
  makes("copies what is not there as null", [{ op: "copy", from: "/z", path: "/c" }], { ...document, c: null })
  makes("escapes", [{ op: "replace", path: "/s~1t~0", value: 2 }], { ...document, "s/t~": 2 })
  makes(
    "tests",
    [
      { op: "test", path: "/a", value: { n: null, b: 1 } },
      { op: "test", path: "/z", value: null }
    ],
    document
  )
  makes("may be null", null, document)

  refuses("a test that fails", [{ op: "test", path: "/a/b", value: 2 }])
  refuses("to remove what is not there", [{ op: "remove", path: "/a/z" }])
  refuses("a path through what is not there", [{ op: "add", path: "/z/y", value: 1 }])
  refuses("a path without a slash", [{ op: "add", path: "", value: {} }])
  refuses("an index that is too high", [{ op: "add", path: "/l/3", value: 1 }])
  refuses("an index that is none", [{ op: "replace", path: "/l/x", value: 1 }])
  refuses("the end of a list to be removed", [{ op: "remove", path: "/l/-" }])
  refuses("an unknown operation", [{ op: "grow", path: "/a" }])
  refuses(
    "what is no list",
    {},
    400,
    "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"
  )
  refuses(
    "what is no operation",
    [1],
    400,
    "error decoding patch: json: cannot unmarshal number into Go value of type handlers.jsonPatchOp"
  )
  refuses(
    "a path that is no text",
    [{ op: "add", path: 5 }],
    400,
    "error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.path of type string"
  )
  refuses(
    "more than ten thousand operations",
    Array.from({ length: 10_001 }, () => ({ op: "remove", path: "/a" })),
    413,
    "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"
  )

  test("does not change the document", () => {
    const before = structuredClone(document)
    jsonPatch(document, [
      { op: "remove", path: "/l/0" },
      { op: "add", path: "/a/b", value: 9 }
    ])
    expect(document).toEqual(before)
  })
})

describe("merge patch", () => {
  test("replaces, adds, and removes with null", () => {
    expect(
      mergePatch(
        { a: { b: 1, c: 2 }, l: [1, 2], s: "x" },
        { a: { b: null, d: { e: 1, f: null } }, l: [3], s: null, z: null }
      )
    ).toEqual({
      a: { c: 2, d: { e: 1 } },
      l: [3]
    })
  })
  test("removes nulls from new objects in lists", () => {
    expect(mergePatch({}, { l: [{ a: null, b: 1 }, null] })).toEqual({ l: [{ b: 1 }, null] })
  })
  test("rejects a patch that is not an object", () => {
    expect(() => mergePatch({}, null)).toThrow("Invalid JSON Patch")
    expect(() => mergePatch({}, [])).toThrow(
      "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}"
    )
  })
})

describe("strategic merge patch", () => {
  const pod = (containers: Json, more: JsonObject = {}): JsonObject => ({
    spec: { template: { spec: { containers, ...more } } }
  })
  const container = (name: string) => ({ name, image: name, args: ["1"] })
  const [a, b, c] = [container("a"), container("b"), container("c")]
  const live: JsonObject = {
    metadata: { finalizers: ["f/1", "f/2", "f/3"], labels: { l: "1" } },
    spec: { ...J.object(pod([a, b, c]).spec), strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 1 } } }
  }
  const patched = (patch: Json) => strategicMergePatch(deployment.schema, live, J.copy(patch))
  const containers = (patch: Json, more?: JsonObject) =>
    J.objects(J.at(patched(pod(patch, more)), "spec", "template", "spec", "containers")).map(
      ({ image, name }) => `${name}:${image}`
    )
  const orders = (name: string, patch: Json, order: ReadonlyArray<string>, expected: ReadonlyArray<string>) =>
    test(name, () => {
      expect(containers(patch, { "$setElementOrder/containers": order.map((name) => ({ name })) })).toEqual([
        ...expected
      ])
    })
  const finalizers = (patch: JsonObject) => J.at(patched({ metadata: patch }), "metadata", "finalizers")

  test("merges lists by their key", () => {
    expect(containers([{ name: "b", image: "new" }])).toEqual(["a:a", "b:new", "c:c"])
    expect(J.at(patched(pod([{ name: "b", args: ["2"] }])), "spec", "template", "spec", "containers")).toEqual([
      { ...a },
      { ...b, args: ["2"] },
      { ...c }
    ])
  })
  test("inserts new items before the items that only the object has", () => {
    expect(containers([{ name: "z", image: "z" }])).toEqual(["z:z", "a:a", "b:b", "c:c"])
  })
  test("deletes and replaces with directives", () => {
    expect(containers([{ name: "b", $patch: "delete" }])).toEqual(["a:a", "c:c"])
    expect(containers([{ $patch: "replace" }, { name: "z", image: "z" }])).toEqual(["z:z"])
    expect(patched({ metadata: { labels: { $patch: "replace", m: "2" } } }).metadata).toMatchObject({
      labels: { m: "2" }
    })
    expect(patched({ metadata: { labels: { $patch: "delete" } } }).metadata).toMatchObject({ labels: {} })
    expect(patched({ metadata: { labels: { l: null } } }).metadata).toMatchObject({ labels: {} })
  })
  orders("orders what is there", [], ["c", "a"], ["b:b", "c:c", "a:a"])
  orders("orders what is new", [{ name: "z", image: "z" }], ["z", "c"], ["z:z", "a:a", "b:b", "c:c"])
  test("merges lists of scalars", () => {
    expect(finalizers({ finalizers: ["f/9", "f/2"] })).toEqual(["f/9", "f/1", "f/2", "f/3"])
    expect(finalizers({ "$deleteFromPrimitiveList/finalizers": ["f/2"] })).toEqual(["f/1", "f/3"])
    expect(finalizers({ "$setElementOrder/finalizers": ["f/3", "f/1"] })).toEqual(["f/2", "f/3", "f/1"])
  })
  test("keeps only the requested parts of an object", () => {
    expect(patched({ spec: { strategy: { $retainKeys: ["type"], type: "Recreate" } } })).toMatchObject({
      spec: { strategy: { type: "Recreate" } }
    })
  })
  test("may be null", () => expect(patched(null)).toEqual(live))
  test("changes neither the object nor the patch", () => {
    const patch = { metadata: { "$setElementOrder/finalizers": ["f/2"], labels: { $patch: "replace" } } }
    const before = structuredClone({ live, patch })
    patched(patch)
    expect({ live, patch }).toEqual(before)
  })

  const refuses = (patch: Json, code: number, message: string) =>
    test(`${JSON.stringify(patch)} is refused`, () => {
      expect(() => patched(patch)).toThrow(expect.objectContaining({ code, message }))
    })
  refuses([], 400, "json: cannot unmarshal array into Go value of type map[string]interface {}")
  refuses(
    { spec: { strategy: { $retainKeys: ["type"], rollingUpdate: {} } } },
    400,
    "invalid patch format of retainKeys"
  )
  refuses({ spec: { $setElementOrder: [] } }, 400, "invalid patch format of setElementOrder list")
  refuses({ spec: { $deleteFromPrimitiveListx: [] } }, 400, "invalid patch format of primitive list")
  refuses({ spec: { $patch: "merge" } }, 500, "unknown patch type: merge in map: map[$patch:merge]")
  refuses(pod([{ image: "x" }]), 500, "map: map[image:x] does not contain declared merge key: name")
  refuses(pod([{ name: "a", $patch: "merge" }]), 500, "merging lists cannot yet be specified in the patch")
  refuses(pod([{ name: "a", $patch: "grow" }]), 500, "unknown patch type: grow in map: map[$patch:grow name:a]")
  refuses(
    pod([{ name: "a" }], { "$setElementOrder/containers": [{ name: "b" }] }),
    500,
    "The order in patch list:\n[map[name:a]]\n doesn't match $setElementOrder list:\n[map[name:b]]\n"
  )
  refuses(
    { metadata: { "$setElementOrder/finalizers": null } },
    500,
    "expected a []interface {}, but received a %!s(<nil>)"
  )
  refuses({ metadata: { finalizers: [1] } }, 500, "list element types are not identical: [[f/1 f/2 f/3] [1]]")
  refuses(
    { spec: { "$setElementOrder/foo": [], foo: [{}] } },
    500,
    'unable to find api field in struct DeploymentSpec for the json field "foo"'
  )
})

describe("a patched object", () => {
  const object = { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "d" }, spec: { replicas: 1 } }
  const apply = (type: Patch.Patch["type"], body: string, fieldValidation: "Strict" | "Warn" = "Warn") => {
    const warnings: Array<string> = []
    const options = { fieldValidation, warn: (warning: string) => warnings.push(warning), knows }
    return { value: Patch.apply(deployment, Patch.read(type, body), object, options), warnings }
  }
  const refuses = (
    type: Patch.Patch["type"],
    body: string,
    code: number,
    message: string,
    fieldValidation?: "Strict"
  ) =>
    test(`by the ${type} patch ${body} is refused`, () => {
      expect(() => apply(type, body, fieldValidation)).toThrow(expect.objectContaining({ code, message }))
    })

  test("loses its unknown fields, with a warning", () => {
    expect(apply("merge", '{"spec":{"foo":1,"replicas":2,"replicas":3}}')).toEqual({
      value: { ...object, spec: { replicas: 3 } },
      warnings: ['duplicate field "spec.replicas"', 'unknown field "spec.foo"']
    })
    expect(apply("json", '[{"op":"add","path":"/spec/paused","value":true,"x":1}]').warnings).toEqual([
      'json patch unknown field "[0].x"'
    ])
  })
  test("keeps its kind after a strategic merge patch of the kind", () => {
    expect(apply("strategic", '{"kind":"Foo"}').value).toEqual(object)
  })
  const invalid = (shown: string, error: string) =>
    ` "" is invalid: patch: Invalid value: ${JSON.stringify(shown)}: ${error}`
  refuses("merge", "{", 400, "invalid JSON patch")
  refuses(
    "merge",
    '{"spec":{"replicas":"<x>"}}',
    422,
    invalid(
      '{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"spec":{"replicas":"\\u003cx\\u003e"}}',
      "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32"
    )
  )
  refuses(
    "strategic",
    '{"spec":{"replicas":"x"}}',
    422,
    invalid("map[spec:map[replicas:x]]", "unrecognized type: int32")
  )
  refuses(
    "strategic",
    '{"spec":{"replicas":1.5}}',
    422,
    invalid("map[spec:map[replicas:1.5]]", "cannot convert float64 to int32")
  )
  refuses(
    "strategic",
    '{"spec":{"selector":"x"}}',
    422,
    invalid("map[spec:map[selector:x]]", "cannot restore struct from: string")
  )
  refuses(
    "strategic",
    '{"spec":{"selector":["x"]}}',
    422,
    invalid("map[spec:map[selector:[x]]]", "cannot restore struct from: slice")
  )
  refuses(
    "strategic",
    '{"metadata":{"finalizers":{"a":"b"}}}',
    422,
    invalid("map[metadata:map[finalizers:map[a:b]]]", "cannot restore slice from map")
  )
  refuses("strategic", '{"foo":1}', 422, invalid("map[foo:1]", 'strict decoding error: unknown field "foo"'), "Strict")
  test("of a custom kind requires a kind", () => {
    const custom = { apiVersion: "example.com/v1", kind: "WebApp", metadata: { name: "w" } }
    const options = { fieldValidation: "Warn", warn: () => {}, knows } as const
    expect(() => Patch.apply(webApp, Patch.read("merge", '{"kind":null}'), custom, options)).toThrow(
      /Object 'Kind' is missing in/
    )
  })
})
