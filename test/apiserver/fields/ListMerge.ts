/**
 * Merges a list of a strategic merge patch into a list of an object. Lists of objects are merged by merge key, lists of
 * scalars as sets.
 */

import * as Failure from "../model/Failure.ts"
import * as GoText from "../model/GoText.ts"
import type { Draft, DraftObject, Json } from "../model/Json.ts"
import * as J from "../model/Json.ts"
import * as Order from "./Order.ts"

/** The options of merging a list. */
export interface Options {
  /** The merge key of a list of objects; undefined for a list of scalars. */
  readonly mergeKey: string | undefined
  /** True if the patch lists the items to delete (`$deleteFromPrimitiveList`). */
  readonly deletes: boolean
  readonly mergeItem: (item: DraftObject, patch: DraftObject) => DraftObject
}

/** Returns the merged list. Throws a Failure if the items are not all of one type. */
export const merge = (live: ReadonlyArray<Draft>, patch: ReadonlyArray<Draft>, options: Options): Array<Draft> => {
  if (live.length === 0 && patch.length === 0) return []
  if (!checkTypes(live, patch)) {
    const named = new Set(patch)
    if (options.deletes) return live.filter((item) => !named.has(item))
    return Order.arranged([...new Set([...live, ...patch])], patch, live, undefined)
  }
  const { mergeKey } = options
  if (mergeKey === undefined) throw Failure.plain("cannot merge lists without merge key for struct")
  const { changes, items } = directed(live, patch, mergeKey)
  const before = [...items]
  return Order.arranged(mergeItems(items, changes, mergeKey, options.mergeItem), changes, before, mergeKey)
}

/** Returns true if the items are objects. Throws a Failure if the items are not all of one type or are lists. */
export const checkTypes = (...lists: ReadonlyArray<ReadonlyArray<Json>>): boolean => {
  const [first, ...others] = lists.flat().map(goTypeOf)
  if (first === undefined) throw Failure.plain("no elements in any of the given slices")
  if (first === "[]interface {}") throw unprocessable()
  if (others.some((other) => other !== first)) {
    throw Failure.plain(`list element types are not identical: ${GoText.plain(lists)}`)
  }
  return first === "map[string]interface {}"
}

/** Returns the Go type of a JSON value. */
export const goTypeOf = (value: Json): string => {
  if (J.isList(value)) return "[]interface {}"
  if (J.isObject(value)) return "map[string]interface {}"
  if (typeof value === "number") return Number.isInteger(value) ? "int64" : "float64"
  return value === null ? "%!s(<nil>)" : typeof value === "boolean" ? "bool" : "string"
}

/** The error for an unknown value of `$patch`. */
export const unknownDirective = (wanted: Json, patch: Json): Failure.Failure =>
  Failure.plain(`unknown patch type: ${GoText.plain(wanted)} in map: ${GoText.plain(patch)}`)

const unprocessable = (): Failure.Failure =>
  new Failure.Failure({
    code: 422,
    reason: "Invalid",
    message: "the server rejected our request due to an error in our request",
    details: {}
  })

interface Directed {
  readonly items: Array<Draft>
  readonly changes: ReadonlyArray<Draft>
}

/**
 * Carries out the `$patch` directives among the items of the patch, and returns the other items as changes. With `replace`,
 * those items replace the list.
 */
const directed = (live: ReadonlyArray<Draft>, patch: ReadonlyArray<Draft>, mergeKey: string): Directed => {
  const deleted = new Set<Json | undefined>()
  let replaces = false
  const changes: Array<Draft> = []
  for (const change of patch) {
    const wanted = J.at(change, "$patch")
    switch (wanted) {
      case undefined:
        changes.push(change)
        break
      case "delete": {
        const key = Order.keyOf(change, mergeKey)
        deleted.add(key)
        break
      }
      case "replace":
        replaces = true
        break
      case "merge":
        throw Failure.plain("merging lists cannot yet be specified in the patch")
      default:
        throw unknownDirective(wanted, change)
    }
  }
  const items = live.filter((item) => !deleted.has(J.at(item, mergeKey)))
  return replaces ? { items: changes, changes: [] } : { items, changes }
}

const mergeItems = (
  items: Array<Draft>,
  changes: ReadonlyArray<Draft>,
  mergeKey: string,
  mergeItem: Options["mergeItem"]
): Array<Draft> => {
  const indexes = new Map<Json | undefined, number>()
  const known = (item: Draft, index: number): void => {
    const key = J.at(item, mergeKey)
    if (!indexes.has(key)) indexes.set(key, index)
  }
  items.forEach(known)
  for (const change of changes) {
    const at = indexes.get(Order.keyOf(change, mergeKey)) ?? items.length
    const found = items[at]
    if (isObject(found) && isObject(change)) items[at] = mergeItem(found, change)
    else known(change, items.push(change) - 1)
  }
  return items
}

const isObject = (value: Draft | undefined): value is DraftObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)
