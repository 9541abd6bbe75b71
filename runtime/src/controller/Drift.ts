/**
 * The differences between an intent and an object, and the foreign fields in the parts that the intent owns alone. Pure.
 *
 * An intent is the part of an object that one field manager sets. The comparison ignores all other fields, so a sidecar, a foreign
 * label or a restart annotation survives. A list of objects is compared item by item: an intended item exists if an item of the object
 * has all its fields. The intended items must keep their order, and each needs an item of its own. An absent empty value counts as
 * missing.
 */

import type { Operation } from "../client/Patch.ts"
import * as Text from "../resource/Text.ts"

/** A value of JSON. */
export type Json = string | number | boolean | null | ReadonlyArray<Json> | { readonly [key: string]: Json | undefined }

/** A step into an object: a field, or the item of a list that has these values. */
export type Step = string | { readonly [key: string]: string | number }

/**
 * A typed object as JSON. An interface has no index signature, so the compiler needs the cast.
 */
export const json = (value: object): Fields => value as Fields

/** One difference. `path` has the form `spec.template.spec.containers[app].image`; an absent value is `undefined`. */
export interface Difference {
  readonly path: string
  readonly want: Json | undefined
  readonly have: Json | undefined
}

/** A foreign field in a part that the intent owns alone: its path for people, and its JSON pointer (RFC 6901). */
export interface ForeignField {
  readonly path: string
  readonly pointer: string
}

/** The fields of an object. */
export type Fields = { readonly [key: string]: Json | undefined }

/** Whether a value has fields. */
export const isRecord = (value: Json | undefined): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const isList = (value: Json | undefined): value is ReadonlyArray<Json> => Array.isArray(value)

/** An own field: a key such as `constructor` must not find an inherited one. */
const fieldOf = (record: Fields, key: string): Json | undefined =>
  Object.hasOwn(record, key) ? record[key] : undefined

/** Whether two values are equal as JSON, in any order of keys. A key with the value `undefined` counts as absent. */
export const equal = (a: Json | undefined, b: Json | undefined): boolean => {
  if (a === b) return true
  if (isList(a)) return isList(b) && a.length === b.length && a.every((item, index) => equal(item, b[index]))
  if (!isRecord(a) || !isRecord(b)) return false
  for (const key in a) if (!equal(a[key], fieldOf(b, key))) return false
  for (const key in b) if (b[key] !== undefined && fieldOf(a, key) === undefined) return false
  return true
}

/** The fields of `intent` that `object` lacks or has with another value. */
export const missing = (intent: Json, object: Json | undefined, path = ""): ReadonlyArray<Difference> => {
  const differences: Array<Difference> = []
  collect(intent, object, path, differences)
  return differences
}

const collect = (want: Json, have: Json | undefined, path: string, into: Array<Difference>): void => {
  if (want === have) return
  if (isRecord(want)) {
    if (isRecord(have)) {
      for (const key in want) {
        const value = want[key]
        const stored = fieldOf(have, key)
        // Most fields are the same, and need no path.
        if (value !== undefined && value !== stored) collect(value, stored, path === "" ? key : `${path}.${key}`, into)
      }
      return
    }
  } else if (isList(want) && isList(have) && want.every(isRecord)) {
    if (want.length > 0) collectItems(want, have, path, into)
    // Keyed items belong to other managers: an apply of an empty list keeps them.
    else if (have.some((item) => mergeKey(item) === undefined)) into.push({ path, want, have })
    return
  } else if (equal(want, have)) return
  into.push({ path, want, have })
}

