/**
 * Computes the managers after a change, and the object that results from an apply, as the `merge` package of
 * structured-merge-diff does.
 *
 * Fields belong to a version. The fields that a manager owns in another version are compared on the objects converted to that
 * version.
 */
import type { JsonObject } from "../model/Json.ts"
import * as J from "../model/Json.ts"
import * as Comparison from "./Comparison.ts"
import type { Conflict } from "./Conflict.ts"
import * as FieldSet from "./FieldSet.ts"
import * as Managers from "./Managers.ts"
import { merge } from "./Merge.ts"
import { fieldsOf } from "./Ownership.ts"
import { reconciled, withNamedFields } from "./Reconciliation.ts"
import { remove } from "./Removal.ts"
import type { Type } from "./Type.ts"

/** An object converted to a version, and its type in that version. */
export interface Versioned {
  readonly type: Type
  readonly object: JsonObject
}

/** The version of a write, and the conversion to the other versions. */
export interface Versions {
  readonly apiVersion: string
  /** Returns the object in a version, or undefined if the version does not exist or was removed. */
  readonly at: (object: JsonObject, apiVersion: string) => Versioned | undefined
  readonly type: Type
  /** The fields that a write to this endpoint cannot own. */
  readonly ignored: FieldSet.FieldSet
}

/** The result of an apply, provided that the caller ignores or forces the conflicts. */
export interface Applied {
  readonly conflicts: ReadonlyArray<Conflict>
  /** Undefined if the apply changes only the managers. */
  readonly object: JsonObject | undefined
  readonly managers: Managers.Managers
}

/** Returns the managers after a change from `live` to `next`, and the fields that the change gives to its manager. */
export const update = (
  versions: Versions,
  live: JsonObject,
  next: JsonObject,
  managers: Managers.Managers
): { readonly managers: Managers.Managers; readonly changed: FieldSet.FieldSet } => {
  const contest = contested(versions, live, next, reconciledWith(versions, live, managers), undefined)
  const { added, modified } = contest.comparison
  return { managers: contest.managers, changed: FieldSet.union(modified, added) }
}

/** Applies the intent of `manager` to the live object, and returns the merged object, its managers and the conflicts. */
export const apply = (
  versions: Versions,
  live: JsonObject,
  intent: JsonObject,
  managers: Managers.Managers,
  manager: Managers.Identity
): Applied => {
  const known = reconciledWith(versions, live, managers)
  const key = Managers.keyOf(manager)
  const last = known.get(key)
  const fields = FieldSet.recursiveDifference(fieldsOf(versions.type, intent), versions.ignored)
  const applying = new Map(known).set(key, { ...manager, time: last?.time, fields })
  const merged = J.object(merge(versions.type, live, intent))
  const next = pruned(versions, merged, applying, last)
  const { conflicts, managers: left } = contested(versions, live, next, applying, key)
  return { conflicts, object: J.equal(live, next) ? undefined : next, managers: left }
}

interface Contest {
  readonly comparison: Comparison.Comparison
  readonly conflicts: ReadonlyArray<Conflict>
  /** The managers if the write succeeds, without the fields that the write takes from them. */
  readonly managers: Managers.Managers
}

const contested = (
  versions: Versions,
  live: JsonObject,
  next: JsonObject,
  managers: Managers.Managers,
  self: string | undefined
): Contest => {
  const comparison = compareAt(versions, live, next, versions.apiVersion) ?? nothing
  const comparisons = new Map([[versions.apiVersion, comparison]])
  const conflicts: Array<Conflict> = []
  const left = new Map<string, Managers.Manager>()
  for (const [key, manager] of [...managers].sort(([one], [other]) => (one < other ? -1 : 1))) {
    if (key === self) {
      if (!FieldSet.isEmpty(manager.fields)) left.set(key, manager)
      continue
    }
    const seen = comparisons.get(manager.apiVersion) ?? compareAt(versions, live, next, manager.apiVersion)
    // The manager's version no longer exists, so the manager is dropped.
    if (seen === undefined) continue
    comparisons.set(manager.apiVersion, seen)
    const lost = FieldSet.intersection(manager.fields, FieldSet.union(seen.modified, seen.added))
    for (const path of FieldSet.paths(lost)) conflicts.push({ manager, path })
    const fields = FieldSet.difference(FieldSet.difference(manager.fields, lost), seen.removed)
    if (!FieldSet.isEmpty(fields)) left.set(key, fields === manager.fields ? manager : { ...manager, fields })
  }
  return { comparison, conflicts, managers: left }
}

