/**
 * One element of a path to a field, in the encoding of `fieldsV1`. `f:spec` is a member, `k:{"name":"a"}` the list item with
 * these keys, `v:"x"` an item of a set, `i:0` an index. Equal elements have equal text, so an element is a string.
 */

import * as GoText from "../model/GoText.ts"
import type { Json, JsonObject } from "../model/Json.ts"
import * as J from "../model/Json.ts"

/** The path element of a member of an object. */
export const ofField = (name: string): string => `f:${name}`

/** The path element of an item of a set. */
export const ofValue = (value: Json): string => `v:${GoText.json(value)}`

/** The path element of the item with these keys, given in any order. */
export const ofKeys = (keys: ReadonlyArray<readonly [name: string, value: Json]>): string => {
  const sorted = keys.length < 2 ? keys : [...keys].sort(([one], [other]) => (one < other ? -1 : 1))
  return `k:{${sorted.map(([name, value]) => `${JSON.stringify(name)}:${GoText.json(value)}`).join(",")}}`
}

/** The path element of an index in a list. */
export const ofIndex = (index: number): string => `i:${index}`

/** Returns the name of the member, or undefined if the path element leads into a list. */
export const fieldOf = (element: string): string | undefined =>
  element.startsWith("f:") ? element.slice(2) : undefined

/** Reports whether the path element identifies an item of a list by keys. */
export const isKeyed = (element: string): boolean => element.startsWith("k:")

/**
 * Returns the canonical form of a path element that a client wrote. Returns undefined for an unknown prefix, which the caller
 * ignores. Throws a SyntaxError if the text is not a path element.
 */
export const canonical = (element: string): string | undefined => {
  if (element.length < 2) throw new SyntaxError("key must be 2 characters long:")
  if (element.charAt(1) !== ":") throw new SyntaxError(`missing colon: ${element}`)
  const rest = element.slice(2)
  switch (element.charAt(0)) {
    case "f":
      return element
    case "v":
      return ofValue(JSON.parse(rest) as Json)
    case "k": {
      const keys = JSON.parse(rest) as Json
      if (!J.isObject(keys)) throw new SyntaxError(`no keys: ${element}`)
      return ofKeys(entriesOf(keys))
    }
    case "i":
      if (!/^[+-]?\d+$/.test(rest)) throw new SyntaxError(`no index: ${element}`)
      return ofIndex(Number(rest))
    default:
      return undefined
  }
}

/** Formats the path element for messages: `.spec`, `[name="a"]`, `[="x"]`, `[0]`. */
export const shown = (element: string): string => {
  const rest = element.slice(2)
  switch (element.charAt(0)) {
    case "k":
      return `[${entriesOf(J.object(JSON.parse(rest) as Json))
        .map(([name, value]) => `${name}=${plain(value)}`)
        .join(",")}]`
    case "v":
      return `[=${plain(JSON.parse(rest) as Json)}]`
    case "i":
      return `[${rest}]`
    default:
      return `.${rest}`
  }
}

/** Compares two path elements by the order of kube-apiserver: members, items by keys, items by value, indexes. */
export const compare = (one: string, other: string): number => {
  if (one === other) return 0
  const kind = one.charCodeAt(0)
  if (kind !== other.charCodeAt(0)) return order.indexOf(one.charAt(0)) - order.indexOf(other.charAt(0))
  if (kind === field) return one < other ? -1 : 1
  return compareValues(JSON.parse(one.slice(2)) as Json, JSON.parse(other.slice(2)) as Json)
}

const order = ".fkvi"
const field = "f".charCodeAt(0)

const entriesOf = (keys: JsonObject): ReadonlyArray<readonly [string, Json]> =>
  Object.entries(keys).flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]))

const plain = (value: Json): string => {
  if (J.isList(value)) return `[${value.map(plain).join(",")}]`
  if (J.isObject(value))
    return entriesOf(value)
      .map(([name, member]) => `${name}=${plain(member)}`)
      .join("")
  return JSON.stringify(value)
}

/** Orders values by type: numbers, strings, booleans, lists, objects, null. */
const compareValues = (one: Json, other: Json): number => {
  const difference = rank(one) - rank(other)
  if (difference !== 0) return difference
  if (J.isList(one) && J.isList(other)) return firstDifference(one, other, compareValues)
  if (J.isObject(one) && J.isObject(other)) return firstDifference(entriesOf(one), entriesOf(other), compareEntries)
  return one === other || one === null || other === null ? 0 : one < other ? -1 : 1
}

const compareEntries = (one: readonly [string, Json], other: readonly [string, Json]): number =>
  one[0] === other[0] ? compareValues(one[1], other[1]) : one[0] < other[0] ? -1 : 1

const firstDifference = <A>(
  one: ReadonlyArray<A>,
  other: ReadonlyArray<A>,
  by: (one: A, other: A) => number
): number => {
  for (const [index, item] of one.entries()) {
    const against = other[index]
    if (against === undefined) return 1
    const difference = by(item, against)
    if (difference !== 0) return difference
  }
  return one.length - other.length
}

const rank = (value: Json): number => {
  if (typeof value === "number") return 0
  if (typeof value === "string") return 1
  if (typeof value === "boolean") return 2
  if (value === null) return 5
  return J.isList(value) ? 3 : 4
}
