/**
 * Decodes the body of a request into an object of a kind, with the errors of kube-apiserver.
 */

import * as CustomObjectMeta from "../kinds/crd/CustomObjectMeta.ts"
import * as EmbeddedResource from "../kinds/crd/EmbeddedResource.ts"
import * as CustomPrune from "../kinds/crd/Pruning.ts"
import * as Failure from "../model/Failure.ts"
import * as FieldError from "../model/FieldError.ts"
import * as GoTime from "../model/GoTime.ts"
import type { DraftObject, Json, JsonObject } from "../model/Json.ts"
import * as J from "../model/Json.ts"
import * as JsonText from "../model/JsonText.ts"
import { apiVersionOf, type Kind } from "../model/Kind.ts"
import type { Format } from "./Negotiation.ts"
import { internalGroup } from "./PartialMetadata.ts"
import * as Protobuf from "./Protobuf.ts"
import * as UnknownFields from "./UnknownFields.ts"
import * as Yaml from "./Yaml.ts"

/** The handling of unknown and duplicate fields: `?fieldValidation=`. */
export type FieldValidation = "Strict" | "Warn" | "Ignore"

/** The options of decoding a body. */
export interface Options {
  readonly fieldValidation: FieldValidation
  /** Sends the client a `Warning` header. */
  readonly warn: (text: string) => void
  /** Reports whether the server has a built-in kind. An unexpected but known kind gets another error message than an unknown kind. */
  readonly knows: (apiVersion: string, kind: string) => boolean
}

/** A parsed text, and its duplicate fields for strict decoding. */
export interface Parsed {
  readonly value: Json
  readonly duplicates: ReadonlyArray<string>
}

/** A text parsed only for its `apiVersion` and `kind`. A number that is too large becomes an error only when the object is decoded. */
interface Typed extends Parsed {
  readonly overflow?: string | undefined
  /** The opened envelope of a protobuf body. */
  readonly opened?: Protobuf.Opened
}

/** Returns the text of a body. As in Go, invalid UTF-8 becomes U+FFFD. */
export const textOf = (body: string | Uint8Array | undefined): string =>
  typeof body === "string" ? body : new TextDecoder("utf-8", { ignoreBOM: true }).decode(body ?? new Uint8Array())

/** Returns the bytes of a body; empty if the request has none. */
export const bytesOf = (body: string | Uint8Array | undefined): Uint8Array =>
  typeof body === "string" ? Buffer.from(body) : (body ?? new Uint8Array())

/** Parses a text. Throws a Failure (400) with Go's message if it is malformed. */
export const parse = (text: string, format: Format): Parsed =>
  format === "yaml" ? Yaml.parse(text) : JsonText.parse(text)

/** Decodes the object of a POST or PUT. Throws a Failure (400). */
export const object = (
  kind: Kind,
  body: string | Uint8Array | undefined,
  format: Format,
  options: Options
): JsonObject => {
  const { duplicates, opened, overflow, value } = rewording(
    (message) => unrecognized(kind, message, body),
    () => (format === "protobuf" ? enveloped(Protobuf.open(bytesOf(body))) : typed(kind, textOf(body), format))
  )
  const named = withType(kind, J.object(value))
  const refusal = (message: string) => unhandled(kind, named, message)
  const { errors, value: known } = rewording(refusal, () => {
    checkKind(kind, named, options)
    if (opened !== undefined) return pruned(kind, Protobuf.read({ ...opened, ...typeOf(named) }), {})
    if (overflow !== undefined) throw Failure.badRequest(overflow)
    return pruned(kind, named, { duplicates: format === "yaml" ? [] : duplicates })
  })
  const lines = format === "yaml" ? duplicates : []
  // Go's YAML decoder returns all errors as one.
  const error = lines.length === 0 ? [] : [`yaml: unmarshal errors:\n${lines.map((line) => `  ${line}`).join("\n")}`]
  complain(options, [...lines, ...errors], [...error, ...errors], refusal)
  checkVersion(kind, named)
  return known
}

