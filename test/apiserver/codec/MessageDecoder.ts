/** Decodes a protobuf message into the object that Go would encode as JSON. Throws `Malformed`. */

import * as Messages from "../kinds/messages/Messages.ts"
import type { Draft, DraftObject } from "../model/Json.ts"
import { timestamp } from "../model/Timestamp.ts"
import { Malformed, Reader, wire } from "./Wire.ts"

/** The maximum nesting of messages. */
const mostDepth = 1000

/** Decodes a message into an object. Throws `Malformed`. */
export const read = (message: Messages.Message, bytes: Uint8Array): DraftObject => {
  const object: DraftObject = {}
  readInto(object, message, bytes, 0)
  return object
}

const readInto = (object: DraftObject, message: Messages.Message, bytes: Uint8Array, depth: number): void => {
  if (depth > mostDepth) throw new Malformed("proto: exceeded max depth")
  const reader = new Reader(bytes, message.name.slice(message.name.indexOf(".") + 1))
  while (!reader.ended) {
    const { number, wire: type } = reader.tag()
    const field = message.byNumber.get(number)
    if (field === undefined) reader.skip(type)
    else readField(object, field, reader, type, depth)
  }
}

const readField = (
  object: DraftObject,
  { name, presence, type }: Messages.Field,
  reader: Reader,
  found: number,
  depth: number
): void => {
  const expected = wireOf(type)
  if (found !== expected) throw new Malformed(`proto: wrong wireType = ${found} for field ${goName(name ?? "")}`)
  if (name === undefined) {
    if (type.is === "object") readInto(object, type.of(), reader.part(), depth + 1)
  } else if (type.is === "list") {
    const list = object[name]
    const item = readValue(type.of, reader, depth)
    if (Array.isArray(list)) list.push(item)
    else object[name] = [item]
  } else if (type.is === "map") {
    const entry = reader.part()
    const map = object[name]
    const own = typeof map === "object" && map !== null && !Array.isArray(map) ? map : {}
    object[name] = own
    readEntry(own, type.of, entry, depth)
  } else {
    const value = readValue(type, reader, depth, object[name])
    if (presence === "dropped" && isZero(value)) delete object[name]
    else object[name] = value
  }
}

/** Returns the Go name of a field, which is correct for most fields. */
const goName = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1)

const wireOf = (type: Messages.Type): number => {
  if (type.is === "list") return wireOf(type.of)
  if (type.is === "bool" || type.is === "int") return wire.varint
  return type.is === "double" ? wire.fixed64 : wire.part
}

/** Sets an own member, so that a key such as `__proto__` is a key like any other. */
const put = (map: DraftObject, key: string, value: Draft): void => {
  Object.defineProperty(map, key, { value, configurable: true, enumerable: true, writable: true })
}

const readEntry = (map: DraftObject, type: Messages.Type, bytes: Uint8Array, depth: number): void => {
  const reader = new Reader(bytes)
  let key = ""
  let value: Draft | undefined
  while (!reader.ended) {
    const { number, wire: found } = reader.tag()
    if (number === 1 && found === wire.part) key = textOf(reader.part())
    else if (number === 2 && found === wireOf(type)) value = readValue(type, reader, depth)
    else reader.skip(found)
  }
  put(map, key, value ?? zeroOf(type))
}

const readValue = (type: Messages.Type, reader: Reader, depth: number, before?: Draft): Draft => {
  switch (type.is) {
    case "string":
      return textOf(reader.part())
    case "bool":
      return reader.varint() !== 0n
    case "int":
      return Number(BigInt.asIntN(64, reader.varint()))
    case "double":
      return reader.double()
    case "bytes":
      return reader.part().toString("base64")
    case "object": {
      // Go merges the occurrences of a repeated singular message.
      const object: DraftObject = typeof before === "object" && before !== null && !Array.isArray(before) ? before : {}
      readInto(object, type.of(), reader.part(), depth + 1)
      return object
    }
    default:
      return special(type, reader.part(), depth + 1)
  }
}

