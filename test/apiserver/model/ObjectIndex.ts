/** An index of objects by values that they contain, such as the addresses of Services. */
import type { JsonObject } from "./Json.ts"

/** Returns the values of an object. */
export type ValuesOf = (object: JsonObject) => ReadonlyArray<string>

/** The values of all indexed objects. */
export interface Values {
  /** Reports whether an object has the value. Ignores the object with the key `except`. */
  readonly has: (value: string, except?: string) => boolean
  /** The number of times that an object has lost a value. */
  readonly losses: number
}

/** An index of a storage. The store calls `change` for each write. */
export interface ObjectIndex extends Values {
  readonly change: (key: string, previous: JsonObject | undefined, next: JsonObject | undefined) => void
}

/** Creates an index of objects with their keys. */
export const make = (
  valuesOf: ValuesOf,
  objects: Iterable<readonly [key: string, object: JsonObject]>
): ObjectIndex => {
  const holders = new Map<string, Set<string>>()
  let losses = 0
  const remove = (key: string, value: string): void => {
    losses++
    const keys = holders.get(value)
    keys?.delete(key)
    if (keys?.size === 0) holders.delete(value)
  }
  const add = (key: string, value: string): void => {
    const keys = holders.get(value)
    if (keys === undefined) holders.set(value, new Set([key]))
    else keys.add(key)
  }
  const change: ObjectIndex["change"] = (key, previous, next) => {
    const before = previous === undefined ? [] : valuesOf(previous)
    const after = next === undefined ? [] : valuesOf(next)
    for (const value of before) if (!after.includes(value)) remove(key, value)
    for (const value of after) add(key, value)
  }
  for (const [key, object] of objects) change(key, undefined, object)
  return {
    has: (value, except) => {
      const keys = holders.get(value)
      return keys !== undefined && keys.size > (except !== undefined && keys.has(except) ? 1 : 0)
    },
    get losses() {
      return losses
    },
    change
  }
}
