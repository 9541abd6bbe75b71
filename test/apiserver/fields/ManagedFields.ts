/**
 * Records which managers own which fields of an object, and implements server-side apply. It does for a write what
 * `apimachinery/pkg/util/managedfields` does.
 *
 * kube-apiserver decides ownership on the object as it was decoded and defaulted, before the strategy of the kind prepares it.
 * A field that the strategy sets (a clusterIP, labels of a Job, the generation) therefore has no owner. `settled` runs after
 * that, when the rest of the object is known.
 */

import * as Failure from "../model/Failure.ts"
import type { DraftObject, Json, JsonObject } from "../model/Json.ts"
import * as J from "../model/Json.ts"
import { apiVersionOf, type Kind } from "../model/Kind.ts"
import { timestamp } from "../model/Timestamp.ts"
import * as Conflict from "./Conflict.ts"
import * as EmptyObject from "./EmptyObject.ts"
import * as FieldSet from "./FieldSet.ts"
import * as LastApplied from "./LastApplied.ts"
import * as Managers from "./Managers.ts"
import * as Type from "./Type.ts"
import * as Typing from "./Typing.ts"
import * as Updater from "./Updater.ts"

/** The properties of a kind that determine the ownership of its fields. */
export type Owned = Pick<Kind, "group" | "version" | "kind" | "schema" | "custom" | "zero">

/** A write and its manager. */
export interface Write {
  readonly kind: Owned
  readonly manager: string
  /** `status` or `scale`; undefined for a write to the object itself. */
  readonly subresource: string | undefined
  /** The fields that this endpoint does not change, whatever the body contains. A write to this endpoint does not own them. */
  readonly resetFields: ReadonlyArray<ReadonlyArray<string>>
  /** Milliseconds since 1970. */
  readonly now: number
  /**
   * Returns the kind in the version that a manager's fields belong to, or undefined if the version does not exist. Without
   * this function, all versions are assumed to have the same fields.
   */
  readonly kindIn?: (apiVersion: string) => Kind | undefined
}

/** A write by server-side apply. */
export interface Apply extends Write {
  /** Takes conflicting fields from their owners. */
  readonly force: boolean
  /** Defaults the merged object in place, as decoding a request body does. */
  readonly default: (draft: DraftObject) => void
}

/**
 * Returns the object with its managers after a create (`live` undefined), an update or a patch. The managers in the body count
 * only in a write to the object itself, and only if they can be decoded. `[]` or `[{}]` in the body removes all managers; a
 * body without managers keeps the present ones.
 */
export const updated = (write: Write, live: JsonObject | undefined, next: JsonObject): JsonObject => {
  const kept = Managers.stored(live)
  const managers = write.subresource === undefined ? named(write.kind, live, next, kept) : kept
  const before = Managers.put(live ?? EmptyObject.ofKind(write.kind), [])
  const after = J.share(before, Managers.put(next, []))
  // An existing object without managers is not tracked before its first apply. A new object always is.
  if (managers.size === 0 && live !== undefined) return after
  const versions = versionsOf(write)
  // A stored object was valid for its type when it was written, but the schema of a custom kind may have changed since.
  const isTypable = write.kind.custom
    ? typable(versions, before) && typable(versions, after, before)
    : typable(versions, after, live === undefined ? undefined : before)
  if (!isTypable || unconvertible(write, managers) !== undefined) {
    return Managers.put(after, J.list(Managers.entriesOf(live)))
  }
  try {
    return Managers.put(after, Managers.encode(updating(write, versions, before, after, managers, write.manager)))
  } catch (error) {
    // If a conversion webhook fails, the managers stay as they are.
    if (!(error instanceof Failure.Failure)) throw error
    return Managers.put(after, J.list(Managers.entriesOf(live)))
  }
}

/**
 * Returns the object that results from applying `intent`, with its managers. `live` is undefined if the object does not exist
 * yet. Throws a Failure: 400 if the body cannot be applied here, 500 if it does not match the type of the kind, 409 on a conflict.
 */
