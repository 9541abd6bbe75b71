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

  test("for clients that accept it", () => {
    for (const accept of [undefined, "*/*", "application/*", "text/html, application/json;q=0.9"]) {
      expect(OpenApiV2.answer(accept).status).toBe(200)
    }
    for (const accept of ["application/vnd.kubernetes.protobuf", "application/yaml", "text/plain"]) {
      expect(OpenApiV2.answer(accept)).toEqual({ status: 406, headers: {}, body: "" })
    }
  })

  test("in protobuf, as kubectl asks for it", () => {
    const { body, headers } = OpenApiV2.answer("application/com.github.proto-openapi.spec.v2@v1.0+protobuf")
    expect(headers["content-type"]).toBe("application/com.github.proto-openapi.spec.v2.v1.0+protobuf")
    expect(body).toBe("\n\u00032.0\u0012\u0015\n\nKubernetes\u0012\u0007v1.37.1")
  })
})
