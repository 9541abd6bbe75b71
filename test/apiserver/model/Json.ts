/**
 * JSON, as the server keeps it and as it is being made. What is stored is never changed: it is `Json`, which no one can
 * write to. Whoever makes an object works on a copy of its own, a `Draft`.
 */

/** A JSON value that is only read. A member that is `undefined` is absent. */
export type Json = string | number | boolean | null | ReadonlyArray<Json> | JsonObject

/** A JSON object that is only read. */
export interface JsonObject {
  readonly [name: string]: Json | undefined
}

/** A JSON value that belongs to whoever holds it. */
export type Draft = string | number | boolean | null | Array<Draft> | DraftObject

/** A JSON object that belongs to whoever holds it. */
export interface DraftObject {
  [name: string]: Draft | undefined
}

/** Whether it is an object: no list, not null. */
export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Whether it is a list. (`Array.isArray` forgets that a list may be read-only.) */
export const isList = (value: Json | undefined): value is ReadonlyArray<Json> => Array.isArray(value)

/** The object, or an empty one where there is something else or nothing. */
export const object = (value: Json | undefined): JsonObject => (isObject(value) ? value : empty)

/** The list, or an empty one where there is something else or nothing. */
export const list = (value: Json | undefined): ReadonlyArray<Json> => (isList(value) ? value : [])

/** The objects of a list. */
export const objects = (value: Json | undefined): ReadonlyArray<JsonObject> => list(value).filter(isObject)

/** The text, or nothing. */
export const text = (value: Json | undefined): string | undefined => (typeof value === "string" ? value : undefined)

/** The number, or nothing. */
export const number = (value: Json | undefined): number | undefined => (typeof value === "number" ? value : undefined)

/** The texts of an object: labels, annotations. */
export const texts = (value: Json | undefined): { readonly [name: string]: string } =>
  Object.fromEntries(
    Object.entries(object(value)).filter((entry): entry is [string, string] => typeof entry[1] === "string")
  )

/** What stands at a path of member names; nothing where the path ends early. */
export const at = (value: Json | undefined, ...path: ReadonlyArray<string>): Json | undefined => {
  let here = value
  for (const name of path) {
    if (!isObject(here) || !Object.hasOwn(here, name)) return undefined
    here = here[name]
  }
  return here
}

/** A copy of one's own, without absent members. */
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

/** Sets a member, whatever its name: `__proto__`, to which JavaScript gives a meaning, is a name like any other. */
export const put = <Value>(draft: { [name: string]: Value }, name: string, value: Value): void => {
  if (name !== "__proto__") draft[name] = value
  else Object.defineProperty(draft, name, { value, enumerable: true, configurable: true, writable: true })
}

/** The member as an object to be written to, made where it is missing or something else. */
export const member = (draft: DraftObject, name: string): DraftObject => {
  const found = draft[name]
  if (typeof found === "object" && found !== null && !Array.isArray(found)) return found
  const made: DraftObject = {}
  draft[name] = made
  return made
}

/** The member as a list to be written to, made where it is missing or something else. */
export const items = (draft: DraftObject, name: string): Array<Draft> => {
  const found = draft[name]
  if (Array.isArray(found)) return found
  const made: Array<Draft> = []
  draft[name] = made
  return made
}

/** Whether it has no members. */
export const isEmpty = (value: JsonObject): boolean => {
  for (const name in value) if (value[name] !== undefined) return false
  return true
}

/** Whether two values are the same; the order of members does not matter. */
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
