/**
 * The body of a DELETE.
 */
import * as Decode from "../codec/Decode.ts"
import type { Format } from "../codec/Negotiation.ts"
import * as Protobuf from "../codec/Protobuf.ts"
import * as UnknownFields from "../codec/UnknownFields.ts"
import * as Failure from "../model/Failure.ts"
import * as Json from "../model/Json.ts"
import { schemaNamed } from "../model/OpenApiDefinitions.ts"

/** Decodes DeleteOptions from a body. `knows` is true for known built-in kinds. Throws a Failure (400). */
export const decode = (
  body: string | Uint8Array | undefined,
  format: Format,
  knows: Decode.Options["knows"]
): Json.JsonObject => {
  const parsed = parse(body, format)
  const error = Decode.typeError(parsed)
  if (error !== undefined) throw Failure.badRequest(error)
  const value = Json.object(parsed)
  const kind = Json.text(value.kind) ?? ""
  const apiVersion = Json.text(value.apiVersion) ?? ""
  if (kind !== "" && kind !== "DeleteOptions") {
    const version = apiVersion.slice(apiVersion.indexOf("/") + 1)
    throw Failure.badRequest(
      knows(apiVersion, kind)
        ? `converting (${version}.${kind}) to (v1.DeleteOptions): unknown conversion`
        : `no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion || "meta.k8s.io/v1")} in scheme "pkg/runtime/scheme.go:111"`
    )
  }
  const set = Object.entries(value).filter(([, member]) => member !== null)
  return UnknownFields.prune(schemaNamed("io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"), Object.fromEntries(set))
    .value
}

const parse = (body: string | Uint8Array | undefined, format: Format): Json.Json => {
  if (format === "protobuf") {
    const opened = Protobuf.open(Decode.bytesOf(body))
    const isOptions = opened.kind === "" || opened.kind === "DeleteOptions"
    return isOptions
      ? Protobuf.read({ apiVersion: "v1", kind: "DeleteOptions", raw: opened.raw })
      : { apiVersion: opened.apiVersion, kind: opened.kind }
  }
  try {
    return Decode.parse(Decode.textOf(body), format).value
  } catch (error) {
    if (!(error instanceof Failure.Failure) || format === "yaml") throw error
    throw Failure.badRequest(`couldn't get version/kind; json parse error: ${error.message}`)
  }
}
