/**
 * Fields of other managers that exclude fields of an intent, such as a `hostPath` beside the own `emptyDir`. The API server refuses an
 * apply that leaves them, and an apply removes no field of another manager. {@link of} finds them in the unions of the kind, and
 * {@link named} in the refusal of an apply, for all other rules of the API server. Pure.
 */
import type { Cause } from "../client/ApiError.ts"
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
  visit(shape, intent, object, root, found)
  return summary(found)
}

/** A refusal has at most this many causes that count. */
const mostCauses = 16

/**
 * The siblings that a refusal names. One sort is a field that the intent leaves out, such as `resources.requests` above the own limits. The
 * other is a neighbour of an own field, in the message: `minReadySeconds` beside the own `progressDeadlineSeconds`.
 */
export const named = (intent: Drift.Json, object: Drift.Json, causes: ReadonlyArray<Cause>): Siblings => {
  const found: Found = { fields: new Map(), added: new Map() }
  for (const { field, message } of causes.slice(0, mostCauses)) {
    follow(field.match(/[^.[\]]+/g) ?? [], wordsOf(message), intent, object, root, found)
  }
  return summary(found)
}

/** The siblings because of which the API server may have refused an apply. */
export const refused = (
  shape: Unions.Shape | undefined,
  intent: Drift.Json,
  object: Drift.Json,
  causes: ReadonlyArray<Cause>
): Siblings => {
  const siblings = of(shape, intent, object)
  return siblings.fields.length > 0 ? siblings : named(intent, object, causes)
}

const root: Drift.ForeignField = { path: "", pointer: "" }

const summary = ({ added, fields }: Found): Siblings =>
  fields.size === 0
    ? none
    : {
        fields: [...fields].map(([pointer, path]) => ({ path, pointer })),
        operations: [
          ...[...fields.keys()].map((path): Change => ({ op: "remove", path })),
          ...[...added].map(([path, value]): Change => ({ op: "add", path, value }))
        ]
      }

/** Follows the field of a cause, such as `spec.containers[0].resources.requests`, into both objects. */
const follow = (
  [step, ...others]: ReadonlyArray<string>,
  message: ReadonlySet<string>,
  want: Drift.Json,
  have: Drift.Json,
  at: Drift.ForeignField,
  into: Found
): void => {
  if (isList(want) && isList(have)) {
    // It is the place in the refused object, which may have more items than either.
    const wanted = want.find((item) => hasName(item, have[Number(step)])) ?? want[Number(step)]
    const place = have.findIndex((item) => hasName(item, wanted))
    const stored = have[place]
    if (stored === undefined || wanted === undefined) return
    const path = `${at.path}[${Drift.label(stored, place)}]`
    follow(others, message, wanted, stored, { path, pointer: `${at.pointer}/${place}` }, into)
    return
  }
  if (!Drift.isRecord(want) || !Drift.isRecord(have)) return
  const [wanted, stored] = step === undefined ? [undefined, undefined] : [own(want, step), own(have, step)]
  if (typeof wanted === "object" && typeof stored === "object" && wanted !== null && stored !== null) {
    follow(others, message, wanted, stored, within(at, step ?? ""), into)
    return
  }
  const before = into.fields.size
  if (step !== undefined && isSet(stored) && !isSet(wanted)) {
    const blamed = Drift.isRecord(stored) ? neighbours({}, stored, message) : []
    for (const name of blamed) note(within(at, step), name, into)
    if (blamed.length === 0) note(at, step, into)
  } else for (const name of neighbours(want, have, message)) note(at, name, into)
  if (into.fields.size > before) fill(want, have, at, into)
}

const isList = (value: Drift.Json): value is ReadonlyArray<Drift.Json> => Array.isArray(value)

const own = (fields: Drift.Fields, name: string): Drift.Json | undefined =>
  Object.hasOwn(fields, name) ? fields[name] : undefined

const hasName = (item: Drift.Json, other: Drift.Json | undefined): boolean =>
  Drift.isRecord(item) && Drift.isRecord(other) && item.name !== undefined && item.name === other.name

/** The stored fields that are not intended, and that the message names. */
const neighbours = (want: Drift.Fields, have: Drift.Fields, message: ReadonlySet<string>): ReadonlyArray<string> =>
  Object.keys(have).filter((name) => !isSet(own(want, name)) && message.has(name.toLowerCase()))

const wordsOf = (message: string): ReadonlySet<string> => new Set(message.toLowerCase().split(/[^a-z0-9]+/))

/** Adds the intended fields of a struct: with some of them, the API server might refuse the step. */
const fill = (want: Drift.Fields, have: Drift.Fields, at: Drift.ForeignField, into: Found): void => {
  for (const name of Object.keys(want)) {
    const [wanted, stored] = [want[name], own(have, name)]
    if (Drift.isRecord(wanted) && Drift.isRecord(stored)) fill(wanted, stored, within(at, name), into)
    else if (
      wanted !== undefined &&
      wanted !== null &&
      wanted !== stored &&
      (stored === undefined || typeof stored !== "object")
    ) {
      into.added.set(within(at, name).pointer, wanted)
    }
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
  if (into.fields.size > before) fill(want, have, at, into)
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
  const [wanted, rival] = [want[one], have[other]]
  if (!Drift.isRecord(wanted) || !Drift.isRecord(rival)) return
  const intended = want[other]
  const isOwn = (key: string) => Drift.isRecord(intended) && Object.hasOwn(intended, key)
  const keys = Object.keys(wanted).filter((key) => Object.hasOwn(rival, key) && !isOwn(key))
  if (keys.length === 0) return
  for (const key of keys) note(within(at, other), key, into)
}

const isSet = (value: Drift.Json | undefined): boolean => value !== undefined && value !== null

const note = (at: Drift.ForeignField, name: string, { fields }: Found): void => {
  const { path, pointer } = within(at, name)
  fields.set(pointer, path)
}