const collectItems = (
  want: ReadonlyArray<Json>,
  have: ReadonlyArray<Json>,
  path: string,
  into: Array<Difference>
): void => {
  let near: Finder | undefined
  let last = -1
  let isOrdered = true
  const places = want.map((item, index) => {
    // If they are in order, each item is the next one. Every reconcile runs it.
    let at = covers(item, have[last + 1]) ? last + 1 : -1
    if (at < 0) {
      near ??= finder(have)
      at = near(mergeKey(item), index).find((place) => covers(item, have[place])) ?? -1
    }
    if (at < 0) {
      const name = identify(item, index)
      const itemPath = `${path}[${label(item, index)}]`
      near ??= finder(have)
      at = near(mergeKey(item), index).find((place) => identify(have[place] ?? null, place) === name) ?? -1
      if (at < 0) into.push({ path: itemPath, want: item, have: undefined })
      else collect(item, have[at], itemPath, into)
    }
    // One item cannot be two intended ones.
    if (at <= last) isOrdered = false
    last = at
    return at
  })
  if (isOrdered || places.includes(-1)) return
  const found = [...new Set(places)].sort((a, b) => a - b)
  into.push({ path, want: want.map(label), have: found.map((at) => label(have[at] ?? null, at)) })
}

/**
 * Whether a server may drop a value because it is the default of its type: `""`, `0`, `false`, `null`, `[]` and `{}`. JSON omits fields
 * that are `undefined`, so an object of such fields is empty.
 */
export const isEmpty = (value: Json | undefined): boolean =>
  value === "" ||
  value === 0 ||
  value === false ||
  value === null ||
  (isList(value) ? value.length === 0 : isRecord(value) && Object.values(value).every(isAbsent))

const isAbsent = (value: Json | undefined): boolean => value === undefined

const covers = (want: Json, have: Json | undefined): boolean => {
  if (want === have) return true
  if (!isRecord(want) || !isRecord(have)) return isList(want) ? missing(want, have).length === 0 : false
  for (const key in want) {
    const value = want[key]
    if (value !== undefined && !covers(value, fieldOf(have, key))) return false
  }
  return true
}

/** Whether a server may store an intended value as this one: it may drop empty values inside of the value. */
const mayBeStored = (want: Json, have: Json | undefined): boolean => {
  if (isList(want) && isList(have)) {
    return covers(want, have) || (want.length === have.length && want.every((item, at) => isStored(item, have[at])))
  }
  if (!isRecord(want) || !isRecord(have)) return covers(want, have)
  for (const key in want) {
    const [value, stored] = [want[key], fieldOf(have, key)]
    if (value === undefined || (stored === undefined && isEmpty(value))) continue
    if (!mayBeStored(value, stored)) return false
  }
  return true
}

/** Whether an item may be stored as this one. Its own fields are all there: without one, it is another item. */
const isStored = (want: Json, have: Json | undefined): boolean => {
  if (!isRecord(want) || !isRecord(have)) return covers(want, have)
  const keys = Object.keys(want).filter((key) => want[key] !== undefined)
  return keys.every((key) => Object.hasOwn(have, key) && mayBeStored(want[key] ?? null, have[key]))
}

/**
 * Whether an item of a list is the intended one, even with other values. Such an item is not a foreign field.
 */
const isMeant = (want: Json, item: Json): boolean => {
  if (covers(want, item) || isStored(want, item)) return true
  if (!isRecord(want) || !isRecord(item)) return false
  const key = mergeKey(want)
  const sameProtocol = want.protocol === undefined || item.protocol === undefined || want.protocol === item.protocol
  return key !== undefined && key === mergeKey(item) && sameProtocol
}

/** The name of a list item in a path. */
export const label = (item: Json, index: number): string => Text.clip(identify(item, index), Text.longestName)

/** The key that pairs an item with the item that replaces it. */
const identify = (item: Json, index: number): string => mergeKey(item) ?? String(index)

/** The field by which Kubernetes merges lists of such items. */
const mergeKey = (item: Json): string | undefined => {
  const key = isRecord(item) ? (item.name ?? item.containerPort ?? item.port ?? item.type ?? item.uid) : undefined
  return key === undefined ? undefined : String(key)
}

const none: ReadonlyArray<ForeignField> = []

/** The values of an item by which another one may have its key. */
const keysOf = (item: Json): ReadonlyArray<string> =>
  isRecord(item)
    ? [item.name, item.containerPort, item.port, item.type, item.uid].flatMap((key) => (key == null ? [] : String(key)))
    : []

