/**
 * Compares two values of one type and reports the differences as fields that managers can own.
 */
import type { DraftObject, Json } from "../model/Json.ts"
import * as J from "../model/Json.ts"
import * as FieldSet from "./FieldSet.ts"
import * as ListItem from "./ListItem.ts"
import * as PathElement from "./PathElement.ts"
import { formOf, type ListType, type MapType, memberOf, type Type } from "./Type.ts"

/** The fields that differ. Each field is in at most one of the sets. */
export interface Comparison {
  readonly added: FieldSet.FieldSet
  readonly modified: FieldSet.FieldSet
  readonly removed: FieldSet.FieldSet
}

/** Compares two values. Both must be valid for the type. */
export const compare = (type: Type, before: Json, after: Json): Comparison => {
  const walk: Walk = { path: [], added: {}, modified: {}, removed: {} }
  visit(walk, type, before, after)
  return {
    added: FieldSet.ordered(walk.added),
    modified: FieldSet.ordered(walk.modified),
    removed: FieldSet.ordered(walk.removed)
  }
}

/** Returns the comparison without the given fields and the fields below them. */
export const without = (comparison: Comparison, fields: FieldSet.FieldSet): Comparison =>
  FieldSet.isEmpty(fields)
    ? comparison
    : {
        added: FieldSet.recursiveDifference(comparison.added, fields),
        modified: FieldSet.recursiveDifference(comparison.modified, fields),
        removed: FieldSet.recursiveDifference(comparison.removed, fields)
      }

interface Walk {
  readonly path: Array<string>
  readonly added: DraftObject
  readonly modified: DraftObject
  readonly removed: DraftObject
}

type Side = Json | undefined

const visit = (walk: Walk, type: Type, before: Side, after: Side): void => {
  if (before === after) return
  const form = formOf(type, after === undefined ? before : after)
  // If the value changed its form, the fields of the old form are removed and those of the new form are added.
  if (before !== undefined && after !== undefined) {
    const previous = formOf(type, before)
    if (previous !== form) visitAs(walk, type, previous, before, after)
  }
  const isLeaf = visitAs(walk, type, form, before, after)
  if (isLeaf) return
  if (before === undefined) FieldSet.add(walk.added, walk.path)
  if (after === undefined) FieldSet.add(walk.removed, walk.path)
}

/** Returns true if the value was compared as a whole. */
const visitAs = (walk: Walk, type: Type, form: "map" | "scalar" | "list", before: Side, after: Side): boolean => {
  if (form === "map" && type.map !== undefined) return visitMap(walk, type.map, before, after)
  if (form === "list" && type.list !== undefined) return visitList(walk, type.list, before, after)
  return leaf(walk, before, after)
}

const leaf = (walk: Walk, before: Side, after: Side): true => {
  if (before === undefined) FieldSet.add(walk.added, walk.path)
  else if (after === undefined) FieldSet.add(walk.removed, walk.path)
  else if (!J.equal(before, after)) FieldSet.add(walk.modified, walk.path)
  return true
}

const visitMap = (walk: Walk, type: MapType, before: Side, after: Side): boolean => {
  const one = J.object(before)
  const other = J.object(after)
  // Two empty values can differ only as a whole, because one of them may be null.
  if (type.atomic || (J.isEmpty(one) && J.isEmpty(other))) return leaf(walk, before, after)
  for (const name in one) visitMember(walk, type, name, one[name], J.at(other, name))
  for (const name in other) if (J.at(one, name) === undefined) visitMember(walk, type, name, undefined, other[name])
  return false
}

const visitMember = (walk: Walk, type: MapType, name: string, before: Side, after: Side): void => {
  if (before === after) return
  walk.path.push(PathElement.ofField(name))
  visit(walk, memberOf(type, name), before, after)
  walk.path.pop()
}

const visitList = (walk: Walk, type: ListType, before: Side, after: Side): boolean => {
  const one = J.list(before)
  const other = J.list(after)
  if (type.atomic || (one.length === 0 && other.length === 0)) return leaf(walk, before, after)
  const ones = bySteps(type, one)
  const others = bySteps(type, other)
  for (const [element, items] of ones) visitItem(walk, type, element, items, others.get(element) ?? none)
  for (const [element, items] of others) if (!ones.has(element)) visitItem(walk, type, element, none, items)
  return false
}

/** Items with the same path element are owned together, as one field. */
const visitItem = (
  walk: Walk,
  type: ListType,
  element: string,
  before: ReadonlyArray<Json>,
  after: ReadonlyArray<Json>
): void => {
  walk.path.push(element)
  if (before.length > 1 && after.length > 1) {
    if (!J.equal(before, after)) FieldSet.add(walk.modified, walk.path)
  } else if (before.length > 1) {
    if (after.length > 0) visit(walk, type.element, undefined, after[0])
    FieldSet.add(walk.removed, walk.path)
  } else if (after.length > 1) {
    if (before.length > 0) visit(walk, type.element, before[0], undefined)
    FieldSet.add(walk.added, walk.path)
  } else visit(walk, type.element, before[0], after[0])
  walk.path.pop()
}

const none: ReadonlyArray<Json> = []

const bySteps = (type: ListType, items: ReadonlyArray<Json>): ReadonlyMap<string, ReadonlyArray<Json>> => {
  const found = new Map<string, Array<Json>>()
  for (const item of items) {
    const element = ListItem.elementOf(type, item)
    const same = found.get(element)
    if (same === undefined) found.set(element, [item])
    else same.push(item)
  }
  return found
}
