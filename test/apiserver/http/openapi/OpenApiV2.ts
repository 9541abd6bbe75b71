/**
 * OpenAPI v2, as a document without kinds. kubectl reads it for a kind that v3 does not have, to find out if the kind has no schema or does
 * not exist. Without a document, kubectl could not decide this. Clients that support only v2 do not validate objects.
 */
import type { Answer } from "./OpenApi.ts"

/** Returns the document in JSON, or in protobuf if the client accepts that. Returns 406 without a body if the client accepts neither. */
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

/** A protobuf field of bytes. Its tag and its length are below 128, so each takes one byte, also in UTF-8. */
const field = (number: number, value: string): string => String.fromCharCode(number * 8 + 2, value.length) + value

/** The document as a `Document` of gnostic's openapi_v2: `swagger` is field 1; `info`, with its `title` and `version`, is field 2. */
const encoded = field(1, swagger) + field(2, field(1, info.title) + field(2, info.version))
