/** The approximate memory of the objects that a recording keeps. */
import * as Drift from "../../controller/Drift.ts"
import type { Entries } from "../../controller/Memory.ts"
import * as Text from "../../resource/Text.ts"
import type { Recorded } from "./Recorded.ts"

/** The bytes of an object or a list without its members, and of a member. */
const bytesOfObject = 32
const bytesOfMember = 16

/** Texts from this length on count by the bytes of a character. For shorter ones, the search costs more than it is worth. */
const long = 256

/** The sizes of measured objects, which never change. */
const sizes = new WeakMap<object, number>()

const measure = (value: unknown): number => {
  if (typeof value === "string") return (value.length < long ? value.length : Text.bytes(value)) + bytesOfMember
  if (typeof value !== "object" || value === null) return 0
  let bytes = bytesOfObject
  if (Array.isArray(value)) {
    for (const item of value) bytes += bytesOfMember + measure(item)
    return bytes
  }
  // `Reflect.get` takes four times as long, and every attempt that writes measures all its objects.
  const fields = Drift.json(value)
  for (const key in fields) bytes += bytesOfMember + measure(fields[key])
  return bytes
}

const of = (object: object): number => {
  const known = sizes.get(object)
  if (known !== undefined) return known
  const bytes = measure(object)
  sizes.set(object, bytes)
  return bytes
}

/** The bytes of an entry in a map or a set, with its hash. */
const bytesOfEntry = 100

const ofMemory = ({ accepted, dropped, fight, report }: Entries): number => {
  let bytes = dropped.size * bytesOfEntry + Text.bytes(report?.message) + Text.bytes(fight?.note)
  for (const slot of accepted?.keys() ?? []) bytes += bytesOfEntry + Text.bytes(slot)
  return bytes
}

/**
 * The approximate bytes of a recording. Each object counts once. Undefined if they exceed `most`, so that the cost of measuring has a bound.
 */
export const within = ({ ending, memory, object, reads, requests }: Recorded, most: number): number | undefined => {
  let bytes = 1000 + of(object) + ofMemory(memory) + Text.bytes(ending.message)
  for (const { request, response } of requests) {
    bytes += 300 + Text.bytes(request.path) + Text.bytes(request.body) + Text.bytes(response?.body)
  }
  const seen = new Set<object>([object])
  for (const { found } of reads.kept) {
    bytes += 100
    if (found === undefined) continue
    for (const each of Array.isArray(found) ? found : [found]) {
      bytes += 8
      if (!seen.has(each)) bytes += of(each)
      seen.add(each)
      if (bytes > most) return undefined
    }
  }
  return bytes > most ? undefined : bytes
}
