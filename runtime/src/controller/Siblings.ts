/**
 * Fields of other managers that exclude fields of an intent, such as a `hostPath` beside the own `emptyDir`. The API server refuses an
 * apply that leaves them, and an apply removes no field of another manager. Pure.
 */
import type { Operation } from "../client/Patch.ts"
import { pointer as token } from "../client/Patch.ts"
import * as Text from "../resource/Text.ts"
import type * as Unions from "../resource/Unions.ts"
import * as Drift from "./Drift.ts"

type Change = Exclude<Operation, { readonly from: string }>

/** The siblings, and the operations that replace them by the fields of the intent in one step. */
export interface Siblings {
  readonly fields: ReadonlyArray<Drift.ForeignField>
  readonly operations: ReadonlyArray<Change>
}

/** No sibling. */
export const none: Siblings = { fields: [], operations: [] }

/** The siblings in an object. The time is linear in the size of both. */
export const of = (shape: Unions.Shape | undefined, intent: Drift.Json, object: Drift.Json): Siblings => {
  if (shape === undefined) return none
  const found: Found = { fields: new Map(), added: new Map() }
  visit(shape, intent, object, { path: "", pointer: "" }, found)
  if (found.fields.size === 0) return none
  return {
    fields: [...found.fields].map(([pointer, path]) => ({ path, pointer })),
    operations: [
      ...[...found.fields.keys()].map((path): Change => ({ op: "remove", path })),
      ...[...found.added].map(([path, value]): Change => ({ op: "add", path, value }))
    ]
  }
}

/** The siblings that are not within parts, which are restored as a whole. */
export const outside = (siblings: Siblings, parts: ReadonlyArray<string>): Siblings => {
  const isOutside = (pointer: string) => !parts.some((part) => pointer.startsWith(`${part}/`))
  return parts.length === 0
    ? siblings
    : {
        fields: siblings.fields.filter(({ pointer }) => isOutside(pointer)),
        operations: siblings.operations.filter(({ path }) => isOutside(path))
      }
}

/** Both maps by pointer: the paths of the siblings, and the intended values. */
interface Found {
  readonly fields: Map<string, string>
  readonly added: Map<string, Drift.Json>
}

const within = ({ path, pointer }: Drift.ForeignField, key: string): Drift.ForeignField => ({
  path: path === "" ? key : `${path}.${Text.clip(key, Text.longestName)}`,
  pointer: `${pointer}/${token(key)}`
})

const visit = (shape: Unions.Shape, want: Drift.Json, have: Drift.Json, at: Drift.ForeignField, into: Found): void => {
  if (!Drift.isRecord(want) || !Drift.isRecord(have)) return
  const before = into.fields.size
  for (const union of shape.unions ?? []) exclude(union, want, have, at, into)
  // All of them: without an `externalName`, the API server would refuse its type.
  if (into.fields.size > before) for (const name in want) add(want[name], have[name], within(at, name), into)
  for (const [name, inner] of Object.entries(shape.fields ?? {})) {
    const [wanted, stored] = [want[name], have[name]]
    if (wanted === undefined || stored === undefined) continue
    if (Array.isArray(wanted) && Array.isArray(stored)) {
      visitItems(inner, wanted, stored, within(at, name), into)
    } else visit(inner, wanted, stored, within(at, name), into)
  }
}

const visitItems = (
  shape: Unions.Shape,
  want: ReadonlyArray<Drift.Json>,
  have: ReadonlyArray<Drift.Json>,
  { path, pointer }: Drift.ForeignField,
  into: Found
): void => {
  const keyOf = (item: Drift.Json) => (Drift.isRecord(item) ? item[shape.key ?? "name"] : undefined)
  const places = new Map(have.map((item, place) => [keyOf(item), place]))
  for (const item of want) {
    const key = keyOf(item)
    const place = key === undefined ? undefined : places.get(key)
    if (place === undefined) continue
    const label = Text.clip(String(key), Text.longestName)
    visit(shape, item, have[place] ?? null, { path: `${path}[${label}]`, pointer: `${pointer}/${place}` }, into)
  }
}

const exclude = (
  union: Unions.Union,
  want: Drift.Fields,
  have: Drift.Fields,
  at: Drift.ForeignField,
  into: Found
): void => {
  if ("disjoint" in union) {
    const [one, other] = union.disjoint
    excludeKeys(one, other, want, have, at, into)
    excludeKeys(other, one, want, have, at, into)
    return
  }
  const isOwn =
    "oneOf" in union
      ? union.oneOf.some((name) => isSet(want[name]))
      : isSet(want[union.field]) && !union.allows.some((value) => value === want[union.field])
  if (!isOwn) return
  const others = "oneOf" in union ? union.oneOf : union.excludes
  const harmless = "oneOf" in union ? undefined : union.harmless
  for (const name of others) {
    if (isSet(have[name]) && !isSet(want[name]) && have[name] !== harmless) note(at, name, into)
  }
}

/** Keys of the intended map `one` that the stored map `other` has. */
const excludeKeys = (
  one: string,
  other: string,
  want: Drift.Fields,
  have: Drift.Fields,
  at: Drift.ForeignField,
  into: Found
): void => {
  const [wanted, stored, rival] = [want[one], have[one], have[other]]
  if (!Drift.isRecord(wanted) || !Drift.isRecord(rival)) return
  const intended = want[other]
  const isOwn = (key: string) => Drift.isRecord(intended) && Object.hasOwn(intended, key)
  const keys = Object.keys(wanted).filter((key) => Object.hasOwn(rival, key) && !isOwn(key))
  if (keys.length === 0) return
  for (const key of keys) note(within(at, other), key, into)
  if (Drift.isRecord(stored)) {
    for (const key of keys) add(wanted[key], stored[key], within(within(at, one), key), into)
  }
}

const isSet = (value: Drift.Json | undefined): boolean => value !== undefined && value !== null

const note = (at: Drift.ForeignField, name: string, { fields }: Found): void => {
  const { path, pointer } = within(at, name)
  fields.set(pointer, path)
}

/** The apply that follows sets the rest: fields within structs and lists that are there already. */
const add = (
  want: Drift.Json | undefined,
  have: Drift.Json | undefined,
  { pointer }: Drift.ForeignField,
  { added }: Found
): void => {
  if (want !== undefined && want !== have && (have === undefined || typeof have !== "object")) added.set(pointer, want)
}
