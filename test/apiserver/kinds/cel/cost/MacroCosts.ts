/**
 * The estimated costs of macros, which cel-go expands to comprehensions. Each step of a loop costs the sum of its expression and of the
 * work on the accumulator.
 */
import type { ASTNode } from "@marcbachmann/cel-js"
import * as Estimate from "./Estimated.ts"
import * as Size from "./Size.ts"

type Estimated = Estimate.Estimated

/** Estimates a macro; undefined: the call is not a macro. */
export const estimate = (
  estimator: Estimate.Estimator,
  node: ASTNode,
  name: string,
  receiver: ASTNode,
  args: ReadonlyArray<ASTNode>,
  scope: Estimate.Scope
): Estimated | undefined => {
  const [first, second] = args
  if (first?.op !== "id") return undefined
  const range = () => estimator.estimate(receiver, scope)
  if (name === "optMap" || name === "optFlatMap")
    return optional(estimator, node, name, range(), first.args, args, scope)
  if (name === "sortBy") return sortBy(estimator, node, range(), first.args, args, scope)
  const pairs =
    second?.op === "id" && args.length > 2 && !(name === "map" && args.length === 3) ? second.args : undefined
  const loop = (pairs === undefined ? loops : loopsOfPairs)[name]
  if (loop === undefined) return undefined
  const over = range()
  const inner = pairs === undefined ? entered(over, first.args, scope) : enteredPairs(over, first.args, pairs, scope)
  const steps = args.slice(pairs === undefined ? 1 : 2).map((step) => estimator.estimate(step, inner))
  const item = estimator.estimate(first, inner)
  return loop(estimator, node, over, steps, item)
}

const isList = ({ entries, type }: Estimated): boolean => entries?.isList ?? type.kind === "list"

/** Returns the scope inside a loop. Its variable is an item of a list, or a key of a map. */
const entered = (range: Estimated, name: string, scope: Estimate.Scope): Estimate.Scope =>
  new Map(scope).set(name, {
    path: [...range.path, isList(range) ? "@items" : "@keys"],
    size: isList(range) ? range.entries?.value : range.entries?.key,
    entries: undefined
  })

const enteredPairs = (range: Estimated, key: string, value: string, scope: Estimate.Scope): Estimate.Scope => {
  const step = (name: string, size: Size.Size | undefined) => ({
    path: [...range.path, name],
    size,
    entries: undefined
  })
  return new Map(scope)
    .set(key, step(isList(range) ? "@indices" : "@keys", range.entries?.key))
    .set(value, step(isList(range) ? "@items" : "@values", range.entries?.value))
}

type Loop = (
  estimator: Estimate.Estimator,
  node: ASTNode,
  range: Estimated,
  steps: ReadonlyArray<Estimated>,
  item: Estimated
) => Estimated

const looped = (range: Estimated, each: number): number => Size.capped((range.size ?? Size.unknown).max * each)

/** `all` and `exists`: the condition and the operator of the loop read the accumulator, and so does the result. */
const quantifier =
  (condition: number): Loop =>
  ({ estimated }, node, range, [predicate]) =>
    estimated(Estimate.bool, range.cost + 1 + looped(range, condition + 1 + (predicate?.cost ?? 0)), {
      node,
      size: Size.fixed(1)
    })

/** `exists_one`: the loop adds 1 to a counter, and the result compares the counter with 1. */
const one: Loop = ({ estimated }, node, range, [predicate]) =>
  estimated(Estimate.bool, range.cost + 2 + looped(range, (predicate?.cost ?? 0) + 2), { node, size: Size.fixed(1) })

/** The cost of adding an item to a list, without the cost of the item. */
const append = 1 + 1 + Size.newList

const collected = (
  { estimated }: Estimate.Estimator,
  node: ASTNode,
  range: Estimated,
  each: number,
  item: Estimated | undefined
): Estimated => {
  const value = Size.union(item?.size ?? Size.unknown, Size.fixed(0))
  return estimated(Estimate.typeOf(node), range.cost + Size.newList + 1 + looped(range, each), {
    node,
    size: range.size ?? Size.unknown,
    entries: { isList: true, key: Size.fixed(1), value }
  })
}

const map: Loop = (estimator, node, range, [first, second]) => {
  const made = second ?? first
  const cost = append + (made?.cost ?? 0)
  return collected(estimator, node, range, second === undefined ? cost : (first?.cost ?? 0) + cost, made)
}

const filter: Loop = (estimator, node, range, [predicate], item) =>
  collected(estimator, node, range, (predicate?.cost ?? 0) + append + 1, item)

const transformMap: Loop = ({ estimated }, node, range, [first, second]) => {
  const cost = 1 + 1 + 1 + ((second ?? first)?.cost ?? 0)
  const each = second === undefined ? cost : (first?.cost ?? 0) + cost
  return estimated(Estimate.typeOf(node), range.cost + Size.newMap + 1 + looped(range, each), {
    node,
    size: range.size ?? Size.unknown
  })
}

const loops: { readonly [name: string]: Loop | undefined } = {
  all: quantifier(2),
  exists: quantifier(3),
  exists_one: one,
  existsOne: one,
  map,
  filter
}

const loopsOfPairs: { readonly [name: string]: Loop | undefined } = {
  all: quantifier(2),
  exists: quantifier(3),
  existsOne: one,
  exists_one: one,
  transformList: map,
  transformMap
}

/** The cost of `cel.bind`, which cel-go expands to a loop over an empty list. */
const bound = Size.newList

const optional = (
  { estimate, estimated }: Estimate.Estimator,
  node: ASTNode,
  name: string,
  target: Estimated,
  variable: string,
  [, expression]: ReadonlyArray<ASTNode>,
  scope: Estimate.Scope
): Estimated => {
  const value = estimated(target.type.valueType ?? Estimate.dyn, 1 + target.cost)
  const inner = new Map(scope).set(variable, { path: [], size: value.size, entries: undefined })
  const made = expression === undefined ? 0 : estimate(expression, inner).cost
  const present = bound + value.cost + made + (name === "optMap" ? 1 : 0)
  return estimated(Estimate.typeOf(node), 1 + target.cost + Math.max(present, 1), { node, size: Size.unknown })
}

/** Estimates `sortBy`, which compares all items with each other. */
const sortBy = (
  { estimate, estimated }: Estimate.Estimator,
  node: ASTNode,
  target: Estimated,
  variable: string,
  [, key]: ReadonlyArray<ASTNode>,
  scope: Estimate.Scope
): Estimated => {
  const made = key === undefined ? undefined : estimate(key, entered(target, variable, scope))
  const keys = 1 + Size.newList + 1 + looped(target, append + (made?.cost ?? 0))
  const isText = made?.type.name === "string" || made?.type.name === "bytes"
  const size = target.size ?? Size.unknown
  const sorting = Size.scaled(Size.capped(size.max * size.max), isText ? 2 + Size.perCharacter : 2) + 1 + Size.newList
  return estimated(Estimate.typeOf(node), bound + target.cost + 1 + keys + sorting, {
    node,
    size: Size.multiply(size, size)
  })
}
