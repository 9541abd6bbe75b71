/** Encodes an object as a protobuf message, with the same bytes as Go. */

import * as Messages from "../kinds/messages/Messages.ts"
import type { Json, JsonObject } from "../model/Json.ts"
import * as J from "../model/Json.ts"
import type { Writer } from "./Wire.ts"
import { wire } from "./Wire.ts"

/** Encodes the fields of an object. Go encodes each field that is not a pointer, a list or a map, even with a zero value. */
export const write = (writer: Writer, message: Messages.Message, object: JsonObject): void => {
  for (const { name, number, presence, type } of message.fields) {
    if (name === undefined) {
      value(writer, number, type, object)
      continue
    }
    const found = object[name]
    if (found !== undefined && found !== null) value(writer, number, type, found)
    else if (presence === "always" || presence === "dropped") value(writer, number, type, undefined)
  }
}

/** Encodes a value with its tag. An undefined value is encoded as the zero value of its type. */
const value = (writer: Writer, number: number, type: Messages.Type, found: Json | undefined): void => {
  switch (type.is) {
    case "list":
      for (const item of J.list(found)) value(writer, number, type.of, item ?? undefined)
      break
    case "map":
      for (const [key, item] of Object.entries(J.object(found)).sort(([one], [other]) => (one < other ? -1 : 1))) {
        part(writer, number, () => {
          value(writer, 1, { is: "string" }, key)
          value(writer, 2, type.of, item ?? undefined)
        })
      }
      break
    case "message":
      if (found !== undefined) part(writer, number, () => value(writer, 1, { is: "list", of: type.of }, found))
      break
    case "object":
      part(writer, number, () => write(writer, type.of(), J.object(found)))
      break
    case "string":
      text(writer, number, J.text(found) ?? "")
      break
    case "bool":
      int(writer, number, found === true ? 1 : 0)
      break
    case "int":
      int(writer, number, J.number(found) ?? 0)
      break
    case "double":
      writer.tag(number, wire.fixed64)
      writer.double(J.number(found) ?? 0)
      break
    case "bytes":
      if (typeof found === "string") bytes(writer, number, Buffer.from(found, "base64"))
      break
    case "time":
    case "microTime":
      part(writer, number, () => time(writer, J.text(found)))
      break
    case "duration":
      part(writer, number, () => int(writer, 1, 0))
      break
    case "quantity":
      part(writer, number, () => text(writer, 1, typeof found === "number" ? String(found) : (J.text(found) ?? "0")))
      break
    case "intOrString":
      part(writer, number, () => {
        int(writer, 1, typeof found === "string" ? 1 : 0)
        int(writer, 2, J.number(found) ?? 0)
        text(writer, 3, J.text(found) ?? "")
      })
      break
    case "raw":
      part(writer, number, () => {
        if (found !== undefined) bytes(writer, 1, Buffer.from(JSON.stringify(found)))
      })
      break
    case "schemaOrTexts":
      part(writer, number, () => {
        if (J.isObject(found)) value(writer, 1, schema, found)
        value(writer, 2, { is: "list", of: { is: "string" } }, found)
      })
      break
    case "schemaOrSchemas":
      part(writer, number, () => {
        if (J.isObject(found)) value(writer, 1, schema, found)
        value(writer, 2, { is: "list", of: schema }, found)
      })
      break
    case "schemaOrBool":
      part(writer, number, () => {
        int(writer, 1, found === false || found === undefined ? 0 : 1)
        if (J.isObject(found)) value(writer, 2, schema, found)
      })
  }
}

const schema: Messages.Type = { is: "object", of: Messages.schema }

const part = (writer: Writer, number: number, write: () => void): void => {
  writer.tag(number, wire.part)
  writer.nested(write)
}

const text = (writer: Writer, number: number, found: string): void => {
  writer.tag(number, wire.part)
  writer.text(found)
}

const bytes = (writer: Writer, number: number, found: Uint8Array): void => {
  writer.tag(number, wire.part)
  writer.part(found)
}

const int = (writer: Writer, number: number, found: number): void => {
  writer.tag(number, wire.varint)
  writer.varint(found)
}

/** Encodes the seconds and nanoseconds of a time. A zero time is an empty message. */
const time = (writer: Writer, found: string | undefined): void => {
  if (found === undefined) return
  int(writer, 1, Math.floor(Date.parse(found) / 1000))
  const fraction = /\.(\d+)/.exec(found)?.[1] ?? ""
  int(writer, 2, Number(fraction.padEnd(9, "0").slice(0, 9)))
}