/**
 * A longer list is searched by the keys of its items. Users choose its length, and a comparison of each item with each other one would
 * stop the program for seconds.
 */
export const longest = 32

type Finder = (key: string | undefined, place: number) => ReadonlyArray<number>

/** The places in a list at which an item with a key may be. In a long list, an item without a key can only be at its own place. */
const finder = (items: ReadonlyArray<Json>): Finder => {
  let all: ReadonlyArray<number> | undefined
  let index: Map<string, Array<number>> | undefined
  return (key, place) => {
    if (items.length <= longest) {
      all ??= [...items.keys()]
      return all
    }
    if (key === undefined) return place < items.length ? [place] : []
    index ??= indexOf(items)
    return index.get(key) ?? []
  }
}

const indexOf = (items: ReadonlyArray<Json>): Map<string, Array<number>> => {
  const index = new Map<string, Array<number>>()
  for (const [place, item] of items.entries()) {
    for (const key of keysOf(item)) {
      const places = index.get(key)
      if (places === undefined) index.set(key, [place])
      else if (places.length < longest) places.push(place)
    }
  }
  return index
}

/**
 * The foreign fields in the parts that the intent owns alone: list items that match no intended item, and map keys that are not
 * intended. Items of a list come last first, so that each pointer stays valid while the ones before it are removed.
 *
 * @param exclusive the parts, each a path of steps such as `["spec", "template", "spec", "containers", { name: "app" }, "env"]`
 */
export const foreignFields = (
  intent: Json,
  object: Json,
  exclusive: ReadonlyArray<ReadonlyArray<Step>>
): ReadonlyArray<ForeignField> => {
  const found = walker(object)
  const meant = walker(intent)
  return exclusive.flatMap((steps) => {
    const value = found(steps)
    const wanted = meant(steps)
    if (isList(value)) {
      const intended = isList(wanted) ? wanted : []
      const near = intended.length > longest ? finder(intended) : undefined
      const isIntended = (item: Json, place: number): boolean => {
        if (near === undefined) return intended.some((want) => isMeant(want, item))
        const isAt = (key: string | undefined) => near(key, place).some((at) => isMeant(intended[at] ?? null, item))
        const keys = keysOf(item)
        return keys.length === 0 ? isAt(undefined) : keys.some(isAt)
      }
      // Every no-op reconcile runs it.
      if (value.every(isIntended)) return none
      const foreign = [...value.entries()].filter(([place, item]) => !isIntended(item, place))
      const { path, pointer } = placeOf(object, steps)
      return foreign
        .map(([index, item]) => ({ path: `${path}[${label(item, index)}]`, pointer: `${pointer}/${index}` }))
        .reverse()
    }
    if (!isRecord(value)) return none
    const intended = isRecord(wanted) ? wanted : {}
    const foreign = Object.keys(value).filter((key) => fieldOf(intended, key) === undefined)
    if (foreign.length === 0) return none
    const { path, pointer } = placeOf(object, steps)
    return foreign.map((key) => ({
      path: `${path}.${Text.clip(key, Text.longestName)}`,
      pointer: `${pointer}/${pointerToken(key)}`
    }))
  })
}

/**
 * The operations that make the parts that the intent owns alone match the intent in one patch. Two patches could be refused (two
 * ports of a Service need names, and a Service needs a port) or could start two rollouts. Items that match keep the server's defaults.
 */
export const restoration = (
  intent: Json,
  object: Json,
  exclusive: ReadonlyArray<ReadonlyArray<Step>>
): ReadonlyArray<Operation> =>
  exclusive
    .filter((steps) => foreignFields(intent, object, [steps]).length > 0)
    .flatMap((steps): ReadonlyArray<Operation> => {
      const have = valueAt(object, steps)
      const wanted = valueAt(intent, steps)
      const { pointer: path } = placeOf(object, steps)
      if (wanted === undefined || isEmpty(wanted)) return [{ op: "remove", path }]
      const value = isList(wanted) && isList(have) ? standing(wanted, have) : wanted
      return [{ op: "replace", path, value }]
    })

