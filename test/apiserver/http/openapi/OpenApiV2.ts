/**
 * OpenAPI v2, as a document that describes no kind. kubectl reads it for a kind that v3 does not know, to find out whether the kind
 * lacks validation or does not exist. Without any document, kubectl could find out neither. Clients that know only v2 validate nothing by it.
 */
import type { Answer } from "./OpenApi.ts"

/** Answers with the document: in JSON, or in protobuf for who asks for that. 406 without a body: the client accepts neither. */
export const answer = (accept = ""): Answer => {
  if (accept.trim() !== "" && !/(?:^|[,\s])(?:application\/(?:json|\*)|\*\/\*)|proto-openapi\.spec\.v2/.test(accept)) {
    return { status: 406, headers: {}, body: "" }
  }
  return accept.includes("proto-openapi.spec.v2")
    ? { status: 200, headers: { "content-type": protobuf, vary: "Accept" }, body: encoded }
    : {
        status: 200,
        headers: { "content-type": "application/json", vary: "Accept" },
        body: JSON.stringify({ swagger, info, paths: {} })
      }
}

const protobuf = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"

const swagger = "2.0"

const info = { title: "Kubernetes", version: "v1.37.1" }

/** A field of bytes. Tag and length are less than 128 each, and so a byte each and the same in UTF-8. */
const field = (number: number, value: string): string => String.fromCharCode(number * 8 + 2, value.length) + value

/** As a `Document` of gnostic's openapi_v2: `swagger` is field 1, `info` with its `title` and `version` field 2. */
const encoded = field(1, swagger) + field(2, field(1, info.title) + field(2, info.version))
