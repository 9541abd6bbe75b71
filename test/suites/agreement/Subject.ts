/** A kind that the comparison writes at random. */
import type { JsonObject } from "@homeostat/apiserver/model/Json"
import type * as FastCheck from "fast-check"
import * as Value from "./Value.ts"

export interface Subject {
  readonly apiVersion: string
  readonly kind: string
  readonly plural: string
  /** The required members of an object besides its names. */
  readonly base: JsonObject
  /** Members besides `metadata` and `status`. */
  readonly members: FastCheck.Arbitrary<JsonObject>
  /** Members with directives. Undefined: the kind does not support strategic merge patches. */
  readonly strategic?: FastCheck.Arbitrary<JsonObject> | undefined
  /** Members of the status. Undefined: the kind has no status subresource. */
  readonly status?: FastCheck.Arbitrary<JsonObject> | undefined
  readonly scale: boolean
  /** The paths of JSON patches. */
  readonly pointers: ReadonlyArray<string>
}

/** The path of one object, or of all objects in a namespace. */
export const path = ({ apiVersion, plural }: Subject, namespace: string, name?: string): string =>
  `${apiVersion.includes("/") ? "/apis" : "/api"}/${apiVersion}/namespaces/${namespace}/${plural}${name === undefined ? "" : `/${name}`}`

const uid = "11111111-2222-4333-8444-555555555555"

const owner: Value.Values = Value.object(
  {
    apiVersion: Value.mostly(Value.one("v1", "apps/v1"), "", "a/b/c"),
    kind: Value.mostly(Value.one("ConfigMap", "Deployment"), "", "Event"),
    name: Value.mostly(Value.one("a", "b"), ""),
    uid: Value.mostly(Value.one(uid, "other"), "")
  },
  { controller: Value.flag, blockOwnerDeletion: Value.flag }
)

const labels = Value.mostly(
  Value.some({
    a: Value.mostly(Value.one("1", "2", ""), "no!", 1, null),
    b: Value.one("1", "2"),
    "example.com/c": Value.one("1", "2"),
    "no label": Value.one("1")
  }),
  null,
  "a"
)

const managed = (label: string): JsonObject => ({
  manager: `of ${label}`,
  operation: "Update",
  apiVersion: "v1",
  time: "2020-01-01T00:00:00Z",
  fieldsType: "FieldsV1",
  fieldsV1: { "f:metadata": { "f:labels": { [label]: {} } } }
})

/** Metadata that a client writes. */
export const metadata: FastCheck.Arbitrary<JsonObject> = Value.some({
  labels,
  annotations: Value.mostly(
    Value.some({ a: Value.mostly(Value.one("1", "2", ""), 1, null), "example.com/b": Value.one("1", "2") }),
    null,
    { "a/b/c": "1" }
  ),
  finalizers: Value.mostly(
    Value.list(
      Value.mostly(
        Value.one("example.com/a", "example.com/b", "foregroundDeletion", "orphan"),
        "no domain",
        "a",
        1,
        null
      )
    ),
    null
  ),
  ownerReferences: Value.list(owner, 2),
  generation: Value.one(1, 7, -1),
  creationTimestamp: Value.one(null, "2020-01-01T00:00:00Z"),
  deletionTimestamp: Value.one(null, "2020-01-01T00:00:00Z"),
  selfLink: Value.one("/a"),
  generateName: Value.one("a-", "A_"),
  managedFields: Value.one([], [{}], null, [managed("f:a")], [managed("f:a"), managed("f:b")], [{ manager: "a" }]),
  unknown: Value.one("a")
})
