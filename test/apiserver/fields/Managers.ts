/**
 * Who owns which fields of an object: `metadata.managedFields`, read and written.
 */
import type { Json, JsonObject } from "../model/Json.ts"
import * as J from "../model/Json.ts"
import * as FieldSet from "./FieldSet.ts"

/** The identity of a manager. A manager that applies is the same in all versions. */
export interface Identity {
  readonly name: string
  readonly operation: "Apply" | "Update"
  readonly apiVersion: string
  readonly subresource: string | undefined
}

/** A manager and its fields, which are fields of its version. */
export interface Manager extends Identity {
  /** Since when it owns them; undefined for one that only joined the owners of what there was. */
  readonly time: string | undefined
  readonly fields: FieldSet.FieldSet
}

/** By their keys, see `keyOf`. */
export type Managers = ReadonlyMap<string, Manager>

/** The key of a manager. Conflicts are in the order of these keys. */
export const keyOf = ({ apiVersion, name, operation, subresource }: Identity): string =>
  JSON.stringify({
    ...(name !== "" && { manager: name }),
    operation,
    ...(operation === "Update" && { apiVersion }),
    ...(subresource !== undefined && { subresource })
  })

/** Nobody. */
export const none: Managers = new Map()

/** The entries of an object. */
export const entriesOf = (object: JsonObject | undefined): Json | undefined => J.at(object, "metadata", "managedFields")

/** The managers that an object of the store has. */
export const stored = (object: JsonObject | undefined): Managers => read(entriesOf(object), J.object)

/** The managers that a client wrote; undefined where the entries are none. */
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
 * Whether the client asks to forget all managers: by one empty entry, or by an empty list. Of a custom object an empty list
 * is as good as none, as its metadata is read twice.
 */
export const isReset = (entries: Json | undefined, custom: boolean): boolean => {
  if (!J.isList(entries) || entries.length > 1) return false
  const [only] = entries
  return only === undefined ? !custom : J.isObject(only) && J.isEmpty(only)
}

/** The entries of managers. */
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

/** An object with these managers instead of its own. */
export const put = (object: JsonObject, entries: ReadonlyArray<Json>): JsonObject => {
  const { managedFields: _, ...metadata } = J.object(object.metadata)
  return { ...object, metadata: entries.length === 0 ? metadata : { ...metadata, managedFields: entries } }
}

/** At most ten managers that update are kept: the fields of the oldest become those of one, `ancient-changes`. */
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
      const subresource = J.text(entry.subresource)
      const manager: Manager = {
        name: J.text(entry.manager) ?? "",
        operation: entry.operation === "Apply" ? "Apply" : "Update",
        apiVersion: J.text(entry.apiVersion) ?? "",
        subresource: subresource === "" ? undefined : subresource,
        time: J.text(entry.time),
        fields: fieldsOf(entry.fieldsV1)
      }
      return [keyOf(manager), manager]
    })
  )

const secondsOf = ({ time }: Manager): number => (time === undefined ? 0 : Math.floor(Date.parse(time) / 1000))

const compare = (one: Manager, other: Manager): number =>
  byText(one.operation, other.operation) ||
  secondsOf(one) - secondsOf(other) ||
  byText(one.name, other.name) ||
  byText(one.apiVersion, other.apiVersion) ||
  byText(one.subresource ?? "", other.subresource ?? "")

const byText = (one: string, other: string): number => (one === other ? 0 : one < other ? -1 : 1)
