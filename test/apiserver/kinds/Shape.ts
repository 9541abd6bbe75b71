/**
 * The canonical form in which a kube-apiserver writes objects of its Go types. It omits empty lists and strings, and includes fields
 * that Go always writes (`status: {}`). Each quantity and time has one spelling. The decoder has already rejected unreadable values.
 */

import type { Draft, DraftObject } from "../model/Json.ts"
import * as Quantity from "../model/Quantity.ts"
import { timestamp } from "../model/Timestamp.ts"
import * as Messages from "./messages/Messages.ts"

/** The JSON fields of a Go type. */
export interface Shape {
  readonly members: ReadonlyMap<string, Messages.Field>
  /** The fields that Go writes even if they are empty. */
  readonly always: ReadonlyArray<readonly [name: string, member: Messages.Field]>
}

/** The shape of a Go type with a name such as `apps/v1.Deployment`. Throws for an unknown name. */
export const of = (name: string): Shape => ofMessage(Messages.of(name))

const ofMessage = (message: Messages.Message): Shape => {
  const found = compiled.get(message)
  if (found !== undefined) return found
  const members = new Map(membersOf(message))
  const made: Shape = {
    members,
    always: [...members].filter(([, { presence }]) => presence === "always" || presence === "null")
  }
  compiled.set(message, made)
  return made
}

/** The fields of a type, including those of embedded structs. */
const membersOf = ({ fields }: Messages.Message): ReadonlyArray<readonly [name: string, member: Messages.Field]> =>
  fields.flatMap((field) => {
    if (field.name !== undefined) return [[field.name, field] as const]
    return field.type.is === "object" ? membersOf(field.type.of()) : []
  })

const compiled = new Map<Messages.Message, Shape>()

/** The form of an empty list that Go always writes. A kube-apiserver keeps it until it stores the object, and then writes null. */
export type Empty = "kept" | "null"

/** Converts the object, in place, to the canonical form. */
export const canonicalize = (shape: Shape, draft: DraftObject, empty: Empty): void => {
  for (const name in draft) {
    const member = shape.members.get(name)
    if (member === undefined) continue
    const value = draft[name]
    const canonical = value === null || value === undefined ? undefined : canonicalOf(member.type, value, empty)
    if (canonical === undefined || (member.presence === "dropped" && isZero(canonical))) delete draft[name]
    else if (canonical !== value) draft[name] = canonical
  }
  for (const [name, { presence, type }] of shape.always) {
    const value = draft[name]
    if (value === undefined) draft[name] = presence === "null" || type.is === "bytes" ? null : zeroOf(type)
    else if (empty === "null" && type.is === "list" && Array.isArray(value) && value.length === 0) draft[name] = null
  }
}

/** The zero object of a shape: only the fields that Go always writes, with their zero values. */
export const zero = (shape: Shape): DraftObject => {
  const made: DraftObject = {}
  canonicalize(shape, made, "kept")
  return made
}

const canonicalOf = (type: Messages.Type, value: Draft, empty: Empty): Draft => {
  switch (type.is) {
    case "object":
    case "schemaOrSchemas":
    case "schemaOrBool":
      if (isObject(value)) canonicalize(ofMessage(type.is === "object" ? type.of() : Messages.schema()), value, empty)
      return value
    case "list":
    case "message":
      if (Array.isArray(value)) {
        for (const [index, item] of value.entries())
          value[index] = item === null ? zeroOf(type.of) : canonicalOf(type.of, item, empty)
      }
      return value
    case "map":
      if (isObject(value)) {
        for (const key in value) {
          const item = value[key]
          value[key] = item === null || item === undefined ? zeroOf(type.of) : canonicalOf(type.of, item, empty)
        }
      }
      return value
    case "quantity":
      return quantity(value)
    case "time":
      return typeof value === "string" ? time(value) : value
    case "microTime":
      return typeof value === "string" ? microTime(value) : value
    case "bytes":
      return typeof value === "string" ? bytes(value) : value
    default:
      return value
  }
}

const isObject = (value: Draft): value is DraftObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const zeroOf = (type: Messages.Type): Draft => {
  switch (type.is) {
    case "string":
    case "bytes":
      return ""
    case "int":
    case "double":
      return 0
    case "bool":
      return false
    case "quantity":
      return "0"
    case "object":
      return zero(ofMessage(type.of()))
    default:
      return null
  }
}

const isZero = (value: Draft): boolean => {
  if (value === "" || value === 0 || value === false || value === null) return true
  if (typeof value !== "object") return false
  if (Array.isArray(value)) return value.length === 0
  for (const _ in value) return false
  return true
}

const quantity = (value: Draft): Draft => {
  const text = typeof value === "number" ? String(value) : typeof value === "string" ? value.trim() : undefined
  return text === undefined ? value : Quantity.canonical(text)
}

const time = (text: string): string => {
  if (/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(text)) return text
  const parsed = Date.parse(text)
  return Number.isNaN(parsed) ? text : timestamp(parsed)
}

const microTime = (text: string): string => {
  if (/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/.test(text)) return text
  const parsed = Date.parse(text)
  const fraction = /\.(\d+)/.exec(text)?.[1] ?? ""
  return Number.isNaN(parsed)
    ? text
    : `${new Date(parsed).toISOString().slice(0, 19)}.${fraction.padEnd(6, "0").slice(0, 6)}Z`
}

const bytes = (text: string): string => (/[\r\n]/.test(text) ? text.replaceAll(/[\r\n]/g, "") : text)