/** The intended items, each with the defaults of the server if it exists. */
const standing = (wanted: ReadonlyArray<Json>, have: ReadonlyArray<Json>): ReadonlyArray<Json> => {
  const near = finder(have)
  return wanted.map((want, index) => {
    const at = near(mergeKey(want), index).find((place) => covers(want, have[place]))
    return (at === undefined ? undefined : have[at]) ?? want
  })
}

const indexAt = (value: Json | undefined, step: Exclude<Step, string>): number =>
  isList(value) ? value.findIndex((item) => covers(step, item)) : -1

const valueAt = (root: Json, steps: ReadonlyArray<Step>): Json | undefined => walker(root)(steps)

const stepInto = (value: Json | undefined, step: Step): Json | undefined =>
  typeof step === "string"
    ? isRecord(value)
      ? fieldOf(value, step)
      : undefined
    : isList(value)
      ? value[indexAt(value, step)]
      : undefined

/** Leads to the values at paths. It keeps the values on the last path, because most paths have the same beginning as the one before. */
const walker = (root: Json): ((steps: ReadonlyArray<Step>) => Json | undefined) => {
  let before: ReadonlyArray<Step> = []
  const values: Array<Json | undefined> = [root]
  return (steps) => {
    let isSame = true
    for (let at = 0; at < steps.length; at++) {
      const step = steps[at]
      isSame &&= step === before[at]
      if (!isSame && step !== undefined) values[at + 1] = stepInto(values[at], step)
    }
    before = steps
    return values[steps.length]
  }
}

/** The place in an object to which the steps lead, if the object has a value there. */
const placeOf = (root: Json, steps: ReadonlyArray<Step>): ForeignField =>
  steps.reduce<ForeignField>(
    ({ path, pointer }, step, nth) =>
      typeof step === "string"
        ? { path: path === "" ? step : `${path}.${step}`, pointer: `${pointer}/${pointerToken(step)}` }
        : {
            path: `${path}[${Object.values(step).join(" ")}]`,
            pointer: `${pointer}/${indexAt(valueAt(root, steps.slice(0, nth)), step)}`
          },
    { path: "", pointer: "" }
  )

/** A key as a reference token of a JSON pointer (RFC 6901). */
const pointerToken = (key: string): string => key.replaceAll("~", "~0").replaceAll("/", "~1")

/**
 * The merge patch (RFC 7386) that turns `from` into `to`: removed keys are `null`, and lists are replaced. `undefined` if both are equal.
 */
export const mergePatch = (from: Json | undefined, to: Json): Json | undefined => {
  if (equal(from, to)) return undefined
  if (!isRecord(to) || !isRecord(from)) return to
  // Without a prototype: users choose the keys of maps, and `__proto__` must be an ordinary key.
  const patch: { [key: string]: Json } = Object.create(null)
  for (const key in from) if (fieldOf(to, key) === undefined && from[key] !== undefined) patch[key] = null
  for (const key in to) {
    const value = to[key]
    const change = value === undefined ? undefined : mergePatch(fieldOf(from, key), value)
    if (change !== undefined) patch[key] = change
  }
  return patch
}

/** Canonical JSON: equal values give equal texts. The hash of an intent uses it. */
export const canonical = (value: Json | undefined): string => {
  if (isList(value)) return `[${value.map((item) => canonical(item)).join(",")}]`
  if (!isRecord(value)) return JSON.stringify(value ?? null)
  return `{${Object.keys(value)
    .filter((key) => value[key] !== undefined)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`)
    .join(",")}}`
}

/** The part of a merge patch that is about the fields of another one. */
export const common = (rest: Json | undefined, sent: Json | undefined): Json | undefined => {
  if (!isRecord(rest) || !isRecord(sent)) return sent === undefined ? undefined : rest
  const parts = Object.entries(rest).flatMap(([name, value]): ReadonlyArray<readonly [string, Json]> => {
    const part = common(value, Object.hasOwn(sent, name) ? sent[name] : undefined)
    return part === undefined ? [] : [[name, part]]
  })
  return parts.length === 0 ? undefined : Object.fromEntries(parts)
}
