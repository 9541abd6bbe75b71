/**
 * JSON in two forms. Stored values are immutable: their type is `Json`, which is read-only. To build an object, the server
 * works on a copy of its own, a `Draft`.
 */

/** A read-only JSON value. A member that is `undefined` is absent. */
export type Json = string | number | boolean | null | ReadonlyArray<Json> | JsonObject

/** A read-only JSON object. */
export interface JsonObject {
  readonly [name: string]: Json | undefined
}

/** A mutable JSON value, which belongs to its holder alone. */
export type Draft = string | number | boolean | null | Array<Draft> | DraftObject

/** A mutable JSON object, which belongs to its holder alone. */
export interface DraftObject {
  [name: string]: Draft | undefined
}

/** Reports whether the value is an object: neither a list nor null. */
export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Reports whether the value is a list. (`Array.isArray` loses the read-only type.) */
export const isList = (value: Json | undefined): value is ReadonlyArray<Json> => Array.isArray(value)

/** Returns the object, or an empty one for any other value. */
export const object = (value: Json | undefined): JsonObject => (isObject(value) ? value : empty)

/** Returns the list, or an empty one for any other value. */
export const list = (value: Json | undefined): ReadonlyArray<Json> => (isList(value) ? value : [])

/** Returns the objects of a list; empty if the value is not a list. */
export const objects = (value: Json | undefined): ReadonlyArray<JsonObject> => list(value).filter(isObject)

/** Returns the string, or undefined for any other value. */
export const text = (value: Json | undefined): string | undefined => (typeof value === "string" ? value : undefined)

/** Returns the number, or undefined for any other value. */
export const number = (value: Json | undefined): number | undefined => (typeof value === "number" ? value : undefined)

/** Returns the string members of an object, such as labels or annotations. */
export const texts = (value: Json | undefined): { readonly [name: string]: string } => {
  const found = object(value)
  const made: { [name: string]: string } = {}
  for (const name in found) {
    const member = found[name]
    if (typeof member === "string") put(made, name, member)
  }
  return made
}

/** Returns the value at a path of member names; undefined if it does not exist. */
export const at = (value: Json | undefined, ...path: ReadonlyArray<string>): Json | undefined => {
  let here = value
  for (const name of path) {
    if (!isObject(here) || !Object.hasOwn(here, name)) return undefined
    here = here[name]
  }
  return here
}

/** Returns a mutable deep copy without absent members. */
export function copy(value: JsonObject): DraftObject
export function copy(value: Json): Draft
export function copy(value: Json): Draft {
  if (isList(value)) return value.map((item) => copy(item))
  if (!isObject(value)) return value
  const made: DraftObject = {}
  for (const name in value) {
    const member = value[name]
    if (member !== undefined) put(made, name, copy(member))
  }
  return made
}

/** Returns a mutable deep copy without absent members. The members of each object are sorted, as in a Go map. */
export const sorted = (value: Json): Draft => {
  if (isList(value)) return value.map(sorted)
  if (!isObject(value)) return value
  const made: DraftObject = {}
  for (const name of Object.keys(value).sort()) {
    const member = value[name]
    if (member !== undefined) put(made, name, sorted(member))
  }
  return made
}

/**
 * Returns `after` with the equal parts of `before` instead of its own. If both are equal, it returns `before` itself. Comparisons of
 * such versions of an object are fast, because they skip the common parts.
 */
export function share(before: JsonObject, after: JsonObject): JsonObject
export function share(before: Json | undefined, after: Json): Json
export function share(before: Json | undefined, after: Json): Json {
  if (before === after || typeof after !== "object" || typeof before !== "object") return after
  if (isList(after)) return isList(before) ? shareItems(before, after) : after
  return isObject(after) && isObject(before) ? shareMembers(before, after) : after
}

const shareItems = (before: ReadonlyArray<Json>, after: ReadonlyArray<Json>): ReadonlyArray<Json> => {
  let isSame = before.length === after.length
  const made = after.map((item, index) => {
    const shared = share(before[index], item)
    if (shared !== before[index]) isSame = false
    return shared
  })
  return isSame ? before : made
}

const shareMembers = (before: JsonObject, after: JsonObject): JsonObject => {
  const made: { [name: string]: Json } = {}
  let isSame = true
  let members = 0
  for (const name in after) {
    const member = after[name]
    if (member === undefined) continue
    members++
    const old = Object.hasOwn(before, name) ? before[name] : undefined
    const shared = share(old, member)
    if (shared !== old) isSame = false
    put(made, name, shared)
  }
  if (!isSame) return made
  for (const name in before) if (before[name] !== undefined) members--
  return members === 0 ? before : made
}

/** Sets a member by any name, including `__proto__`, which has a special meaning in JavaScript. */
export const put = <Value>(draft: { [name: string]: Value }, name: string, value: Value): void => {
  if (name !== "__proto__") draft[name] = value
  else Object.defineProperty(draft, name, { value, enumerable: true, configurable: true, writable: true })
}

/** Returns the member as a mutable object. Creates it if it is missing or of another type. */
export const member = (draft: DraftObject, name: string): DraftObject => {
  const found = draft[name]
  if (typeof found === "object" && found !== null && !Array.isArray(found)) return found
  const made: DraftObject = {}
  draft[name] = made
  return made
}

/** Returns the member as a mutable list. Creates it if it is missing or of another type. */
export const items = (draft: DraftObject, name: string): Array<Draft> => {
  const found = draft[name]
  if (Array.isArray(found)) return found
  const made: Array<Draft> = []
  draft[name] = made
  return made
}

/** Reports whether the object has no members. */
export const isEmpty = (value: JsonObject): boolean => {
  for (const name in value) if (value[name] !== undefined) return false
  return true
}

/** Reports whether two values are deeply equal. The order of members does not matter. */
export const equal = (one: Json | undefined, other: Json | undefined): boolean => {
  if (one === other) return true
  if (isList(one)) {
    return isList(other) && one.length === other.length && one.every((item, index) => equal(item, other[index]))
  }
  if (!isObject(one) || !isObject(other)) return false
  let members = 0
  for (const name in one) {
    if (one[name] === undefined) continue
    members++
    if (!equal(one[name], other[name])) return false
  }
  for (const name in other) if (other[name] !== undefined) members--
  return members === 0
}

const empty: JsonObject = Object.freeze({})
