/**
 * Decodes and encodes `metadata.managedFields`, which records the managers of an object and their fields.
 */
import type { Json, JsonObject } from "../model/Json.ts"
import * as J from "../model/Json.ts"
import * as FieldSet from "./FieldSet.ts"

/** The identity of a manager. A manager that applies has the same identity in all versions. */
export interface Identity {
  readonly name: string
  readonly operation: "Apply" | "Update"
  readonly apiVersion: string
  readonly subresource: string | undefined
}

/** A manager and the fields that it owns, in its version. */
export interface Manager extends Identity {
  /** The time of the manager's last change; undefined for a manager that only became an owner of existing fields. */
  readonly time: string | undefined
  readonly fields: FieldSet.FieldSet
}

/** The managers by key, see `keyOf`. */
export type Managers = ReadonlyMap<string, Manager>

/** Returns the key of a manager. Conflicts are reported in the order of these keys. */
export const keyOf = ({ apiVersion, name, operation, subresource }: Identity): string =>
  JSON.stringify({
    ...(name !== "" && { manager: name }),
    operation,
    ...(operation === "Update" && { apiVersion }),
    ...(subresource !== undefined && { subresource })
  })

/** An empty set of managers. */
export const none: Managers = new Map()

/** Returns the `managedFields` of an object, not decoded; undefined if the object has no `managedFields`. */
export const entriesOf = (object: JsonObject | undefined): Json | undefined => J.at(object, "metadata", "managedFields")

/** Decodes the managers of a stored object. Stored entries are immutable, and most stay the same from revision to revision. */
export const stored = (object: JsonObject | undefined): Managers =>
  new Map(
    J.objects(entriesOf(object)).map((entry) => {
      const found = decoded.get(entry)
      if (found !== undefined) return found
      const manager = managerOf(entry, J.object)
      const made = [keyOf(manager), manager] as const
      decoded.set(entry, made)
      return made
    })
  )

const decoded = new WeakMap<JsonObject, readonly [key: string, manager: Manager]>()

/** Decodes the managers that a client wrote. Returns undefined if an entry is invalid. */
export const written = (entries: Json | undefined): Managers | undefined => {
  if (!J.objects(entries).every(isEntry)) return undefined
  try {
    return read(entries, FieldSet.decode)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

/**
 * Reports whether the client removes all managers, with one empty entry or an empty list. For a custom object, an empty list
 * is ignored, because kube-apiserver decodes its metadata twice.
 */
export const isReset = (entries: Json | undefined, custom: boolean): boolean => {
  if (!J.isList(entries) || entries.length > 1) return false
  const [only] = entries
  return only === undefined ? !custom : J.isObject(only) && J.isEmpty(only)
}

/** Encodes the managers as the entries of `managedFields`. */
export const encode = (managers: Managers): ReadonlyArray<JsonObject> =>
  [...managers]
    .sort(([, one], [, other]) => compare(one, other))
    .map(([, { apiVersion, fields, name, operation, subresource, time }]) => ({
      ...(name !== "" && { manager: name }),
      operation,
      apiVersion,
      ...(time !== undefined && { time }),
      fieldsType: "FieldsV1",
      fieldsV1: fields,
      ...(subresource !== undefined && { subresource })
    }))

/** Returns the object with these entries instead of its own. */
export const put = (object: JsonObject, entries: ReadonlyArray<Json>): JsonObject => {
  const { managedFields: _, ...metadata } = J.object(object.metadata)
  return { ...object, metadata: entries.length === 0 ? metadata : { ...metadata, managedFields: entries } }
}

/** Keeps at most ten managers that update. The fields of the oldest ones move to one manager per version, `ancient-changes`. */
export const capped = (managers: Managers): Managers => {
  const updaters = [...managers].filter(([, { operation }]) => operation === "Update")
  let tooMany = updaters.length - maxUpdaters
  if (tooMany <= 0) return managers
  updaters.sort(([oneKey, one], [otherKey, other]) => secondsOf(one) - secondsOf(other) || (oneKey < otherKey ? -1 : 1))
  const left = new Map(managers)
  const oldest = new Map<string, string>()
  for (const [key, manager] of updaters) {
    if (tooMany <= 0) break
    const first = oldest.get(manager.apiVersion)
    if (first === undefined) {
      oldest.set(manager.apiVersion, key)
      continue
    }
    const ancient = { ...manager, name: "ancient-changes", subresource: undefined }
    const bucket = keyOf(ancient)
    const before = left.get(bucket) ?? left.get(first)
    if (!left.has(bucket)) left.delete(first)
    left.set(bucket, { ...ancient, fields: FieldSet.union(manager.fields, before?.fields ?? FieldSet.empty) })
    left.delete(key)
    tooMany--
  }
  return left
}

const maxUpdaters = 10

const isEntry = (entry: JsonObject): boolean =>
  (entry.operation === "Apply" || entry.operation === "Update") &&
  (J.text(entry.apiVersion) ?? "") !== "" &&
  entry.fieldsType === "FieldsV1"

const read = (entries: Json | undefined, fieldsOf: (fieldsV1: Json | undefined) => FieldSet.FieldSet): Managers =>
  new Map(
    J.objects(entries).map((entry) => {
      const manager = managerOf(entry, fieldsOf)
      return [keyOf(manager), manager]
    })
  )

const managerOf = (entry: JsonObject, fieldsOf: (fieldsV1: Json | undefined) => FieldSet.FieldSet): Manager => {
  const subresource = J.text(entry.subresource)
  return {
    name: J.text(entry.manager) ?? "",
    operation: entry.operation === "Apply" ? "Apply" : "Update",
    apiVersion: J.text(entry.apiVersion) ?? "",
    subresource: subresource === "" ? undefined : subresource,
    time: J.text(entry.time),
    fields: fieldsOf(entry.fieldsV1)
  }
}

const secondsOf = ({ time }: Manager): number => (time === undefined ? 0 : Math.floor(Date.parse(time) / 1000))

const compare = (one: Manager, other: Manager): number =>
  byText(one.operation, other.operation) ||
  secondsOf(one) - secondsOf(other) ||
  byText(one.name, other.name) ||
  byText(one.apiVersion, other.apiVersion) ||
  byText(one.subresource ?? "", other.subresource ?? "")

const byText = (one: string, other: string): number => (one === other ? 0 : one < other ? -1 : 1)
