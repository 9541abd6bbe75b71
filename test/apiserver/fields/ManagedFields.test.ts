import { describe, expect, test } from "bun:test"
import * as Shape from "../kinds/Shape.ts"
import { Failure } from "../model/Failure.ts"
import type { DraftObject, Json, JsonObject } from "../model/Json.ts"
import * as J from "../model/Json.ts"
import type { Kind } from "../model/Kind.ts"
import { schemaOf } from "../model/OpenApiDefinitions.ts"
import type { Schema } from "../model/Schema.ts"
import * as ManagedFields from "./ManagedFields.ts"

const text: Schema = { type: "string" }

const thing: ManagedFields.Owned = {
  group: "example.com",
  version: "v1",
  kind: "Thing",
  custom: true,
  schema: {
    type: "object",
    properties: {
      spec: {
        type: "object",
        properties: {
          a: text,
          b: text,
          map: { type: "object", additionalProperties: text },
          items: {
            type: "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            items: { type: "object", properties: { name: text, value: text } }
          }
        }
      },
      status: { type: "object", properties: { phase: text } }
    }
  }
}

const deployment: ManagedFields.Owned = {
  group: "apps",
  version: "v1",
  kind: "Deployment",
  custom: false,
  schema: schemaOf("apps", "v1", "Deployment") ?? {},
  zero: Shape.zero(Shape.of("apps/v1.Deployment"))
}

const second = 1_000
const writing = (manager: string, at = 0): ManagedFields.Write => ({
  kind: thing,
  manager,
  subresource: undefined,
  resetFields: [["status"]],
  now: at * second
})
const applying = (manager: string, at = 0, force = false): ManagedFields.Apply => ({
  ...writing(manager, at),
  force,
  default: () => {}
})

const object = (spec: JsonObject, more: JsonObject = {}): JsonObject => ({
  apiVersion: "example.com/v1",
  kind: "Thing",
  metadata: { name: "x", namespace: "n", uid: "u" },
  spec,
  ...more
})

/** The live object with another spec, as a client would send it after a read. */
const changed = (live: JsonObject, spec: JsonObject): JsonObject => ({ ...live, spec })

const withEntries = (live: JsonObject, managedFields: Json): JsonObject => ({
  ...live,
  metadata: { ...J.object(live.metadata), managedFields }
})

/** Lists the managers with their time and fields, in short form: `m Update 3: {…}`. */
const owners = (of: JsonObject): ReadonlyArray<string> =>
  J.objects(J.at(of, "metadata", "managedFields")).map(
    ({ fieldsV1, manager, operation, subresource, time }) =>
      `${manager} ${operation}${subresource === undefined ? "" : `/${subresource}`} ${
        typeof time === "string" ? Date.parse(time) / second : "-"
      }: ${JSON.stringify(J.object(fieldsV1)["f:spec"] ?? fieldsV1)}`
  )

const refusal = (attempt: () => unknown): Failure => {
  try {
    attempt()
  } catch (error) {
    if (error instanceof Failure) return error
    throw error
  }
  throw new Error("it was not refused")
}

