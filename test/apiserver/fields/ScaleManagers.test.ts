import { describe, expect, test } from "bun:test"
import type { Json, JsonObject } from "../model/Json.ts"
import * as J from "../model/Json.ts"
import * as ManagedFields from "./ManagedFields.ts"
import * as Scale from "./ScaleManagers.ts"

const scaled: Scale.Scaled = {
  group: "example.com",
  version: "v1",
  scale: { specReplicas: ["spec", "replicas"], statusReplicas: ["status", "replicas"], selector: undefined }
}

const entry = (manager: string, operation: string, spec: JsonObject): JsonObject => ({
  manager,
  operation,
  apiVersion: "example.com/v1",
  time: "1970-01-01T00:00:01Z",
  fieldsType: "FieldsV1",
  fieldsV1: { "f:spec": spec }
})

const live: JsonObject = {
  metadata: {
    managedFields: [entry("a", "Apply", { "f:a": {}, "f:replicas": {} }), entry("m", "Update", { "f:b": {} })]
  }
}

const scale: JsonObject = {
  apiVersion: "autoscaling/v1",
  kind: "Scale",
  metadata: { name: "x", namespace: "n", uid: "u", managedFields: Scale.entriesOf(scaled, live) },
  spec: { replicas: 1 }
}

const write: ManagedFields.Write = {
  kind: Scale.kind(),
  manager: "s",
  subresource: "scale",
  resetFields: [],
  now: 2_000
}

/** Lists the managers and their fields in the spec, in short form. */
const owners = (entries: Json | undefined): ReadonlyArray<string> =>
  J.objects(entries).map(
    ({ apiVersion, fieldsV1, manager, subresource, time }) =>
      `${manager}${subresource === undefined ? "" : `/${subresource}`} ${apiVersion} ${time === undefined ? "-" : time}: ${Object.keys(
        J.object(J.at(fieldsV1, "f:spec"))
      ).join(" ")}`
  )

const scaledTo = (replicas: number): ReadonlyArray<string> =>
  owners(
    Scale.entriesAfter(
      scaled,
      live,
      ManagedFields.updated(write, scale, Scale.canonical({ ...scale, spec: { replicas } }))
    )
  )

describe("The managers of a Scale", () => {
  test("are the owners of the object's replicas", () => {
    expect(owners(J.at(scale, "metadata", "managedFields"))).toEqual([
      "a autoscaling/v1 1970-01-01T00:00:01Z: f:replicas"
    ])
  })

  test("take the replicas from their owner, which keeps the other fields", () => {
    expect(scaledTo(2)).toEqual([
      "a example.com/v1 1970-01-01T00:00:01Z: f:a",
      "s/scale example.com/v1 -: f:replicas",
      "m example.com/v1 1970-01-01T00:00:01Z: f:b"
    ])
  })

  test("do not own the replicas of an object without replicas", () => {
    expect(scaledTo(0)).toEqual([
      "a example.com/v1 1970-01-01T00:00:01Z: f:a",
      "m example.com/v1 1970-01-01T00:00:01Z: f:b"
    ])
  })

  test("do not change if nothing changes", () => {
    expect(scaledTo(1)).toEqual([
      "a example.com/v1 1970-01-01T00:00:01Z: f:a f:replicas",
      "m example.com/v1 1970-01-01T00:00:01Z: f:b"
    ])
  })
})

describe("An apply to a Scale", () => {
  const draft = { metadata: { name: "x", namespace: "n" }, spec: { replicas: 0 } }

  test("is decoded as Go decodes it", () => {
    const own = structuredClone(draft)
    Scale.reading({ custom: false })(own)
    expect<object>(own.spec).toEqual({})
  })

  test("fails for a custom kind, as it does on a kube-apiserver", () => {
    expect(() => Scale.reading({ custom: true })(structuredClone(draft))).toThrow(
      "failed to convert new object (n/x; autoscaling/v1, Kind=Scale) to proper version: request to convert CR to an invalid group/version: autoscaling/v1"
    )
  })
})