const special = (type: Messages.Type, bytes: Uint8Array, depth: number): Draft => {
  switch (type.is) {
    case "time":
    case "microTime": {
      const { numbers } = fieldsOf(bytes)
      const [seconds, nanos] = [Number(numbers.get(1) ?? 0n), Number(numbers.get(2) ?? 0n)]
      if (seconds === 0 && nanos === 0) return null
      const millis = seconds * 1000
      if (!(Math.abs(millis) <= 8.64e15)) throw new Malformed(`proto: time out of range: ${seconds} seconds`)
      if (type.is === "time") return timestamp(millis)
      const micros = String(Math.floor(nanos / 1000)).padStart(6, "0")
      return `${new Date(millis).toISOString().slice(0, 19)}.${micros}Z`
    }
    case "quantity":
      return fieldsOf(bytes).texts.get(1) ?? "0"
    case "intOrString": {
      const { numbers, texts } = fieldsOf(bytes)
      return numbers.get(1) === 1n ? (texts.get(3) ?? "") : Number(BigInt.asIntN(32, numbers.get(2) ?? 0n))
    }
    case "raw":
      return json(fieldsOf(bytes).texts.get(1))
    case "message":
      return itemsOf(type.of, bytes, 1, depth)
    case "schemaOrTexts":
      return itemsOf(schema, bytes, 1, depth)[0] ?? itemsOf({ is: "string" }, bytes, 2, depth)
    case "schemaOrSchemas":
      return itemsOf(schema, bytes, 1, depth)[0] ?? itemsOf(schema, bytes, 2, depth)
    case "schemaOrBool":
      return itemsOf(schema, bytes, 2, depth)[0] ?? fieldsOf(bytes).numbers.get(1) === 1n
    default:
      return null
  }
}

const schema: Messages.Type = { is: "object", of: Messages.schema }

/** Decodes the values of one field of a message. */
const itemsOf = (type: Messages.Type, bytes: Uint8Array, number: number, depth: number): Array<Draft> => {
  if (depth > mostDepth) throw new Malformed("proto: exceeded max depth")
  const items: Array<Draft> = []
  const reader = new Reader(bytes)
  while (!reader.ended) {
    const { number: found, wire } = reader.tag()
    if (found === number && wire === wireOf(type)) items.push(readValue(type, reader, depth))
    else reader.skip(wire)
  }
  return items
}

/** Returns the varints and the length-delimited parts of a message by field number. */
export const fieldsOf = (
  bytes: Uint8Array,
  name = ""
): {
  readonly numbers: ReadonlyMap<number, bigint>
  readonly parts: ReadonlyMap<number, Buffer>
  readonly texts: { readonly get: (number: number) => string | undefined }
} => {
  const numbers = new Map<number, bigint>()
  const parts = new Map<number, Buffer>()
  const reader = new Reader(bytes, name)
  while (!reader.ended) {
    const { number, wire: type } = reader.tag()
    if (type === wire.varint) numbers.set(number, BigInt.asIntN(64, reader.varint()))
    else if (type === wire.part) parts.set(number, reader.part())
    else reader.skip(type)
  }
  const get = (number: number): string | undefined => {
    const part = parts.get(number)
    return part === undefined ? undefined : textOf(part)
  }
  return { numbers, parts, texts: { get } }
}

const textOf = (bytes: Buffer): string => bytes.toString("utf8")

const json = (text: string | undefined): Draft => {
  if (text === undefined || text === "") return null
  try {
    return JSON.parse(text)
  } catch {
    throw new Malformed(`invalid JSON in a raw field: ${text.slice(0, 30)}`)
  }
}

const zeroOf = (type: Messages.Type): Draft => {
  switch (type.is) {
    case "string":
    case "bytes":
      return ""
    case "quantity":
      return "0"
    case "object":
      return {}
    case "message":
      return []
    default:
      return null
  }
}

const isZero = (value: Draft): boolean => {
  if (value === "" || value === 0 || value === false || value === null) return true
  if (typeof value !== "object") return false
  return Array.isArray(value) ? value.length === 0 : Object.keys(value).length === 0
}
