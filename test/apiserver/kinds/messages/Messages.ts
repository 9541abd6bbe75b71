/**
 * The Go types of the built-in kinds: the fields of each type, their names in JSON, their numbers in protobuf, and the empty values that
 * Go writes. `test/record/messages.go` generates the table from the Go types.
 */
import type { Kind } from "../../model/Kind.ts"
import source from "./messages.json"

/** A Go type. */
export interface Message {
  readonly name: string
  /** In the order of their numbers, in which Go writes them. */
  readonly fields: ReadonlyArray<Field>
  readonly byNumber: ReadonlyMap<number, Field>
}

/** A field of a Go type. */
export interface Field {
  /** The name in JSON; undefined for an embedded struct, whose fields are fields of the object in JSON. */
  readonly name: string | undefined
  readonly number: number
  /** `kept` and `null`: a pointer. Go omits nil, or writes null. `dropped`: Go omits a zero value. `always`: Go always writes the field. */
  readonly presence: "kept" | "null" | "dropped" | "always"
  readonly type: Type
}

/** The type of a field. */
export type Type =
  | { readonly is: Scalar }
  /** `message`: a list that protobuf writes as a message with the items as field 1. */
  | { readonly is: "list" | "map" | "message"; readonly of: Type }
  | { readonly is: "object"; readonly of: () => Message }

/** The types that have a form of their own in JSON or in protobuf. */
export type Scalar =
  | "string"
  | "bool"
  | "int"
  | "double"
  | "bytes"
  | "time"
  | "microTime"
  | "duration"
  | "quantity"
  | "intOrString"
  | "raw"
  | "schemaOrTexts"
  | "schemaOrSchemas"
  | "schemaOrBool"

/** The Go type with a name such as `apps/v1.Deployment`. Undefined if not found. */
export const find = (name: string): Message | undefined => {
  const found = compiled.get(name)
  const fields = sources[name]
  if (found !== undefined || fields === undefined) return found
  const read = Object.entries(fields)
    .map(([name, code]) => fieldOf(name, code))
    .sort((one, other) => one.number - other.number)
  const message = { name, fields: read, byNumber: new Map(read.map((field) => [field.number, field])) }
  compiled.set(name, message)
  return message
}

/** The Go type with a name such as `apps/v1.Deployment`. An unknown name is a defect. */
export const of = (name: string): Message => {
  const found = find(name)
  if (found === undefined) throw new Error(`Go type not found: ${name} (must be in messages.json)`)
  return found
}

/** The name of the Go type of a kind, such as `core/v1.Pod` or `rbac/v1.Role`. */
export const nameOf = ({ group, kind, version }: Pick<Kind, "group" | "version" | "kind">): string =>
  `${group.split(".")[0] || "core"}/${version}.${kind}`

const sources: { readonly [type: string]: { readonly [field: string]: string } | undefined } = source
const compiled = new Map<string, Message>()

const presences: { readonly [mark: string]: Field["presence"] } = {
  "*": "kept",
  "?": "null",
  "-": "dropped",
  "!": "always"
}

const fieldOf = (name: string, code: string): Field => {
  const [, number = "", mark = "", type = ""] = /^(\d+)([-!?*]?)(.+)$/.exec(code) ?? []
  return {
    name: name.startsWith("~") ? undefined : name,
    number: Number(number),
    presence: presences[mark] ?? "always",
    type: typeOf(type)
  }
}

const scalars: ReadonlySet<string> = new Set<Scalar>([
  ...([
    "string",
    "bool",
    "int",
    "double",
    "bytes",
    "time",
    "microTime",
    "duration",
    "quantity",
    "intOrString"
  ] as const),
  ...(["raw", "schemaOrTexts", "schemaOrSchemas", "schemaOrBool"] as const)
])
const isScalar = (code: string): code is Scalar => scalars.has(code)

const containers = { "[]": "list", "{}": "map", "()": "message" } as const

const typeOf = (code: string): Type => {
  if (isScalar(code)) return { is: code }
  for (const [prefix, is] of Object.entries(containers))
    if (code.startsWith(prefix)) return { is, of: typeOf(code.slice(2)) }
  return { is: "object", of: () => of(code) }
}

/** The Go type of a schema of a custom kind. */
export const schema = (): Message => of("apiextensions/v1.JSONSchemaProps")