export const applied = (write: Apply, live: JsonObject | undefined, intent: JsonObject): JsonObject => {
  const entries = Managers.entriesOf(intent)
  if (intent.apiVersion !== apiVersionOf(write.kind) || intent.kind !== write.kind.kind) {
    throw Failure.badRequest(`invalid object type: ${shownKind(intent)}`)
  }
  if (entries !== undefined && entries !== null) throw Failure.badRequest("metadata.managedFields must be nil")
  const versions = versionsOf(write)
  const kept = Managers.stored(live)
  const empty = EmptyObject.ofKind(write.kind)
  const before = Managers.put(live ?? empty, [])
  // If the object has no managers yet, `before-first-apply` becomes the owner of its fields.
  const managers =
    kept.size === 0 && typable(versions, before)
      ? updating(write, versions, empty, before, kept, "before-first-apply")
      : kept
  refuseUntyped(versions, intent, "patch", "refused")
  refuseUntyped(versions, before, "live", "allowed")
  const lost = unconvertible(write, managers)
  if (lost !== undefined) throw Failure.plain(`request to convert CR to an invalid group/version: ${lost}`)
  const { managers: owners, object } = applying(write, versions, before, intent, managers)
  const merged = object === undefined ? before : defaulted(write, object)
  const result = write.manager === LastApplied.kubectl ? LastApplied.refreshed(merged, intent) : merged
  return Managers.put(result, Managers.encode(owners))
}

/**
 * Returns `next`, with the times of `live` if the two objects differ only in the times of their managers. The write is then a
 * no-op.
 */
export const ignoreTimestamps = (live: JsonObject, next: JsonObject): JsonObject => {
  const before = J.objects(Managers.entriesOf(live))
  const after = J.objects(Managers.entriesOf(next))
  const same =
    before.length > 0 &&
    before.length === after.length &&
    before.every((entry, index) => J.equal({ ...entry, time: 0 }, { ...after[index], time: 0 })) &&
    J.equal(Managers.put(live, before), Managers.put(next, before))
  return same ? Managers.put(next, before) : next
}

/** Returns the managers that the body lists. An empty or invalid list keeps the present managers, unless it is a reset. */
const named = (
  { custom }: Owned,
  live: JsonObject | undefined,
  next: JsonObject,
  kept: Managers.Managers
): Managers.Managers => {
  const entries = Managers.entriesOf(next)
  if (Managers.isReset(entries, custom)) return Managers.none
  // The usual case: a client sends back the managers that it read.
  if (J.equal(entries, Managers.entriesOf(live))) return kept
  const written = Managers.written(entries)
  return written === undefined || written.size === 0 ? kept : written
}

/** Returns the managers after an update by the manager `name`. */
const updating = (
  write: Write,
  versions: Updater.Versions,
  before: JsonObject,
  after: JsonObject,
  managers: Managers.Managers,
  name: string
): Managers.Managers => {
  const update = Updater.update(versions, before, after, managers)
  const changed = FieldSet.difference(update.changed, unowned)
  if (FieldSet.isEmpty(changed)) return Managers.capped(update.managers)
  const identity = identityOf(write, name, "Update")
  const key = Managers.keyOf(identity)
  const fields = FieldSet.union(update.managers.get(key)?.fields ?? FieldSet.empty, changed)
  const manager = { ...identity, time: timestamp(write.now), fields }
  return Managers.capped(new Map(update.managers).set(key, manager))
}

interface Applying {
  readonly object: JsonObject | undefined
  readonly managers: Managers.Managers
}

const applying = (
  write: Apply,
  versions: Updater.Versions,
  live: JsonObject,
  intent: JsonObject,
  managers: Managers.Managers
): Applying => {
  const identity = identityOf(write, write.manager, "Apply")
  const outcome = Updater.apply(versions, live, intent, managers, identity)
  const conflicts = write.force ? [] : standing(write, versions, live, outcome.conflicts)
  if (conflicts.length > 0) throw Conflict.failure(conflicts)
  return owning(write, identity, outcome)
}

/** Removes the fields that no manager can own, and sets the manager's time if the object changed. */
const owning = (write: Write, identity: Managers.Identity, { managers, object }: Applying): Applying => {
  const key = Managers.keyOf(identity)
  const manager = managers.get(key)
  if (manager === undefined) return { object, managers }
  const fields = FieldSet.difference(manager.fields, unowned)
  const left = new Map(managers)
  if (FieldSet.isEmpty(fields)) left.delete(key)
  else left.set(key, { ...manager, fields, time: object === undefined ? manager.time : timestamp(write.now) })
  return { object, managers: left }
}