/** The result of a patch, before it is decoded. */
export interface Patched {
  readonly value: Json
  /** The errors of strict decoding of the patch itself: `duplicate field "spec.a"`. */
  readonly errors: ReadonlyArray<string>
  /** Returns the patched object as an error message shows it. */
  readonly shown: () => string
  /** A strategic merge patch results in `values`. Their decoder has other error messages, and ignores the kind in the body. */
  readonly decoder: "text" | "values"
}

/** Returns a new object: the decoded result of a patch. Throws a Failure (422). */
export const patched = (kind: Kind, patched: Patched, options: Options): DraftObject => {
  const refusal = (message: string) =>
    Failure.invalid({ group: "", kind: "", plural: "" }, "", [FieldError.invalid("patch", patched.shown(), message)])
  const { errors, value } = rewording(refusal, () => {
    if (patched.decoder === "values") {
      const object = { ...J.object(patched.value), apiVersion: apiVersionOf(kind), kind: kind.kind }
      return pruned(kind, object, { decoder: "values" })
    }
    checkType(kind, patched.value, patched.shown)
    const named = withType(kind, J.object(patched.value))
    checkKind(kind, named, options)
    return pruned(kind, named, {})
  })
  const all = [...patched.errors, ...errors]
  complain(options, all, all, refusal)
  return value
}

/** Reads the kind of a protobuf body. The message itself is decoded once its kind matches the path. */
const enveloped = (opened: Protobuf.Opened): Typed => ({
  value: { apiVersion: opened.apiVersion, kind: opened.kind },
  duplicates: [],
  opened
})

const typeOf = ({ apiVersion, kind }: JsonObject) => ({
  apiVersion: J.text(apiVersion) ?? "",
  kind: J.text(kind) ?? ""
})

/** Parses a text, and rejects it if its `apiVersion` and `kind` cannot be decoded. */
const typed = (kind: Kind, text: string, format: Format): Typed => {
  const parsed: Typed =
    format === "yaml"
      ? Yaml.parse(text)
      : rewording(
          (message) => Failure.badRequest(`couldn't get version/kind; json parse error: ${message}`),
          () => JsonText.scan(text)
        )
  checkType(kind, parsed.value, () => text)
  return parsed
}

/** Rejects an object whose kind is malformed or missing. A built-in object may omit its kind; a custom object may not. */
const checkType = (kind: Kind, value: Json, text: () => string): void => {
  const error = typeError(value)
  if (error !== undefined) throw Failure.badRequest(error)
  if (kind.custom && !J.text(J.at(value, "kind"))) throw Failure.badRequest(`Object 'Kind' is missing in '${text()}'`)
}

/** Returns the error of decoding the `apiVersion` and `kind` of a value, or undefined. */
export const typeError = (value: Json): string | undefined => {
  if (value === null) return undefined
  if (!J.isObject(value)) {
    return `couldn't get version/kind; json parse error: json: cannot unmarshal ${nameOf(value)} into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }`
  }
  const wrong = Object.keys(value).find((name) => {
    const member = value[name]
    return (
      (name === "apiVersion" || name === "kind") &&
      typeof member !== "string" &&
      member !== null &&
      member !== undefined
    )
  })
  if (wrong !== undefined) {
    return `couldn't get version/kind; json parse error: json: cannot unmarshal ${nameOf(value[wrong] ?? null)} into Go struct field .${wrong} of type string`
  }
  const apiVersion = J.text(value.apiVersion) ?? ""
  return apiVersion.split("/").length > 2 ? `unexpected GroupVersion string: ${apiVersion}` : undefined
}

const nameOf = (value: Json): string => (J.isList(value) ? "array" : typeof value === "boolean" ? "bool" : typeof value)

/** Adds the `apiVersion` and `kind` of the path to a built-in object that omits them. */
const withType = (kind: Kind, value: JsonObject): JsonObject => {
  if (kind.custom) return value
  return {
    ...value,
    apiVersion: J.text(value.apiVersion) || apiVersionOf(kind),
    kind: J.text(value.kind) || kind.kind
  }
}

