/**
 * What becomes of an object when a kube-apiserver reads it into its Go types and writes it out again: empty lists and
 * texts go, `status: {}` appears, amounts and times get their one way of being written. The shapes are taken from the Go
 * types themselves, by `shapes/shapes.go`. What a client wrote that cannot be read has been refused before, by its decoder.
 */

import type { Draft, DraftObject } from "../Json.ts"
import type { Kind } from "../Kind.ts"
import { timestamp } from "../Timestamp.ts"
import * as Quantity from "./Quantity.ts"
import shapes from "./shapes/shapes.json"

/** What an object, or a part of one, looks like. */
export interface Shape {
  readonly members: ReadonlyMap<string, Member>
  /** Those that are written even if they are empty. */
  readonly always: ReadonlyArray<readonly [name: string, member: Member]>
}

interface Member {
  /** `kept`: a pointer, of which nothing and zero differ; `dropped`: nothing is zero; `always` and `null`: written anyhow. */
  readonly presence: "kept" | "dropped" | "always" | "null"
  readonly type: Type
}

type Type =
  | { readonly is: "text" | "number" | "truth" | "any" | "time" | "microTime" | "quantity" | "bytes" }
  | { readonly is: "list" | "map"; readonly of: Type }
  | { readonly is: "object"; readonly shape: () => Shape }

/** The shape of a Go type: `Pod`, `apps.Deployment`. */
export const of = (name: string): Shape => {
  const found = compiled.get(name)
  if (found !== undefined) return found
  const fields = Object.entries(sources[name] ?? {})
  const members = new Map(fields.map(([field, code]) => [field, memberOf(code)] as const))
  const made: Shape = {
    members,
    always: [...members].filter(([, { presence }]) => presence === "always" || presence === "null")
  }
  compiled.set(name, made)
  return made
}

/** How an empty list reads that is always written: a kube-apiserver keeps it until it stores the object, which makes it null. */
export type Empty = "kept" | "null"

/** Brings the object, in place, into the form in which a kube-apiserver would write it. */
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
    if (value === undefined) draft[name] = presence === "null" ? null : zeroOf(type)
    else if (empty === "null" && type.is === "list" && Array.isArray(value) && value.length === 0) draft[name] = null
  }
}

/** The name that `shapes.go` gives the Go type of a kind: `Pod`, `apps.Deployment`, `autoscalingv2.HorizontalPodAutoscaler`. */
export const nameOf = ({ group, kind, version }: Pick<Kind, "group" | "version" | "kind">): string => {
  const [first = ""] = group.split(".")
  return first === "" ? kind : `${first}${first === "autoscaling" ? version : ""}.${kind}`
}

/** An object of the shape without a word: only the members that are always written, with their empty values. */
export const zero = (shape: Shape): DraftObject => {
  const made: DraftObject = {}
  canonicalize(shape, made, "kept")
  return made
}

const sources: { readonly [type: string]: { readonly [field: string]: string } } = shapes
const compiled = new Map<string, Shape>()

const presences = new Map<string, Member["presence"]>([
  ["0", "dropped"],
  ["!", "always"],
  ["?", "null"]
])

const memberOf = (code: string): Member => {
  const presence = presences.get(code.charAt(0))
  return presence === undefined ? { presence: "kept", type: typeOf(code) } : { presence, type: typeOf(code.slice(1)) }
}

const typeOf = (code: string): Type => {
  if (code.startsWith("[]")) return { is: "list", of: typeOf(code.slice(2)) }
  if (code.startsWith("{}")) return { is: "map", of: typeOf(code.slice(2)) }
  switch (code) {
    case "string":
      return { is: "text" }
    case "bool":
      return { is: "truth" }
    case "micro":
      return { is: "microTime" }
    case "number":
    case "any":
    case "time":
    case "quantity":
    case "bytes":
      return { is: code }
    default:
      return { is: "object", shape: () => of(code) }
  }
}

const canonicalOf = (type: Type, value: Draft, empty: Empty): Draft => {
  switch (type.is) {
    case "object":
      if (isObject(value)) canonicalize(type.shape(), value, empty)
      return value
    case "list":
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

const zeroOf = (type: Type): Draft => {
  switch (type.is) {
    case "text":
    case "bytes":
      return ""
    case "number":
      return 0
    case "truth":
      return false
    case "quantity":
      return "0"
    case "object":
      return zero(type.shape())
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
