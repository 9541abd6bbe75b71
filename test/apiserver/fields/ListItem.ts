/**
 * The items of lists that are not atomic: by which step each is reached.
 */
import type { Json } from "../model/Json.ts"
import * as J from "../model/Json.ts"
import * as PathElement from "./PathElement.ts"
import type { ListType } from "./Type.ts"

/** The step to an item, or in words why there is none. */
export type Step = { readonly element: string } | { readonly error: string }

/** The step to an item of a set or of a list with keys. A key that is missing may have a default. */
export const stepOf = (list: ListType, item: Json): Step =>
  list.keys.length === 0 ? stepInSet(item) : stepByKeys(list, item)

/** The step to an item of a list that is known to be valid. */
export const elementOf = (list: ListType, item: Json): string => {
  const step = stepOf(list, item)
  // A value is typed before it is worked with, so that this is one of none that is seen.
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