const checkKind = (kind: Kind, named: JsonObject, { knows }: Options): void => {
  if (kind.custom) return
  const [apiVersion, name] = [J.text(named.apiVersion) ?? "", J.text(named.kind) ?? ""]
  const version = versionOf(apiVersion)
  if (!knows(apiVersion, name)) {
    throw Failure.badRequest(
      `no kind ${JSON.stringify(name)} is registered for version ${JSON.stringify(apiVersion)} in scheme "pkg/runtime/scheme.go:111"`
    )
  }
  if (name !== kind.kind) {
    throw Failure.badRequest(
      `converting (${version}.${name}) to (${internalGroup(kind)}.${kind.kind}): unknown conversion`
    )
  }
}

const checkVersion = (kind: Kind, named: JsonObject): void => {
  const apiVersion = J.text(named.apiVersion) ?? ""
  if (apiVersion !== apiVersionOf(kind)) {
    throw Failure.badRequest(
      `the API version in the data (${apiVersion}) does not match the expected API version (${apiVersionOf(kind)})`
    )
  }
}

/** Prunes unknown fields. An object of a version other than the path's is not pruned, because the caller rejects it. */
const pruned = (kind: Kind, value: JsonObject, options: UnknownFields.Options): UnknownFields.Pruned => {
  if (!kind.custom) {
    return value.apiVersion === apiVersionOf(kind)
      ? UnknownFields.prune(kind.schema, value, options)
      : { value: J.copy(value), errors: [] }
  }
  const metadata = value.metadata ?? null
  const error = CustomObjectMeta.misread(metadata) ?? timeError(metadata)
  if (error !== undefined) throw Failure.badRequest(error)
  const embedded = EmbeddedResource.unreadable(kind.schema, value)
  if (embedded !== undefined) throw Failure.badRequest(FieldError.sentence(embedded))
  const { unknown, value: known } = CustomPrune.prune(kind.schema, value)
  return {
    value: known,
    errors: [...(options.duplicates ?? []), ...unknown.map((path) => JsonText.fieldError("unknown", path))]
  }
}

const timeError = (metadata: Json): string | undefined =>
  [
    J.at(metadata, "creationTimestamp"),
    J.at(metadata, "deletionTimestamp"),
    ...J.objects(J.at(metadata, "managedFields")).map(({ time }) => time)
  ]
    .map((time) => (typeof time === "string" ? GoTime.parseError(time, GoTime.seconds) : undefined))
    .find((error) => error !== undefined)

const complain = (
  { fieldValidation, warn }: Options,
  warnings: ReadonlyArray<string>,
  errors: ReadonlyArray<string>,
  refusal: (message: string) => Failure.Failure
): void => {
  if (errors.length === 0 || fieldValidation === "Ignore") return
  if (fieldValidation === "Strict") throw refusal(`strict decoding error: ${errors.join(", ")}`)
  for (const warning of warnings) warn(warning)
}

const unhandled = (kind: Kind, named: JsonObject, message: string): Failure.Failure =>
  Failure.badRequest(
    `${J.text(named.kind)} in version ${JSON.stringify(versionOf(J.text(named.apiVersion) ?? ""))} cannot be handled as a ${kind.kind}: ${message}`
  )

const versionOf = (apiVersion: string): string => apiVersion.slice(apiVersion.indexOf("/") + 1)

const unrecognized = (kind: Kind, message: string, body: string | Uint8Array | undefined): Failure.Failure =>
  Failure.badRequest(
    `the object provided is unrecognized (must be of type ${kind.kind}): ${message} (${summary(bytesOf(body))})`
  )

/** Formats the first bytes of a body: as text if they look like JSON, otherwise in hexadecimal. */
const summary = (bytes: Uint8Array): string => {
  if (bytes.length === 0) return "<empty>"
  const first = bytes.slice(0, 30)
  const isJson = first[0] === 0x7b
  return `${isJson ? new TextDecoder().decode(first) : Buffer.from(first).toString("hex")}${bytes.length > 30 ? " ..." : ""}`
}

/** Returns the result of `body`, and replaces the message of a Failure that it throws. */
const rewording = <A>(reword: (message: string) => Failure.Failure, body: () => A): A => {
  try {
    return body()
  } catch (error) {
    throw error instanceof Failure.Failure ? reword(error.message) : error
  }
}