const nothing: Comparison.Comparison = { added: {}, modified: {}, removed: {} }

const compareAt = (
  versions: Versions,
  live: JsonObject,
  next: JsonObject,
  apiVersion: string
): Comparison.Comparison | undefined => {
  const before = versions.at(live, apiVersion)
  const after = versions.at(next, apiVersion)
  if (before === undefined || after === undefined) return undefined
  return Comparison.without(Comparison.compare(after.type, before.object, after.object), versions.ignored)
}

/** Returns the managers with their fields adapted to the present schema. */
const reconciledWith = (versions: Versions, live: JsonObject, managers: Managers.Managers): Managers.Managers => {
  const made = new Map<string, Managers.Manager>()
  for (const [key, manager] of managers) {
    const type = versions.at(live, manager.apiVersion)?.type
    if (type === undefined) continue
    const fields = reconciled(type, manager.fields)
    made.set(key, fields === manager.fields ? manager : { ...manager, fields })
  }
  return made
}

/**
 * Returns the merged object without the fields that the manager applied before and no longer applies, unless another manager
 * owns them.
 */
const pruned = (
  versions: Versions,
  merged: JsonObject,
  managers: Managers.Managers,
  last: Managers.Manager | undefined
): JsonObject => {
  if (last === undefined || isStillOwned(last, managers)) return merged
  const then = versions.at(merged, last.apiVersion)
  if (then === undefined) return merged
  const lastFields = withNamedFields(then.type, last.fields)
  const without = J.object(remove(then.type, then.object, lastFields))
  const kept = withOwned(versions, then, without, last.apiVersion, managers)
  const gone = FieldSet.intersection(
    FieldSet.difference(namedFieldsOf(then.type, then.object), namedFieldsOf(then.type, kept)),
    lastFields
  )
  const next = J.object(remove(then.type, then.object, gone))
  return versions.at(next, versions.apiVersion)?.object ?? next
}

/** Reports whether the manager still applies all fields of its last apply. Then nothing has to be pruned. */
const isStillOwned = (last: Managers.Manager, managers: Managers.Managers): boolean => {
  const now = managers.get(Managers.keyOf(last))
  return now?.apiVersion === last.apiVersion && FieldSet.isEmpty(FieldSet.difference(last.fields, now.fields))
}

const namedFieldsOf = (type: Type, object: JsonObject): FieldSet.FieldSet =>
  withNamedFields(type, fieldsOf(type, object))

/**
 * Returns `without` plus every field that a manager owns. It does this version by version, and the version of the last apply
 * comes first.
 */
const withOwned = (
  versions: Versions,
  then: Versioned,
  without: JsonObject,
  apiVersion: string,
  managers: Managers.Managers
): JsonObject => {
  const owned = new Map<string, FieldSet.FieldSet>([[apiVersion, FieldSet.empty]])
  for (const manager of managers.values()) {
    owned.set(manager.apiVersion, FieldSet.union(owned.get(manager.apiVersion) ?? FieldSet.empty, manager.fields))
  }
  let object = without
  for (const [version, fields] of owned) {
    const all = versions.at(then.object, version)
    const some = versions.at(object, version)
    if (all === undefined || some === undefined) continue
    const kept = FieldSet.union(namedFieldsOf(all.type, some.object), withNamedFields(all.type, fields))
    object = J.object(remove(all.type, all.object, FieldSet.difference(namedFieldsOf(all.type, all.object), kept)))
  }
  return versions.at(object, apiVersion)?.object ?? object
}