describe("A manager that creates, updates or patches", () => {
  const live = ManagedFields.updated(writing("m", 1), undefined, object({ a: "1", map: { x: "1" } }))

  test("owns the fields of a new object, except for names and the fields that the server sets", () => {
    expect(owners(live)).toEqual(['m Update 1: {".":{},"f:a":{},"f:map":{".":{},"f:x":{}}}'])
    expect(live.metadata).toMatchObject({
      managedFields: [{ apiVersion: "example.com/v1", fieldsType: "FieldsV1", time: "1970-01-01T00:00:01Z" }]
    })
  })

  test("does not own the structs that a built-in kind always has", () => {
    const template = { metadata: { labels: { l: "1" } }, spec: { containers: [{ name: "c", resources: {} }] } }
    const made = ManagedFields.updated({ ...writing("m"), kind: deployment }, undefined, {
      ...object({ selector: { matchLabels: { l: "1" } }, template, strategy: { type: "Recreate" } }),
      apiVersion: "apps/v1",
      kind: "Deployment",
      status: {}
    })
    expect(owners(made)).toEqual([
      `m Update 0: {"f:selector":{},"f:strategy":{"f:type":{}},"f:template":{"f:metadata":{"f:labels":{".":{},"f:l":{}}},"f:spec":{"f:containers":{"k:{\\"name\\":\\"c\\"}":{".":{},"f:name":{},"f:resources":{}}}}}}`
    ])
  })

  test("takes the changed fields from their owners, and leaves the others", () => {
    const next = ManagedFields.updated(writing("n", 2), live, changed(live, { a: "2", map: { x: "1", y: "2" } }))
    expect(owners(next)).toEqual([
      'm Update 1: {".":{},"f:map":{".":{},"f:x":{}}}',
      'n Update 2: {"f:a":{},"f:map":{"f:y":{}}}'
    ])
  })

  test("leaves a removed field without an owner", () => {
    const next = ManagedFields.updated(writing("n", 2), live, changed(live, { a: "1" }))
    expect(owners(next)).toEqual(['m Update 1: {".":{},"f:a":{}}'])
  })

  test("keeps the time if nothing changes", () => {
    expect(owners(ManagedFields.updated(writing("m", 9), live, J.copy(live)))).toEqual(owners(live))
    const relabelled = { ...live, metadata: { ...J.object(live.metadata), generation: 5, resourceVersion: "7" } }
    expect(owners(ManagedFields.updated(writing("m", 9), live, relabelled))).toEqual(owners(live))
  })

  test("does not own the fields that its endpoint resets", () => {
    const next = ManagedFields.updated(writing("m", 2), live, { ...live, status: { phase: "up" } })
    expect(owners(next)).toEqual(owners(live))
    const status = { ...writing("m", 2), subresource: "status", resetFields: [["spec"], ["metadata"]] }
    const up = ManagedFields.updated(status, live, { ...changed(live, { a: "9" }), status: { phase: "up" } })
    expect(owners(up)[1]).toBe('m Update/status 2: {"f:status":{".":{},"f:phase":{}}}')
  })

  test("is one of at most ten managers: the oldest are merged", () => {
    let many = live
    for (let at = 2; at <= 12; at++) {
      const map = { ...J.object(J.at(many, "spec", "map")), [`k${at}`]: "1" }
      many = ManagedFields.updated(writing(`m${at}`, at), many, changed(many, { a: "1", map }))
    }
    expect(owners(many)).toHaveLength(10)
    expect(owners(many)[0]).toBe(
      'ancient-changes Update 3: {".":{},"f:a":{},"f:map":{".":{},"f:k2":{},"f:k3":{},"f:x":{}}}'
    )
  })

  test("is one of at most ten managers, however many the object had", () => {
    const entries = Array.from({ length: 14 }, (_, index) => ({
      manager: `m${index}`,
      operation: "Update",
      apiVersion: "example.com/v1",
      fieldsType: "FieldsV1",
      fieldsV1: { "f:spec": { "f:map": { [`f:k${index}`]: {} } } }
    }))
    expect(owners(ManagedFields.updated(writing("m"), live, withEntries(live, entries)))).toHaveLength(10)
  })

  test("keeps the stored managers if it sends none, or invalid ones", () => {
    for (const entries of [
      null,
      [],
      [{ manager: "x" }],
      [{ operation: "Update", apiVersion: "v1", fieldsType: "FieldsV1", fieldsV1: { f: {} } }]
    ]) {
      expect(owners(ManagedFields.updated(writing("m", 9), live, withEntries(live, entries)))).toEqual(owners(live))
    }
  })

  test("may set the managers of the object, but not through a subresource", () => {
    const entry = {
      manager: "made-up",
      operation: "Apply",
      apiVersion: "example.com/v1",
      fieldsType: "FieldsV1",
      fieldsV1: { "f:spec": { "f:b": {} } }
    }
    expect(owners(ManagedFields.updated(writing("m"), live, withEntries(live, [entry])))).toEqual([
      'made-up Apply -: {"f:b":{}}'
    ])
    const status = { ...writing("m"), subresource: "status" }
    expect(owners(ManagedFields.updated(status, live, withEntries(live, [entry])))).toEqual(owners(live))
  })

  test("may remove all managers, which then stay unknown until the next apply", () => {
    const forgotten = ManagedFields.updated(writing("m"), live, withEntries(live, [{}]))
    expect(forgotten.metadata).not.toHaveProperty("managedFields")
    const next = ManagedFields.updated(writing("m"), forgotten, changed(forgotten, { a: "3" }))
    expect(owners(next)).toEqual([])
    expect(owners(ManagedFields.applied(applying("a", 5), next, object({ b: "1" })))).toEqual([
      'a Apply 5: {"f:b":{}}',
      'before-first-apply Update 5: {".":{},"f:a":{}}'
    ])
  })

  test("keeps the stored managers if the object does not match its schema", () => {
    expect(owners(ManagedFields.updated(writing("n"), live, changed(live, { unknown: 1 })))).toEqual(owners(live))
  })
})

