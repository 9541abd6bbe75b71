/**
 * Computes the path elements of the items of lists that are not atomic.
 */
import type { Json } from "../model/Json.ts"
import * as J from "../model/Json.ts"
import * as PathElement from "./PathElement.ts"
import type { ListType } from "./Type.ts"

/** The path element of an item, or the error message if the item has none. */
export type Step = { readonly element: string } | { readonly error: string }

/** Returns the path element of an item of a set or of a list with keys. A missing key may have a default. */
export const stepOf = (list: ListType, item: Json): Step =>
  list.keys.length === 0 ? stepInSet(item) : stepByKeys(list, item)

/** Returns the path element of an item of a list that is already known to be valid. */
export const elementOf = (list: ListType, item: Json): string => {
  const step = stepOf(list, item)
  // A value is checked against its type before this call, so the error case does not occur.
  return "element" in step ? step.element : ""
}

const stepByKeys = (list: ListType, item: Json): Step => {
  if (item === null) return { error: "associative list with keys may not have a null element" }
  if (!J.isObject(item)) return { error: "associative list with keys may not have non-map elements" }
  const fields = list.element.map?.fields
  const keys: Array<readonly [string, Json]> = []
  for (const name of list.keys) {
    const value = Object.hasOwn(item, name) ? item[name] : undefined
    const key = value === undefined ? fields?.get(name)?.default : value
    if (key !== undefined) keys.push([name, key])
  }
  if (keys.length > 0) return { element: PathElement.ofKeys(keys) }
  const names = list.keys.map((name) => JSON.stringify(name)).join(" ")
  return {
    error: `associative list with keys has an element that omits all key fields [${names}] (and doesn't have default values for any key fields)`
  }
}

const stepInSet = (item: Json): Step => {
  if (J.isObject(item)) return { error: "associative list without keys has an element that's a map type" }
  if (J.isList(item)) return { error: "not supported: associative list with lists as elements" }
  if (item === null) return { error: "associative list without keys has an element that's an explicit null" }
  return { element: PathElement.ofValue(item) }
}
