/**
 * The owners of a field, from `metadata.managedFields`. Pure.
 *
 * A path reads as in a `Drift.Difference`: `spec.replicas`, `spec.template.spec.containers[app].image`. Field names may hold dots
 * (`metadata.labels.app.kubernetes.io/name`), so a path is never split: the code follows it from field to field.
 */
import type { ManagedFieldsEntry } from "../resource/KubernetesObject.ts"
import * as Text from "../resource/Text.ts"
import * as Drift from "./Drift.ts"

/**
 * The entries that own a field, something in it, or a list or map that contains it and is set as a whole.
 *
 * @param object the object itself: `ports[http]` is an item that the server knows by its number and protocol
 */
export const owners = (
  entries: ReadonlyArray<ManagedFieldsEntry>,
  path: string,
  object?: Drift.Json
): ReadonlyArray<ManagedFieldsEntry> =>
  // The server's JSON. Its type says only that it has fields.
  entries.filter(({ fieldsV1 }) => fieldsV1 !== undefined && owns(Drift.json(fieldsV1), path, object))

/** The entry with the latest time. Times have whole seconds: among equal times, the last entry of the list. */
export const lastWriter = (entries: ReadonlyArray<ManagedFieldsEntry>): ManagedFieldsEntry | undefined =>
  entries.toSorted((a, b) => (a.time ?? "").localeCompare(b.time ?? "")).at(-1)

const owns = (set: Drift.Json | undefined, rest: string, value: Drift.Json | undefined): boolean => {
  if (!Drift.isRecord(set)) return false
  if (rest === "") return true
  // A leaf has one set of owners: an owner of the leaf owns all of it. A value without parts is another field, whose name begins so.
  if (Object.keys(set).length === 0) return value === undefined || typeof value === "object"
  return rest.startsWith("[") ? ownsItem(set, rest, value) : ownsField(set, rest.replace(/^\./, ""), value)
}

const ownsField = (set: Drift.Fields, rest: string, value: Drift.Json | undefined): boolean =>
  Object.keys(set).some((key) => {
    const name = Text.clip(key.slice(2), Text.longestName)
    if (!key.startsWith("f:") || !rest.startsWith(name)) return false
    const after = rest.slice(name.length)
    const isWhole = after === "" || after.startsWith(".") || after.startsWith("[")
    return isWhole && owns(set[key], after, Drift.isRecord(value) ? value[key.slice(2)] : undefined)
  })

const ownsItem = (set: Drift.Fields, rest: string, value: Drift.Json | undefined): boolean => {
  const items = Array.isArray(value) ? value : []
  const index = items.findIndex((item, at) => rest.startsWith(`[${Drift.label(item, at)}]`))
  const item: Drift.Json | undefined = items[index]
  return Object.keys(set).some((key) => {
    const name = item === undefined ? nameOf(key, rest) : isOf(key, item, index) ? Drift.label(item, index) : undefined
    return name !== undefined && owns(set[key], rest.slice(name.length + 2), item)
  })
}

/** Whether the key of a set stands for this item: `k:` has some of its fields, `v:` its value, `i:` its place. */
const isOf = (key: string, item: Drift.Json, index: number): boolean => {
  const known = parse(key.slice(2))
  if (key.startsWith("v:")) return Drift.equal(known, item)
  if (key.startsWith("i:")) return known === index
  if (!key.startsWith("k:") || !Drift.isRecord(known) || !Drift.isRecord(item)) return false
  return Object.entries(known).every(([field, value]) => item[field] === undefined || Drift.equal(item[field], value))
}

/** The name in a path of an item that the object lacks: one of the values by which the server knows it. */
const nameOf = (key: string, rest: string): string | undefined => {
  const known = parse(key.slice(2))
  const values =
    key.startsWith("k:") && Drift.isRecord(known) ? Object.values(known) : /^[vi]:/.test(key) ? [known] : []
  return values
    .map((value) => Text.clip(String(value), Text.longestName))
    .find((value) => rest.startsWith(`[${value}]`))
}

const parse = (text: string): Drift.Json | undefined => {
  try {
    return JSON.parse(text)
  } catch {
    // No key that the server writes; it stands for no item.
    return undefined
  }
}