/**
 * Returns the conflicts that remain. A field that the same client applied before with client-side `kubectl apply` is not a
 * conflict.
 */
const standing = (
  write: Write,
  versions: Updater.Versions,
  live: JsonObject,
  conflicts: ReadonlyArray<Conflict.Conflict>
): ReadonlyArray<Conflict.Conflict> => {
  if (write.manager !== LastApplied.kubectl) return conflicts
  const own = LastApplied.appliedFields(versions.type, versions.apiVersion, live)
  return own === undefined ? conflicts : conflicts.filter(({ path }) => !FieldSet.has(own, path))
}

const defaulted = (write: Apply, object: JsonObject): JsonObject => {
  const draft = J.copy(object)
  write.default(draft)
  return draft
}

/** The fields that every object has and that no manager can own. */
const unowned = FieldSet.ofNames([
  ["apiVersion"],
  ["kind"],
  ["metadata"],
  ["metadata", "name"],
  ["metadata", "namespace"],
  ["metadata", "creationTimestamp"],
  ["metadata", "selfLink"],
  ["metadata", "uid"],
  ["metadata", "clusterName"],
  ["metadata", "generation"],
  ["metadata", "managedFields"],
  ["metadata", "resourceVersion"]
])

const identityOf = (
  { kind, subresource }: Write,
  name: string,
  operation: Managers.Identity["operation"]
): Managers.Identity => ({
  name: name === "" ? "unknown" : name,
  operation,
  apiVersion: apiVersionOf(kind),
  subresource
})

const versionsOf = ({ kind, kindIn, resetFields }: Write): Updater.Versions => {
  const apiVersion = apiVersionOf(kind)
  const type = Type.ofKind(kind)
  return {
    apiVersion,
    type,
    ignored: FieldSet.ofNames(resetFields),
    at: (object, version) => {
      const from = J.text(object.apiVersion) ?? apiVersion
      if (kindIn === undefined || (from === version && version === apiVersion)) return { type, object }
      const target = kindIn(version)
      if (target === undefined) return undefined
      if (from === version) return { type: Type.ofKind(target), object }
      // The conversion adds no defaults: a manager would seem to own the defaults that decoding adds to a custom object.
      const converted = kind.custom
        ? (target.convert?.(object) ?? { ...object, apiVersion: version })
        : target.fromStorage(kindIn(from)?.toStorage(object) ?? object)
      return { type: Type.ofKind(target), object: converted }
    }
  }
}

/**
 * Returns the version of a manager to which a custom kind can no longer be converted. (Managers of a removed version of a
 * built-in kind own nothing.)
 */
const unconvertible = ({ kind, kindIn }: Write, managers: Managers.Managers): string | undefined =>
  kind.custom && kindIn !== undefined
    ? [...managers.values()].find(({ apiVersion }) => kindIn(apiVersion) === undefined)?.apiVersion
    : undefined

const typable = ({ type }: Updater.Versions, object: JsonObject, valid?: JsonObject): boolean =>
  Typing.validate(type, object, "allowed", valid).length === 0

const refuseUntyped = (
  { type }: Updater.Versions,
  object: JsonObject,
  role: "patch" | "live",
  repeated: "allowed" | "refused"
): void => {
  const errors = Typing.validate(type, object, repeated)
  if (errors.length === 0) return
  const metadata = J.object(object.metadata)
  const key = `${J.text(metadata.namespace) ?? ""}/${J.text(metadata.name) ?? ""}`
  throw Failure.plain(
    `failed to create typed ${role} object (${key}; ${shownKind(object)}): ${Typing.sentence(errors)}`
  )
}

/** Formats a GroupVersionKind as Go does: `apps/v1, Kind=Deployment`. */
const shownKind = (object: JsonObject): string => {
  const apiVersion = textOf(object.apiVersion)
  return `${apiVersion.includes("/") ? apiVersion : `/${apiVersion}`}, Kind=${textOf(object.kind)}`
}

const textOf = (value: Json | undefined): string => J.text(value) ?? ""
