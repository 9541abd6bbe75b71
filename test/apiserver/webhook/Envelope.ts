/** The envelope of webhook responses: decodes a review and checks its type, with the errors of client-go. */
import * as Decode from "../codec/Decode.ts"
import * as UnknownFields from "../codec/UnknownFields.ts"
import * as Failure from "../model/Failure.ts"
import * as Json from "../model/Json.ts"
import * as Documents from "../model/OpenApiDefinitions.ts"
import { quote } from "../model/Quote.ts"
import type { Schema } from "../model/Schema.ts"

/** The review without unknown fields, or the error. */
export type Outcome = { readonly review: Json.JsonObject } | { readonly problem: string }

/** The type of a review. */
export interface Type {
  readonly apiVersion: string
  readonly kind: string
}

/** Decodes the body of a successful response, which must have the type of its review. */
export const decode = (text: string, expected: Type, contentType: string): Outcome => {
  if (text === "") {
    return { problem: `0-length response with status code: 200 and content type: ${contentType}` }
  }
  try {
    const value = parsed(text)
    const error = Decode.typeError(value)
    if (error !== undefined) return { problem: error }
    const review = Json.object(value)
    const problem = typeError(review, expected)
    return problem === undefined ? { review: UnknownFields.prune(schemaOf(expected), review).value } : { problem }
  } catch (error) {
    if (!(error instanceof Failure.Failure)) throw error
    return { problem: error.message }
  }
}

/** Parses the text as YAML unless it begins as a JSON object, like client-go. */
const parsed = (text: string): Json.Json => {
  if (!text.trimStart().startsWith("{")) return Decode.parse(text, "yaml").value
  try {
    return Decode.parse(text, "json").value
  } catch (error) {
    if (!(error instanceof Failure.Failure)) throw error
    throw Failure.badRequest(`couldn't get version/kind; json parse error: ${error.message}`)
  }
}

/** The error for a review of another type. The expected type replaces an absent part of the type. */
const typeError = (review: Json.JsonObject, expected: Type): string | undefined => {
  const kind = Json.text(review.kind) || expected.kind
  const apiVersion = Json.text(review.apiVersion) || expected.apiVersion
  if (kind === expected.kind && apiVersion === expected.apiVersion) return undefined
  const [group] = expected.apiVersion.split("/")
  const isKnown =
    (kind === expected.kind && (apiVersion === `${group}/v1` || apiVersion === `${group}/v1beta1`)) ||
    (kind === "Status" && apiVersion === "v1")
  return isKnown
    ? `converting (${versionOf(apiVersion)}.${kind}) to (${versionOf(expected.apiVersion)}.${expected.kind}): unknown conversion`
    : `no kind ${quote(kind)} is registered for version ${quote(apiVersion)} in scheme "pkg/runtime/scheme.go:111"`
}

const versionOf = (apiVersion: string): string => apiVersion.slice(apiVersion.indexOf("/") + 1)

/** The error for a review without the expected type; undefined if the type is correct. Only reviews of v1 need the type. */
export const unnamed = (review: Json.JsonObject, { apiVersion, kind }: Type): string | undefined => {
  const wanted = shown({ apiVersion, kind })
  const got = shown(review)
  return got === wanted ? undefined : `expected webhook response of ${wanted}, got ${got}`
}

/** The error for the uid of another request; undefined if the uid is correct. Only reviews of v1 must repeat the uid. */
export const misaddressed = ({ uid: echo }: Json.JsonObject, uid: string): string | undefined =>
  echo === uid ? undefined : `expected response.uid=${quote(uid)}, got ${quote(Json.text(echo) ?? "")}`

/** The type of an object in the format of a Go GroupVersionKind: `example.com/v1, Kind=Thing`. */
export const shown = ({ apiVersion, kind }: Json.JsonObject): string => {
  const version = Json.text(apiVersion) ?? ""
  return `${version.includes("/") ? version : `/${version}`}, Kind=${Json.text(kind) ?? ""}`
}

/** The error of client-go for a response with an HTTP error. */
export const refusal = (status: number, text: string): string => {
  const message = statusMessage(text)
  if (message !== undefined) return message
  const shortened = text.trim()
  return (
    messages[status] ??
    (quoted.has(status)
      ? shortened
      : status >= 500
        ? `an error on the server (${quote(shortened)}) has prevented the request from succeeding`
        : `the server responded with the status code ${status} but did not return more information`)
  )
}

/** The message of a Status. */
const statusMessage = (text: string): string | undefined => {
  try {
    const body = JSON.parse(text) as Json.Json
    return Json.at(body, "kind") === "Status" && Json.at(body, "apiVersion") === "v1"
      ? Json.text(Json.at(body, "message"))
      : undefined
  } catch {
    return undefined
  }
}

const messages: { readonly [status: number]: string } = {
  400: "the server rejected our request for an unknown reason",
  401: "the server has asked for the client to provide credentials",
  404: "the server could not find the requested resource",
  405: "the server does not allow this method on the requested resource",
  409: "the server reported a conflict",
  422: "the server rejected our request due to an error in our request",
  429: "the server has received too many requests and has asked us to try again later",
  503: "the server is currently unable to handle the request",
  504: "the server was unable to return a response in the time allotted, but may still be processing the request"
}

/** The status codes whose error is the body of the response. */
const quoted: ReadonlySet<number> = new Set([403, 406, 415])

const text: Schema = { type: "string" }
const texts: Schema = { type: "object", additionalProperties: text }

const schemas = new Map<string, Schema>()

const schemaOf = ({ apiVersion, kind }: Type): Schema => {
  const key = `${apiVersion} ${kind}`
  const found = schemas.get(key) ?? makeSchema(versionOf(apiVersion), kind)
  schemas.set(key, found)
  return found
}

const makeSchema = (version: string, kind: string): Schema => {
  const status = Documents.schemaNamed("io.k8s.apimachinery.pkg.apis.meta.v1.Status")
  const named = (name: string, properties: { readonly [name: string]: Schema }): Schema =>
    Documents.named(`io.k8s.${version}.${name}`, { type: "object", properties })
  const response =
    kind === "ConversionReview"
      ? named("ConversionResponse", { uid: text, convertedObjects: { type: "array", items: {} }, result: status })
      : named("AdmissionResponse", {
          uid: text,
          allowed: { type: "boolean" },
          status,
          patch: { type: "string", format: "byte" },
          patchType: text,
          auditAnnotations: texts,
          warnings: { type: "array", items: text }
        })
  return named(kind, { apiVersion: text, kind: text, request: {}, response })
}
