import { describe, expect, test } from "bun:test"
import * as OpenApiV2 from "./OpenApiV2.ts"

describe("OpenAPI v2 is a document without kinds", () => {
  test("in JSON", () => {
    const { body, headers, status } = OpenApiV2.answer("application/json")
    expect([status, headers["content-type"]]).toEqual([200, "application/json"])
    expect(JSON.parse(body)).toEqual({
      swagger: "2.0",
      info: { title: "Kubernetes", version: "v1.37.1" },
      paths: {}
    })
  })

  test("in protobuf, as kubectl asks for it", () => {
    const { body, headers } = OpenApiV2.answer("application/com.github.proto-openapi.spec.v2@v1.0+protobuf")
    expect(headers["content-type"]).toBe("application/com.github.proto-openapi.spec.v2.v1.0+protobuf")
    expect(body).toBe("\n\u00032.0\u0012\u0015\n\nKubernetes\u0012\u0007v1.37.1")
  })
})
