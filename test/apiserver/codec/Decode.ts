/**
 * From the body of a request to an object of a kind, with what kube-apiserver says of bodies that are none.
 */

import * as CustomObjectMeta from "../kinds/crd/CustomObjectMeta.ts"
import * as EmbeddedResource from "../kinds/crd/EmbeddedResource.ts"
import * as CustomPrune from "../kinds/crd/Pruning.ts"
import * as Failure from "../model/Failure.ts"
import * as FieldError from "../model/FieldError.ts"
import * as GoTime from "../model/GoTime.ts"
import type { Json, JsonObject } from "../model/Json.ts"
import * as J from "../model/Json.ts"
import * as JsonText from "../model/JsonText.ts"
import { apiVersionOf, type Kind } from "../model/Kind.ts"
import type { Format } from "./Negotiation.ts"
import { internalGroup } from "./PartialMetadata.ts"
import * as Protobuf from "./Protobuf.ts"
import * as UnknownFields from "./UnknownFields.ts"
import * as Yaml from "./Yaml.ts"

/** What is done about unknown and duplicate fields: `?fieldValidation=`. */
export type FieldValidation = "Strict" | "Warn" | "Ignore"

/** How a body is decoded. */
export interface Options {
  readonly fieldValidation: FieldValidation
  /** Says something to the client in a `Warning` header. */
  readonly warn: (text: string) => void
  /** Whether the server knows a built-in kind: one of a wrong kind is refused in other words than an unknown one. */
  readonly knows: (apiVersion: string, kind: string) => boolean
}

/** What a text says, and what strict decoding has against it. */
export interface Parsed {
  readonly value: Json
  readonly duplicates: ReadonlyArray<string>
}

/** Parsed to learn what it is: a number in it that is too large is an error only of what is made of it. */
interface Typed extends Parsed {
  readonly overflow?: string | undefined
  /** A body in protobuf. */
  readonly opened?: Protobuf.Opened
}

/** The text of a body. What is no UTF-8 becomes U+FFFD, as in Go. */
export const textOf = (body: string | Uint8Array | undefined): string =>
  typeof body === "string" ? body : new TextDecoder("utf-8", { ignoreBOM: true }).decode(body ?? new Uint8Array())

/** The bytes of a body. */
export const bytesOf = (body: string | Uint8Array | undefined): Uint8Array =>
  typeof body === "string" ? Buffer.from(body) : (body ?? new Uint8Array())

/** Reads a text. Throws a Failure (400) with what Go says of a malformed one. */
export const parse = (text: string, format: Format): Parsed =>
  format === "yaml" ? Yaml.parse(text) : JsonText.parse(text)

/** Reads the object of a POST or PUT. Throws a Failure (400). */
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

/** What a patch makes of an object, and what is said of it. */
export interface Patched {
  readonly value: Json
  /** What strict decoding has against the patch itself: `duplicate field "spec.a"`. */
  readonly errors: ReadonlyArray<string>
  /** How a refusal shows what it refuses. */
  readonly shown: string
  /** A strategic merge patch makes values, which are decoded in other words and whatever their kind says. */
  readonly decoder: "text" | "values"
}

/** Reads what a patch has made. Throws a Failure (422). */
export const patched = (kind: Kind, patched: Patched, options: Options): JsonObject => {
  const refusal = (message: string) =>
    Failure.invalid({ group: "", kind: "", plural: "" }, "", [FieldError.invalid("patch", patched.shown, message)])
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

/** The kind of a body in protobuf, whose message is read once the kind is known to be the path's. */
const enveloped = (opened: Protobuf.Opened): Typed => ({
  value: { apiVersion: opened.apiVersion, kind: opened.kind },
  duplicates: [],
  opened
})

const typeOf = ({ apiVersion, kind }: JsonObject) => ({
  apiVersion: J.text(apiVersion) ?? "",
  kind: J.text(kind) ?? ""
})

/** Parses a text and makes sure that its `apiVersion` and `kind` can be read. */
const typed = (kind: Kind, text: string, format: Format): Typed => {
  const parsed: Typed =
    format === "yaml"
      ? Yaml.parse(text)
      : rewording(
          (message) => Failure.badRequest(`couldn't get version/kind; json parse error: ${message}`),
          () => JsonText.scan(text)
        )
  checkType(kind, parsed.value, text)
  return parsed
}

/** Built-in objects may leave out their kind, custom ones may not. */
const checkType = (kind: Kind, value: Json, text: string): void => {
  const error = typeError(value)
  if (error !== undefined) throw Failure.badRequest(error)
  if (kind.custom && !J.text(J.at(value, "kind"))) throw Failure.badRequest(`Object 'Kind' is missing in '${text}'`)
}

/** Why the `apiVersion` and `kind` of a value cannot be read. */
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

/** With the `apiVersion` and `kind` of the path, where a built-in object leaves them out. */
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

/** Without unknown fields. An object of another version than the path's is not looked into: it is about to be refused. */
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

/** The first bytes of a body: as text if they look like JSON, else in hexadecimal. */
const summary = (bytes: Uint8Array): string => {
  if (bytes.length === 0) return "<empty>"
  const first = bytes.slice(0, 30)
  const isJson = first[0] === 0x7b
  return `${isJson ? new TextDecoder().decode(first) : Buffer.from(first).toString("hex")}${bytes.length > 30 ? " ..." : ""}`
}

/** What `body` gives; a refusal by it is worded anew. */
const rewording = <A>(reword: (message: string) => Failure.Failure, body: () => A): A => {
  try {
    return body()
  } catch (error) {
    throw error instanceof Failure.Failure ? reword(error.message) : error
  }
}
