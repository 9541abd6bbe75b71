import { expect, test } from "bun:test"
import * as Json from "../../model/Json.ts"
import type { Writing } from "../../model/Kind.ts"
import * as ObjectIndex from "../../model/ObjectIndex.ts"
import * as CustomKinds from "./CustomKinds.ts"
import * as Definition from "./DefinitionStrategy.ts"

const crd = (plural: string, spec: Json.JsonObject = {}): Json.JsonObject => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `${plural}.example.com` },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { plural, kind: "Web" },
    versions: [version("v1", { storage: true })],
    ...spec
  }
})

const version = (name: string, more: Json.JsonObject = {}): Json.JsonObject => ({
  name,
  served: true,
  storage: false,
  schema: {
    openAPIV3Schema: { type: "object", properties: { spec: { type: "object", properties: { a: { type: "string" } } } } }
  },
  ...more
})

const writing: Writing = {
  now: 0,
  user: { name: "test", groups: [] },
  stored: () => [],
  values: (_, valuesOf) => ObjectIndex.make(valuesOf, []),
  warn: () => undefined
}

const written = (object: Json.JsonObject): Json.DraftObject => {
  const draft = Json.copy(object)
  Definition.definition.default(draft)
  Definition.definition.prepareForCreate(draft, writing)
  return draft
}

test("a new definition gets its other names, no conversion and an empty status", () => {
  const draft = written({ ...crd("webs"), status: { storedVersions: ["v9"] } })
  expect(Json.at(draft, "spec", "names")).toEqual({ plural: "webs", kind: "Web", singular: "web", listKind: "WebList" })
  expect(Json.at(draft, "spec", "conversion")).toEqual({ strategy: "None" })
  expect(draft.status).toEqual({ conditions: null, acceptedNames: { plural: "", kind: "" }, storedVersions: ["v1"] })
  expect(Json.at(draft, "metadata", "generation")).toBe(1)
})

test("another storage version is added to the stored versions", () => {
  const old = written(crd("webs"))
  const draft = written(crd("webs", { versions: [version("v1"), version("v2", { storage: true })] }))
  Definition.definition.prepareForUpdate(draft, old, writing)
  expect(Json.at(draft, "status", "storedVersions")).toEqual(["v1", "v2"])
  expect(Json.at(draft, "metadata", "generation")).toBe(2)
})

test("the first of two definitions of a kind is established, and the second one when the first is gone", () => {
  const first = Definition.establish(written(crd("webs")), [], 0)
  const second = written(crd("nets"))
  const waiting = Definition.establish(second, [first], 0)
  const conditions = (of: Json.JsonObject) =>
    Json.objects(Json.at(of, "status", "conditions")).map(({ message, reason, status, type }) => [
      type,
      status,
      reason,
      message
    ])
  expect(conditions(first)).toEqual([
    ["NamesAccepted", "True", "NoConflicts", "no conflicts found"],
    ["Established", "True", "InitialNamesAccepted", "the initial names have been accepted"]
  ])
  expect(conditions(waiting)).toEqual([
    ["NamesAccepted", "False", "ListKindConflict", '"WebList" is already in use'],
    ["Established", "False", "NotAccepted", "not all names are accepted"]
  ])
  expect(Definition.establish(first, [waiting], 9)).toBe(first)
  expect(conditions(Definition.establish(waiting, [], 0))).toEqual(conditions(first))
})

test("conversion by a webhook requires the address of the webhook", () => {
  const errors = Definition.definition.validate(written(crd("webs", { conversion: { strategy: "Webhook" } })), writing)
  expect(errors.map(({ field }) => field)).toEqual([
    "spec.conversion.webhookClientConfig",
    "spec.conversion.conversionReviewVersions"
  ])
})

test("conversion requires a strategy", () => {
  const errors = Definition.definition.validate(written(crd("webs", { conversion: {} })), writing)
  expect(errors.map(({ field, reason }) => [field, reason])).toEqual([
    ["spec.conversion.strategy", "FieldValueRequired"]
  ])
})

const two = Definition.establish(
  written(
    crd("webs", {
      versions: [
        version("v1", { storage: true }),
        version("v2", {
          deprecated: true,
          schema: {
            openAPIV3Schema: {
              type: "object",
              properties: { spec: { type: "object", properties: { b: { type: "string", default: "B" } } } }
            }
          }
        }),
        version("v3", { served: false })
      ]
    })
  ),
  [],
  0
)

test("served versions are kinds over the same objects, and do not know the fields of the others", () => {
  const [one, other, ...more] = CustomKinds.kindsOf(two)
  expect(more).toEqual([])
  expect([one?.version, one?.storage, one?.storageVersion]).toEqual(["v1", "example.com/webs", undefined])
  expect([other?.version, other?.storage, other?.storageVersion]).toEqual(["v2", "example.com/webs", "example.com/v1"])
  expect(other?.deprecation).toBe("example.com/v2 Web is deprecated")
  const stored: Json.JsonObject = {
    apiVersion: "example.com/v1",
    kind: "Web",
    metadata: { name: "a" },
    spec: { a: "A" }
  }
  expect(one?.fromStorage(stored)).toBe(stored)
  expect(other?.fromStorage(stored)).toEqual({ ...stored, apiVersion: "example.com/v2", spec: {} })
  expect(other?.toStorage({ ...stored, apiVersion: "example.com/v2", spec: { b: "B" } })).toEqual({
    ...stored,
    spec: {}
  })
})

test("a later default appears in objects that were stored before", () => {
  const spec = { type: "object", properties: { a: { type: "string", default: "late" } } }
  const schema = { openAPIV3Schema: { type: "object", properties: { spec } } }
  const [kind] = CustomKinds.kindsOf(written(crd("webs", { versions: [version("v1", { storage: true, schema })] })))
  const stored = { apiVersion: "example.com/v1", kind: "Web", metadata: { name: "a" }, spec: {} }
  expect(kind?.fromStorage(stored)).toEqual({ ...stored, spec: { a: "late" } })
  expect(stored.spec).toEqual({})
})
