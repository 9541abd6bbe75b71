/**
 * Sets of fields, in the very form in which `fieldsV1` has them: a tree of steps (see `PathElement`), in which `{}` is a field
 * of the set, a `.` says that a field with others below it is of the set too, and a node without one only leads to others.
 *
 * Being what is stored, a set that no one changes is neither parsed nor written: it goes from one revision to the next as
 * the same value. Sets are never changed, but for those that are being gathered, by `add`; all others stand in order.
 */
import type { DraftObject, Json, JsonObject } from "../model/Json.ts"
import * as J from "../model/Json.ts"
import * as PathElement from "./PathElement.ts"

/** A set of fields; also the part of one that lies below a field. */
export type FieldSet = JsonObject

/** The way to a field, as steps from the object. */
export type Path = ReadonlyArray<string>

/** A set without fields. */
export const empty: FieldSet = Object.freeze({})

/** Whether there is no field in it. */
export const isEmpty: (set: FieldSet) => boolean = J.isEmpty

/** The set of these members, given by their names: `[["spec"], ["metadata", "labels"]]`. */
export const ofNames = (paths: ReadonlyArray<ReadonlyArray<string>>): FieldSet => {
  const set: DraftObject = {}
  for (const path of paths) add(set, path.map(PathElement.ofField))
  return set
}

/** Adds a field to a set that is being gathered. The object as a whole is no field. */
export const add = (set: DraftObject, path: Path): void => {
  let node = set
  let isNew = true
  for (const element of path) {
    // What was a leaf stays a field of its own when others come below it.
    if (!isNew && isLeaf(node)) node[self] = {}
    isNew = node[element] === undefined
    branches.add(node)
    node = J.member(node, element)
  }
  if (!isNew && !isLeaf(node)) node[self] = {}
}

/** Nodes of sets that are being gathered, with others below them: of one with many, it takes long to find that it is not empty. */
const branches = new WeakSet<DraftObject>()

const isLeaf = (node: DraftObject): boolean => !branches.has(node) && isEmpty(node)

/** Whether the field is in the set. */
export const has = (set: FieldSet, path: Path): boolean => {
  const node = path.reduce<FieldSet | undefined>((at, element) => at && child(at, element), set)
  return path.length > 0 && node !== undefined && isField(node)
}

/** Whether the step leads from the set to a field of the set. */
export const hasStep = (set: FieldSet, element: string): boolean => {
  const node = child(set, element)
  return node !== undefined && isField(node)
}

/** The fields below a step; undefined where there are none. */
export const children = (set: FieldSet, element: string): FieldSet | undefined => {
  const node = child(set, element)
  return node !== undefined && hasChildren(node) ? node : undefined
}

/** The fields of either. */
export const union = (one: FieldSet, other: FieldSet): FieldSet => {
  if (one === other || isEmpty(other)) return one
  if (isEmpty(one)) return other
  const made: DraftNode = {}
  for (const element in one) {
    const mine = child(one, element)
    const theirs = child(other, element)
    if (mine !== undefined) made[element] = theirs === undefined ? mine : joined(mine, theirs)
  }
  let isMore = false
  for (const element in other) {
    if (made[element] !== undefined) continue
    made[element] = other[element]
    isMore = true
  }
  return isMore ? sorted(made) : made
}

/** The fields of both. */
export const intersection = (one: FieldSet, other: FieldSet): FieldSet =>
  pick(one, (element, mine) => {
    const theirs = child(other, element)
    if (theirs === undefined) return undefined
    return node(isField(mine) && isField(theirs), intersection(withoutSelf(mine), withoutSelf(theirs)))
  })

/** The fields of the first that are not in the second; those below a field of the second stay. */
export const difference = (one: FieldSet, other: FieldSet): FieldSet =>
  pick(one, (element, mine) => {
    const theirs = child(other, element)
    if (theirs === undefined) return mine
    return node(isField(mine) && !isField(theirs), difference(withoutSelf(mine), withoutSelf(theirs)))
  })

