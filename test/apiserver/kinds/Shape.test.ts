import { expect, test } from "bun:test"
import * as Json from "../model/Json.ts"
import * as Shape from "./Shape.ts"

const canonical = (shape: string, object: Json.JsonObject): Json.JsonObject => {
  const draft = Json.copy(object)
  Shape.canonicalize(Shape.of(shape), draft, "null")
  return draft
}

test("empty values are dropped where the Go type omits them", () => {
  expect(canonical("core/v1.ConfigMap", { metadata: { labels: {}, name: "c" }, data: {}, immutable: false })).toEqual({
    metadata: { name: "c" },
    immutable: false
  })
})

test("fields that the Go type always writes are added", () => {
  expect(canonical("apps/v1.Deployment", {})).toEqual({
    metadata: {},
    spec: { selector: null, template: { metadata: {}, spec: { containers: null } }, strategy: {} },
    status: {}
  })
})

test("an empty list that the Go type always writes is stored as null", () => {
  const decoded: Json.DraftObject = { addressType: "IPv4", endpoints: [] }
  Shape.canonicalize(Shape.of("discovery/v1.EndpointSlice"), decoded, "kept")
  expect(decoded).toMatchObject({ endpoints: [], ports: null })
  expect(canonical("discovery/v1.EndpointSlice", decoded)).toMatchObject({ endpoints: null, ports: null })
})

test("quantities, times and bytes get their canonical form", () => {
  const resources = { limits: { cpu: 0.5, memory: "1024Mi" } }
  expect(canonical("core/v1.ResourceRequirements", resources)).toEqual({ limits: { cpu: "500m", memory: "1Gi" } })
  expect(canonical("coordination/v1.LeaseSpec", { renewTime: "2026-11-20T11:00:00.500000+01:00" })).toEqual({
    renewTime: "2026-11-20T10:00:00.500000Z"
  })
  expect(canonical("batch/v1.JobStatus", { startTime: "2026-11-20T10:00:00.9Z" })).toEqual({
    startTime: "2026-11-20T10:00:00Z"
  })
  expect(canonical("core/v1.Secret", { data: { a: "Y\nQ==" } })).toEqual({ metadata: {}, data: { a: "YQ==" } })
})

test("a second conversion changes nothing", () => {
  const once = canonical("core/v1.Event", { involvedObject: { name: "p" }, count: 0, eventTime: null })
  expect(canonical("core/v1.Event", once)).toEqual(once)
})

test("unknown members are kept", () => {
  expect(canonical("core/v1.ObjectReference", { name: "p", foo: "" })).toEqual({ name: "p", foo: "" })
})

test("a null in a map of bytes becomes an empty value", () => {
  expect(canonical("core/v1.ConfigMap", { binaryData: { a: null } })).toEqual({ metadata: {}, binaryData: { a: "" } })
})
