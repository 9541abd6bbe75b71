import { expect, test } from "bun:test"
import type * as Json from "../../model/Json.ts"
import * as EmbeddedResource from "./EmbeddedResource.ts"

const errors = (metadata: Json.Json) =>
  EmbeddedResource.validate(
    { type: "object", properties: { one: { type: "object", "x-kubernetes-embedded-resource": true } } },
    { one: { apiVersion: "v1", kind: "Pod", metadata } }
  ).map(({ field, reason }) => `${field} ${reason}`)

test("an embedded resource needs no name, and no namespace", () => {
  expect(errors({})).toEqual([])
  expect(errors({ name: "any name", namespace: "a", labels: { a: "b" } })).toEqual([])
})

test.each<readonly [name: string, metadata: Json.JsonObject, expected: ReadonlyArray<string>]>([
  ["names", { name: "a/b", namespace: "A" }, ["name FieldValueInvalid", "namespace FieldValueInvalid"]],
  ["the beginning of one", { generateName: "%" }, ["generateName FieldValueInvalid"]],
  ["labels", { labels: { a: "no!" } }, ["labels FieldValueInvalid"]],
  ["finalizers", { finalizers: ["no!"] }, ["finalizers FieldValueInvalid"]],
  [
    "owners",
    { ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "p", uid: "" }] },
    ["ownerReferences[0].uid FieldValueRequired"]
  ],
  [
    "managers",
    { managedFields: [{ manager: "\n" }, { operation: "Other", fieldsType: "V2", subresource: "s".repeat(257) }] },
    [
      "managedFields[0].operation FieldValueRequired",
      "managedFields[0].manager FieldValueInvalid",
      "managedFields[1].operation FieldValueNotSupported",
      "managedFields[1].fieldsType FieldValueInvalid",
      "managedFields[1].subresource FieldValueTooLong"
    ]
  ]
])("the names of an embedded resource are validated: %s", (_, metadata, expected) => {
  expect(errors(metadata)).toEqual(expected.map((one) => `one.metadata.${one}`))
})