describe("A manager that applies", () => {
  const first = ManagedFields.applied(applying("a", 1), undefined, object({ a: "1", map: { x: "1" } }))

  test("creates a missing object, and owns the fields of its configuration", () => {
    expect(owners(first)).toEqual(['a Apply 1: {"f:a":{},"f:map":{"f:x":{}}}'])
    expect(first.spec).toEqual({ a: "1", map: { x: "1" } })
  })

  test("changes nothing, not even the time, if it applies the same again", () => {
    expect(ManagedFields.applied(applying("a", 9), first, object({ a: "1", map: { x: "1" } }))).toEqual(first)
  })

  test("gets a conflict for each field of another manager that it would change", () => {
    const failure = refusal(() =>
      ManagedFields.applied(applying("b"), first, object({ a: "2", map: { x: "2", y: "1" } }))
    )
    expect(failure).toMatchObject({
      code: 409,
      reason: "Conflict",
      message: 'Apply failed with 2 conflicts: conflicts with "a":\n- .spec.a\n- .spec.map.x',
      details: {
        causes: [
          { reason: "FieldManagerConflict", message: 'conflict with "a"', field: ".spec.a" },
          { reason: "FieldManagerConflict", message: 'conflict with "a"', field: ".spec.map.x" }
        ]
      }
    })
  })

  test("gets a single conflict in one line, with the operation of the other manager", () => {
    const updated = ManagedFields.updated(
      { ...writing("m"), subresource: "odd" },
      first,
      changed(first, { a: "2", map: { x: "1" } })
    )
    expect(refusal(() => ManagedFields.applied(applying("b"), updated, object({ a: "3" }))).message).toBe(
      'Apply failed with 1 conflict: conflict with "m" with subresource "odd" using example.com/v1: .spec.a'
    )
  })

  test("takes the fields if it forces the conflicts", () => {
    const taken = ManagedFields.applied(applying("b", 2, true), first, object({ a: "2" }))
    expect(taken.spec).toEqual({ a: "2", map: { x: "1" } })
    expect(owners(taken)).toEqual(['a Apply 1: {"f:map":{"f:x":{}}}', 'b Apply 2: {"f:a":{}}'])
  })

  test("shares the ownership of fields that it applies with the same value", () => {
    const shared = ManagedFields.applied(applying("b", 2), first, object({ a: "1" }))
    expect(owners(shared)).toEqual(['b Apply -: {"f:a":{}}', 'a Apply 1: {"f:a":{},"f:map":{"f:x":{}}}'])
  })

  test("removes the fields that it no longer applies, unless another manager owns them", () => {
    const shared = ManagedFields.applied(applying("b", 2), first, object({ a: "1" }))
    const left = ManagedFields.applied(applying("a", 3), shared, object({ b: "1" }))
    expect(left.spec).toEqual({ a: "1", b: "1" })
    expect(owners(left)).toEqual(['b Apply -: {"f:a":{}}', 'a Apply 3: {"f:b":{}}'])
  })

  test("removes an item with all its fields, but keeps the fields of other managers", () => {
    const items = [{ name: "x", value: "1" }, { name: "y" }]
    const live = ManagedFields.applied(applying("a", 1), undefined, object({ items }))
    const both = ManagedFields.applied(applying("b", 2), live, object({ items: [{ name: "y", value: "2" }] }))
    const left = ManagedFields.applied(applying("a", 3), both, object({ a: "1" }))
    expect(left.spec).toEqual({ a: "1", items: [{ name: "y", value: "2" }] })
  })

  test("does not remove a field that it took over and that another manager has updated since", () => {
    const updated = ManagedFields.updated(writing("m", 2), first, changed(first, { a: "2", map: { x: "1" } }))
    const left = ManagedFields.applied(applying("a", 3), updated, object({ map: { x: "1" } }))
    expect(left.spec).toEqual({ a: "2", map: { x: "1" } })
  })

  test("gets the defaults after the merge", () => {
    const fill = (draft: DraftObject) => {
      J.member(draft, "spec").b = "default"
    }
    const made = ManagedFields.applied({ ...applying("a"), default: fill }, undefined, object({ a: "1" }))
    expect(made.spec).toEqual({ a: "1", b: "default" })
    expect(owners(made)).toEqual(['a Apply 0: {"f:a":{}}'])
  })

  test.each<[string, JsonObject, number, string]>([
    ["of another version", { apiVersion: "example.com/v2" }, 400, "invalid object type: example.com/v2, Kind=Thing"],
    ["of the core group", { apiVersion: "v1" }, 400, "invalid object type: /v1, Kind=Thing"],
    ["with managers", { metadata: { managedFields: [] } }, 400, "metadata.managedFields must be nil"],
    [
      "with an unknown field",
      { spec: { z: 1 } },
      500,
      "failed to create typed patch object (n/x; example.com/v1, Kind=Thing): .spec.z: field not declared in schema"
    ]
  ])("is refused a body %s", (_, body, code, message) => {
    expect(refusal(() => ManagedFields.applied(applying("a"), first, { ...object({}), ...body }))).toMatchObject({
      code,
      message
    })
  })
})

