/**
 * The Go types of the built-in kinds: the fields of each type, their JSON names, their protobuf numbers, and the zero values that
 * Go writes. `test/record/messages.go` generates the table from the Go types.
 */
import type { Kind } from "../../model/Kind.ts"
import source from "./messages.json"

/** A Go type with its fields. */
export interface Message {
  readonly name: string
  /** The fields in the order of their protobuf numbers, in which Go writes them. */
  readonly fields: ReadonlyArray<Field>
  readonly byNumber: ReadonlyMap<number, Field>
}

/** A field of a Go type. */
export interface Field {
  /** The JSON name. `undefined` for an embedded struct, whose fields are inline in JSON. */
  readonly name: string | undefined
  readonly number: number
  /**
   * `kept`: a pointer that Go omits if it is nil. `null`: a pointer that Go writes as null if it is nil.
   * `dropped`: Go omits a zero value. `always`: Go always writes the field.
   */
  readonly presence: "kept" | "null" | "dropped" | "always"
  readonly type: Type
}

/** The type of a field. */
export type Type =
  | { readonly is: Scalar }
  /** `message`: a list that protobuf writes as a message, with the items in field 1. */
  | { readonly is: "list" | "map" | "message"; readonly of: Type }
  | { readonly is: "object"; readonly of: () => Message }

/** The types with their own encoding in JSON or protobuf. */
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

/** The Go type with a name such as `apps/v1.Deployment`, or `undefined` for an unknown name. */
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

/** The Go type with a name such as `apps/v1.Deployment`. Throws for an unknown name. */
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

/** The Go type of schemas in CRDs. */
export const schema = (): Message => of("apiextensions/v1.JSONSchemaProps")
