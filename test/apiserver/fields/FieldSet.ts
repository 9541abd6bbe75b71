/**
 * Sets of fields in the form of `fieldsV1`: a tree of path elements (see `PathElement`). `{}` is a leaf, which is a field of
 * the set. A `.` marks a node that is itself a field and has other fields below it. A node without a `.` only leads to other
 * fields.
 *
 * The set is stored in this form. An unchanged set passes from one revision to the next as the same value, and is neither
 * parsed nor encoded. Sets are immutable and sorted, except for a draft that `add` still fills.
 */
import type { DraftObject, Json, JsonObject } from "../model/Json.ts"
import * as J from "../model/Json.ts"
import * as PathElement from "./PathElement.ts"

/** A set of fields, or the part of a set below one field. */
export type FieldSet = JsonObject

/** The path from the object to a field, as a list of path elements. */
export type Path = ReadonlyArray<string>

/** The empty set. */
export const empty: FieldSet = Object.freeze({})

/** Reports whether the set has no fields. */
export const isEmpty: (set: FieldSet) => boolean = J.isEmpty

/** Builds the set of the fields with these paths of names: `[["spec"], ["metadata", "labels"]]`. */
export const ofNames = (paths: ReadonlyArray<ReadonlyArray<string>>): FieldSet => {
  const set: DraftObject = {}
  for (const path of paths) add(set, path.map(PathElement.ofField))
  return set
}

/** Adds a field to a draft set. The empty path adds nothing, because the whole object is not a field. */
export const add = (set: DraftObject, path: Path): void => {
  let node = set
  let isNew = true
  for (const element of path) {
    // A leaf stays a field of the set when other fields are added below it.
    if (!isNew && isLeaf(node)) node[self] = {}
    isNew = node[element] === undefined
    branches.add(node)
    node = J.member(node, element)
  }
  if (!isNew && !isLeaf(node)) node[self] = {}
}

/** The nodes of draft sets that have children. This avoids `isEmpty`, which is slow on a node with many children. */
const branches = new WeakSet<DraftObject>()

const isLeaf = (node: DraftObject): boolean => !branches.has(node) && isEmpty(node)

/** Reports whether the set contains the field. */
export const has = (set: FieldSet, path: Path): boolean => {
  const node = path.reduce<FieldSet | undefined>((at, element) => at && child(at, element), set)
  return path.length > 0 && node !== undefined && isField(node)
}

/** Reports whether the set contains the field directly below it at this path element. */
export const hasStep = (set: FieldSet, element: string): boolean => {
  const node = child(set, element)
  return node !== undefined && isField(node)
}

/** Returns the fields below a path element, or undefined if it has no fields below it. */
export const children = (set: FieldSet, element: string): FieldSet | undefined => {
  const node = child(set, element)
  return node !== undefined && hasChildren(node) ? node : undefined
}

/** Returns the fields that are in at least one of the two sets. */
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

/** Returns the fields that are in both sets. */
export const intersection = (one: FieldSet, other: FieldSet): FieldSet =>
  pick(one, (element, mine) => {
    const theirs = child(other, element)
    if (theirs === undefined) return undefined
    return node(isField(mine) && isField(theirs), intersection(withoutSelf(mine), withoutSelf(theirs)))
  })

/** Returns the fields of the first set that are not in the second. A field below a field of the second set stays. */
export const difference = (one: FieldSet, other: FieldSet): FieldSet =>
  pick(one, (element, mine) => {
    const theirs = child(other, element)
    if (theirs === undefined) return mine
    return node(isField(mine) && !isField(theirs), difference(withoutSelf(mine), withoutSelf(theirs)))
  })

/** Returns the fields of the first set that are neither in the second set nor below a field of it. */
export const recursiveDifference = (one: FieldSet, other: FieldSet): FieldSet =>
  pick(one, (element, mine) => {
    const theirs = child(other, element)
    if (theirs === undefined) return mine
    if (isField(theirs)) return undefined
    return node(isField(mine), recursiveDifference(withoutSelf(mine), theirs))
  })

/**
 * Maps each path element and its children with `choose`. An element for which `choose` returns undefined is removed. An
 * unchanged set is returned as the same value.
 */
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

/** Returns the node of a path element, or undefined if the node is neither a field nor has fields below it. */
export const node = (isField: boolean, children: FieldSet): FieldSet | undefined => {
  if (isEmpty(children)) return isField ? empty : undefined
  return isField ? { [self]: empty, ...children } : children
}

/** Reports whether the node is itself a field of the set, and not only a parent of other fields. */
export const isField = (node: FieldSet): boolean => node[self] !== undefined || isEmpty(node)

/** Returns the children of a node without its `.` mark. */
export const withoutSelf = (node: FieldSet): FieldSet => {
  if (node[self] === undefined) return node
  const { [self]: _, ...rest } = node
  return rest
}

/** Lists the paths of all fields in the order of structured-merge-diff: all fields of one level come before the fields below them. */
export const paths = (set: FieldSet, prefix: Path = []): ReadonlyArray<Path> => {
  const elements = Object.keys(set)
    .filter((element) => element !== self)
    .sort(PathElement.compare)
  return [
    ...elements.filter((element) => hasStep(set, element)).map((element) => [...prefix, element]),
    ...elements.flatMap((element) => paths(J.object(set[element]), [...prefix, element]))
  ]
}

/** Formats the path for messages: `.spec.ports[port=80]`. */
export const shown = (path: Path): string => path.map(PathElement.shown).join("")

/** Sorts the path elements of a draft set, at all levels, into the order in which kube-apiserver writes them. */
export const ordered = (set: FieldSet): FieldSet => sorted(set, ordered)

/**
 * Decodes a set that a client wrote, with each path element in its canonical form. Throws a SyntaxError if the value is not a
 * valid `fieldsV1`.
 */
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

/** Decodes one node, like `decode`. A node without any known path element below it is a leaf. */
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
