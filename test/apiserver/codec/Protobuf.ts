/**
 * The protobuf encoding of Kubernetes: a prefix of four bytes, and a `runtime.Unknown` with the kind and the message.
 */

import * as Messages from "../kinds/messages/Messages.ts"
import * as Failure from "../model/Failure.ts"
import type { JsonObject } from "../model/Json.ts"
import * as J from "../model/Json.ts"
import * as MessageDecoder from "./MessageDecoder.ts"
import * as MessageEncoder from "./MessageEncoder.ts"
import { Malformed, Writer, wire } from "./Wire.ts"

const magic = Buffer.from("k8s\0")

/** Encodes an object or a list. A kind without a Go type is a defect, because negotiation allows protobuf only for built-in kinds. */
export const encode = (value: JsonObject): Buffer => {
  const writer = new Writer()
  writer.raw(magic)
  const { apiVersion, kind } = typeOf(value)
  // TypeMeta.
  nested(writer, 1, () => {
    text(writer, 1, apiVersion)
    text(writer, 2, kind)
  })
  nested(writer, 2, () => MessageEncoder.write(writer, messageOf(apiVersion, kind), value))
  // The content encoding and the content type, which Go leaves empty.
  text(writer, 3, "")
  text(writer, 4, "")
  return writer.finish()
}

/** Encodes a watch event, preceded by its length in four bytes. */
export const encodeEvent = (type: string, object: JsonObject): Buffer => {
  const writer = new Writer()
  text(writer, 1, type)
  nested(writer, 2, () => {
    writer.tag(1, wire.part)
    writer.part(encode(object))
  })
  const event = writer.finish()
  const length = Buffer.alloc(4)
  length.writeUInt32BE(event.length)
  return Buffer.concat([length, event])
}

/** An opened body: its kind, which may be missing, and the bytes of its message. */
export interface Opened {
  readonly apiVersion: string
  readonly kind: string
  readonly raw: Uint8Array
}

/** Opens a body without decoding its message. Throws a Failure (400) if the envelope is malformed. */
export const open = (body: Uint8Array): Opened =>
  refusing(() => {
    if (body.length === 0) throw new Malformed("empty data")
    if (!Buffer.from(body.subarray(0, magic.length)).equals(magic)) {
      const prefix = [...magic].join(" ")
      throw new Malformed(`provided data does not appear to be a protobuf message, expected prefix [${prefix}]`)
    }
    if (body.length === magic.length) throw new Malformed("empty body")
    const { parts } = MessageDecoder.fieldsOf(body.subarray(magic.length), "Unknown")
    const { texts } = MessageDecoder.fieldsOf(parts.get(1) ?? nothing, "TypeMeta")
    return { apiVersion: texts.get(1) ?? "", kind: texts.get(2) ?? "", raw: parts.get(2) ?? nothing }
  })

/** Reports whether the kind of a body has a Go type. */
export const knows = ({ apiVersion, kind }: Pick<Opened, "apiVersion" | "kind">): boolean =>
  find(apiVersion, kind) !== undefined

/** Decodes the message of an opened body. Throws a Failure (400) if it is malformed. */
export const read = ({ apiVersion, kind, raw }: Opened): JsonObject =>
  refusing(() => ({ apiVersion, kind, ...MessageDecoder.read(messageOf(apiVersion, kind), raw) }))

/** Decodes a watch event without its length prefix. Throws a Failure (400) if it is malformed. */
export const readEvent = (bytes: Uint8Array): { readonly type: string; readonly object: JsonObject } =>
  refusing(() => {
    const { parts, texts } = MessageDecoder.fieldsOf(bytes, "WatchEvent")
    const { parts: raw } = MessageDecoder.fieldsOf(parts.get(2) ?? nothing, "RawExtension")
    return { type: texts.get(1) ?? "", object: read(open(raw.get(1) ?? nothing)) }
  })

const nothing = new Uint8Array()

const refusing = <A>(body: () => A): A => {
  try {
    return body()
  } catch (error) {
    throw error instanceof Malformed ? Failure.badRequest(error.message) : error
  }
}

const typeOf = (value: JsonObject) => ({ apiVersion: J.text(value.apiVersion) ?? "", kind: J.text(value.kind) ?? "" })

/** Finds the message of a kind. The types of `meta.k8s.io` are part of each API group. */
const find = (apiVersion: string, kind: string): Messages.Message | undefined => {
  const [version = "", group = ""] = apiVersion.split("/").reverse()
  return Messages.find(Messages.nameOf({ group, version, kind })) ?? Messages.find(`meta/v1.${kind}`)
}

const messageOf = (apiVersion: string, kind: string): Messages.Message => {
  const found = find(apiVersion, kind)
  if (found === undefined) throw new Error(`no protobuf message: ${apiVersion} ${kind} (must be a built-in kind)`)
  return found
}

const nested = (writer: Writer, number: number, write: () => void): void => {
  writer.tag(number, wire.part)
  writer.nested(write)
}

const text = (writer: Writer, number: number, value: string): void => {
  writer.tag(number, wire.part)
  writer.text(value)
}