/** The fields of the first that neither are in the second nor lie below a field of it. */
export const recursiveDifference = (one: FieldSet, other: FieldSet): FieldSet =>
  pick(one, (element, mine) => {
    const theirs = child(other, element)
    if (theirs === undefined) return mine
    if (isField(theirs)) return undefined
    return node(isField(mine), recursiveDifference(withoutSelf(mine), theirs))
  })

/** Makes a node of what a function gives for each step: nothing, or what is below the step. */
export const pick = (
  set: FieldSet,
  choose: (element: string, children: FieldSet) => FieldSet | undefined
): FieldSet => {
  const made: DraftNode = {}
  let changed = false
  for (const element in set) {
    if (element === self) {
      made[element] = empty
      continue
    }
    const mine = J.object(set[element])
    const chosen = choose(element, mine)
    if (chosen !== mine) changed = true
    if (chosen !== undefined) made[element] = chosen
  }
  return changed ? made : set
}

/** The node of a step: a field or not, with fields below or not; nothing if it is neither. */
export const node = (isField: boolean, children: FieldSet): FieldSet | undefined => {
  if (isEmpty(children)) return isField ? empty : undefined
  return isField ? { [self]: empty, ...children } : children
}

/** Whether the node is a field of the set, and does not only lead to others. */
export const isField = (node: FieldSet): boolean => node[self] !== undefined || isEmpty(node)

/** What is below a node, without the mark that it is a field itself. */
export const withoutSelf = (node: FieldSet): FieldSet => {
  if (node[self] === undefined) return node
  const { [self]: _, ...rest } = node
  return rest
}

/** The paths of all fields: those of one level first, then what is below them, as a server lists them. */
export const paths = (set: FieldSet, prefix: Path = []): ReadonlyArray<Path> => {
  const elements = Object.keys(set)
    .filter((element) => element !== self)
    .sort(PathElement.compare)
  return [
    ...elements.filter((element) => hasStep(set, element)).map((element) => [...prefix, element]),
    ...elements.flatMap((element) => paths(J.object(set[element]), [...prefix, element]))
  ]
}

/** The path as people read it: `.spec.ports[port=80]`. */
export const shown = (path: Path): string => path.map(PathElement.shown).join("")

/** A set that was gathered, its steps put into the order in which a server writes them. */
export const ordered = (set: FieldSet): FieldSet => sorted(set, ordered)

/** The set that a client wrote, each step in its one spelling. Throws a SyntaxError where it is none. */
export const decode = (written: Json | undefined): FieldSet => {
  if (written === undefined || written === null) return empty
  if (!J.isObject(written)) throw new SyntaxError("fieldsV1 has to be an object")
  return ordered(nodeOf(written))
}

type DraftNode = { [element: string]: Json | undefined }

const self = "."

const sorted = (set: FieldSet, inside: (children: FieldSet) => FieldSet = (same) => same): FieldSet => {
  const elements = Object.keys(set)
  if (elements.length > 1) elements.sort(PathElement.compare)
  const made: DraftNode = {}
  for (const element of elements) made[element] = inside(J.object(set[element]))
  return made
}

const child = (set: FieldSet, element: string): FieldSet | undefined => {
  const found = element === self ? undefined : set[element]
  return J.isObject(found) ? found : undefined
}

const hasChildren = (node: FieldSet): boolean => {
  for (const element in node) if (element !== self) return true
  return false
}

const joined = (one: FieldSet, other: FieldSet): FieldSet => {
  if (one === other) return one
  const all = union(withoutSelf(one), withoutSelf(other))
  return node(isField(one) || isField(other), all) ?? empty
}

/** Like `decode`, for a part. A field without any known step below it is a leaf. */
const nodeOf = (written: JsonObject): FieldSet => {
  const made: DraftNode = {}
  let marked = false
  for (const name in written) {
    if (name === self) {
      marked = true
      continue
    }
    const element = PathElement.canonical(name)
    if (element === undefined) continue
    const inner = nodeOf(J.object(written[name]))
    const known = child(made, element)
    made[element] = known === undefined ? inner : joined(known, inner)
  }
  return node(marked, made) ?? empty
}
