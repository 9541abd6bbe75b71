/**
 * The CEL types of the parts of a schema, and the conversion from JSON to values of these types. Objects have named types, so that the
 * compiler reports a misspelt field.
 */
import { Environment } from "@marcbachmann/cel-js"
import * as Json from "../../model/Json.ts"
import type { Schema } from "../../model/Schema.ts"
import * as StructuralSchema from "../crd/StructuralSchema.ts"
import { Message } from "./Value.ts"

/** A type: its name in the environment, and the conversion from JSON to its values. */
export interface Type {
  readonly name: string
  readonly valueOf: (json: Json.Json) => unknown
}

/** Declares the types of one schema and of all schemas inside it in an environment. */
export class Types {
  readonly #types = new Map<Schema, Type | undefined>()
  #objects = 0

  /** `nameOf` returns the name of a field in expressions. The default escapes it as Kubernetes does for custom kinds. */
  constructor(
    readonly environment: Environment,
    readonly nameOf: (field: string) => string | undefined = identifier
  ) {}

  /** Returns the type of a schema; undefined: rules cannot read such values. With `root`, the type has apiVersion, kind and metadata. */
  of(schema: Schema, root = schema["x-kubernetes-embedded-resource"] === true): Type | undefined {
    if (!this.#types.has(schema)) this.#types.set(schema, this.#declare(schema, root))
    return this.#types.get(schema)
  }

  #declare(schema: Schema, root: boolean): Type | undefined {
    if (schema["x-kubernetes-int-or-string"] === true) return anything
    switch (root ? "object" : schema.type) {
      case "array":
        return this.#list(schema)
      case "object":
        return root || schema.additionalProperties === undefined ? this.#object(schema, root) : this.#map(schema)
      case "string":
        return textOf(schema)
      case "boolean":
        return { name: "bool", valueOf: itself }
      case "integer":
        return { name: "int", valueOf: (json) => (typeof json === "number" ? toInt(json) : json) }
      case "number":
        return { name: "double", valueOf: itself }
      default:
        return undefined
    }
  }

  #list({ items, "x-kubernetes-list-type": listType }: Schema): Type | undefined {
    const item = items === undefined ? undefined : this.#member(items)
    if (items === undefined || item === undefined) return undefined
    const listOf = (json: Json.Json) => Json.list(json).map(item.valueOf)
    const isSet = listType === "set" && items.type !== "object" && items.type !== "array"
    return { name: `list<${item.name}>`, valueOf: isSet ? (json) => new Set(listOf(json)) : listOf }
  }

  #map(schema: Schema): Type | undefined {
    const values = StructuralSchema.valuesOf(schema)
    if (values === undefined) return this.#object(schema, false)
    const value = this.#member(values)
    if (value === undefined) return undefined
    return {
      name: `map<string, ${value.name}>`,
      valueOf: (json) =>
        new Map(Object.entries(Json.object(json)).map(([name, member = null]) => [name, value.valueOf(member)]))
    }
  }

  #object(schema: Schema, root: boolean): Type {
    const fields = Object.entries({ ...schema.properties, ...(root && rootProperties) }).flatMap(([name, property]) => {
      const type = this.#member(property)
      const escaped = this.nameOf(name)
      return type === undefined || escaped === undefined ? [] : [{ name, escaped, type }]
    })
    const constructed = class extends Message {}
    const name = `Object${this.#objects++}`
    this.environment.registerType(name, {
      ctor: constructed,
      fields: Object.fromEntries(fields.map(({ escaped, type }) => [escaped, type.name]))
    })
    this.environment.registerOperator(`${name} == ${name}`, (one: Message, other: Message) =>
      Json.equal(Message.json(one), Message.json(other))
    )
    this.environment.registerOperator(`${name} == null`, () => false)
    for (const { escaped, name, type } of fields) {
      Object.defineProperty(constructed.prototype, escaped, {
        get(this: Message) {
          return Message.member(this, name, type.valueOf)
        }
      })
    }
    return { name, valueOf: (json) => (Json.isObject(json) ? new constructed(json) : null) }
  }

  /** Returns the type of a member. A nullable member has the type `dyn`, because it can be null. */
  #member(schema: Schema): Type | undefined {
    const type = this.of(schema)
    if (type === undefined || schema.nullable !== true) return type
    return { name: "dyn", valueOf: (json) => (json === null ? null : type.valueOf(json)) }
  }
}

/** Returns the escaped name of a field in expressions; undefined: expressions cannot name the field. */
export const identifier = (name: string): string | undefined => {
  if (!/^[a-zA-Z_.\-/][a-zA-Z0-9_.\-/]*$/.test(name)) return undefined
  if (reserved.has(name)) return `__${name}__`
  return name.replace(/__|[-./]/g, (found) => escapes[found] ?? found)
}

const escapes: { readonly [text: string]: string } = {
  __: "__underscores__",
  ".": "__dot__",
  "-": "__dash__",
  "/": "__slash__"
}

const reserved: ReadonlySet<string> = new Set(
  "true false null in as break const continue else for function if import let loop package namespace return var void while".split(
    " "
  )
)

const text: Schema = { type: "string" }
const rootProperties: { readonly [name: string]: Schema } = {
  apiVersion: text,
  kind: text,
  metadata: { type: "object", properties: { name: text, generateName: text } }
}

const itself = (json: Json.Json): unknown => json

/** Converts an integer to a bigint. Other numbers stay as they are. */
const toInt = (value: number): bigint | number => (Number.isInteger(value) ? BigInt(value) : value)

const anything: Type = { name: "dyn", valueOf: (json) => (typeof json === "number" ? toInt(json) : json) }

const textOf = ({ format }: Schema): Type => {
  switch (format) {
    case "byte":
      return { name: "bytes", valueOf: (json) => new Uint8Array(Buffer.from(String(json), "base64")) }
    case "date":
    case "date-time":
      return { name: "google.protobuf.Timestamp", valueOf: (json) => new Date(String(json)) }
    case "duration":
      return { name: "google.protobuf.Duration", valueOf: (json) => durationOf({ text: String(json) }) }
    default:
      return { name: "string", valueOf: itself }
  }
}

/** Converts a text to a duration. Only an expression can make an instance of the library's class of durations. */
const durationOf: (context: { readonly text: string }) => unknown = new Environment()
  .registerVariable("text", "string")
  .parse("duration(text)")