describe("The fields of a manager belong to a version", () => {
  // The test uses only the schema and the conversions of these Kinds.
  const kinds = new Map(["v1", "v2"].map((version) => [`example.com/${version}`, kindOf(version)]))
  const kindIn = (apiVersion: string) => kinds.get(apiVersion)
  const live = ManagedFields.applied({ ...applying("a", 1), kindIn }, undefined, object({ a: "1", b: "1" }))
  const v2 = { ...applying("a", 2), kind: kindOf("v2"), kindIn }
  const shown = { ...live, apiVersion: "example.com/v2" }

  test("a manager that applies in another version owns its fields there, and drops the earlier ones", () => {
    const next = ManagedFields.applied(v2, shown, { ...object({ a: "1" }), apiVersion: "example.com/v2" })
    expect(next.spec).toEqual({ a: "1" })
    expect(J.at(next, "metadata", "managedFields")).toMatchObject([{ apiVersion: "example.com/v2" }])
  })

  test("the defaults of another version do not replace dropped fields", () => {
    const both = ManagedFields.updated(
      { ...v2, manager: "m" },
      shown,
      changed(shown, { a: "1", b: "1", map: { x: "1" } })
    )
    const back = { ...both, apiVersion: "example.com/v1" }
    const next = ManagedFields.applied({ ...applying("a", 3), kindIn }, back, object({ a: "1" }))
    expect(next.spec).toEqual({ a: "1", map: { x: "1" } })
  })

  test("a version that a custom kind no longer has cannot be converted", () => {
    kinds.delete("example.com/v1")
    const other = { ...v2, manager: "b" }
    expect(
      refusal(() => ManagedFields.applied(other, shown, { ...object({ a: "1" }), apiVersion: "example.com/v2" }))
        .message
    ).toBe("request to convert CR to an invalid group/version: example.com/v1")
    expect(owners(ManagedFields.updated(other, shown, changed(shown, { a: "2" })))).toEqual(owners(live))
  })

  function kindOf(version: string): Kind {
    const versioned = (object: JsonObject): JsonObject => ({
      ...object,
      apiVersion: `example.com/${version}`,
      spec: { b: "default", ...J.object(object.spec) }
    })
    const strategy = {
      default: () => {},
      prepareForCreate: () => {},
      prepareForUpdate: () => {},
      validate: () => [],
      validateUpdate: () => [],
      resetFields: []
    }
    return {
      ...thing,
      version,
      listKind: "ThingList",
      plural: "things",
      singular: "thing",
      shortNames: [],
      categories: [],
      namespaced: true,
      verbs: [],
      storage: "example.com/things",
      strategy,
      status: undefined,
      scale: undefined,
      columns: [],
      selectableFields: () => ({}),
      unconditionalUpdate: false,
      createOnUpdate: false,
      gracePeriod: () => 0,
      deletedAs: "status",
      fromStorage: versioned,
      toStorage: (object) => object,
      deprecation: undefined
    }
  }
})

describe("kubectl, with client-side apply before", () => {
  const annotation = "kubectl.kubernetes.io/last-applied-configuration"
  const last = { apiVersion: "example.com/v1", kind: "Thing", metadata: { name: "x" }, spec: { a: "1", b: "1" } }
  const metadata = { name: "x", namespace: "n", uid: "u", annotations: { [annotation]: JSON.stringify(last) } }
  const live = ManagedFields.updated(
    writing("kubectl-client-side-apply", 1),
    undefined,
    object({ a: "1", b: "1" }, { metadata })
  )

  test("gets no conflict with its own fields, and the server updates the annotation", () => {
    const next = ManagedFields.applied(applying("kubectl", 2), live, object({ b: "<2>", a: "1" }))
    expect(next.spec).toEqual({ a: "1", b: "<2>" })
    expect(J.at(next, "metadata", "annotations", annotation)).toBe(
      '{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"x","namespace":"n","uid":"u"},"spec":{"a":"1","b":"\\u003c2\\u003e"}}\n'
    )
  })

  test("gets conflicts for the fields that have changed since", () => {
    const edited = ManagedFields.updated(writing("editor", 2), live, changed(live, { a: "1", b: "5" }))
    expect(refusal(() => ManagedFields.applied(applying("kubectl"), edited, object({ a: "2", b: "2" }))).message).toBe(
      'Apply failed with 1 conflict: conflict with "editor" using example.com/v1: .spec.b'
    )
  })

  test("does not include other managers, which get the conflicts", () => {
    expect(refusal(() => ManagedFields.applied(applying("other"), live, object({ a: "2" }))).code).toBe(409)
  })
})

describe("A change after the managers are computed", () => {
  const live = ManagedFields.updated(writing("m", 1), undefined, object({ a: "1" }))
  const entries = J.list(J.at(live, "metadata", "managedFields")).map((entry) => ({
    ...J.object(entry),
    time: "1970-01-01T00:00:09Z"
  }))

  test("keeps the old times if only the times differ", () => {
    expect(ManagedFields.ignoreTimestamps(live, withEntries(live, entries))).toEqual(live)
  })

  test("keeps the new times if anything else differs", () => {
    const next = withEntries(changed(live, { a: "2" }), entries)
    expect(ManagedFields.ignoreTimestamps(live, next)).toBe(next)
  })
})
