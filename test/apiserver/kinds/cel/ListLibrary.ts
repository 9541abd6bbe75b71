/** The CEL functions of lists: those of Kubernetes, those of cel-go's `ext.Lists`, and `sets`. */
import type { Environment } from "@marcbachmann/cel-js"
import { type Comparable, equal, failure } from "./Value.ts"

/** Adds the functions to an environment. Returns the same environment. */
export const register = (env: Environment): Environment => {
  for (const [signature, handler] of Object.entries(functions)) env.registerFunction(signature, handler)
  env.registerType("SetsNamespace", SetsNamespace)
  env.registerConstant("sets", "SetsNamespace", new SetsNamespace())
  env.registerType("ListsNamespace", ListsNamespace)
  env.registerConstant("lists", "ListsNamespace", new ListsNamespace())
  for (const [signature, handler] of Object.entries(namespaced)) env.registerFunction(signature, handler)
  return env
}

class SetsNamespace {}
class ListsNamespace {}

/** A list. A list of type set is a Set. */
type List = Iterable<unknown>
type Ordered = Iterable<Comparable>

const contains = (list: List, wanted: unknown): boolean => [...list].some((item) => equal(item, wanted))

const ascending = (one: Comparable, other: Comparable): number => (one < other ? -1 : one > other ? 1 : 0)

const extreme = (name: string, sign: number) => (list: Ordered) => {
  const items = [...list]
  if (items.length === 0) throw failure(`${name} called on empty list`)
  return items.reduce((best, item) => (sign * ascending(item, best) > 0 ? item : best))
}

const distinct = (list: List): ReadonlyArray<unknown> =>
  [...list].reduce<Array<unknown>>((kept, item) => {
    if (!contains(kept, item)) kept.push(item)
    return kept
  }, [])

const flatten = (list: List, depth: bigint): ReadonlyArray<unknown> => {
  if (depth < 0n) throw failure("level must be non-negative")
  return [...list].flatMap((item) =>
    depth > 0n && (Array.isArray(item) || item instanceof Set) ? flatten(item, depth - 1n) : [item]
  )
}

const slice = (list: List, from: bigint, to: bigint): ReadonlyArray<unknown> => {
  const items = [...list]
  if (from < 0n || to < 0n) throw failure(`cannot slice(${from}, ${to}), negative indexes not supported`)
  if (from > to) throw failure(`cannot slice(${from}, ${to}), start index must be less than or equal to end index`)
  if (to > BigInt(items.length)) throw failure(`cannot slice(${from}, ${to}), list is length ${items.length}`)
  return items.slice(Number(from), Number(to))
}

interface Addable {
  readonly addDuration: (other: Addable) => Addable
}

const functions: { readonly [signature: string]: (...args: never) => unknown } = {
  "list<A>.isSorted(): bool": (list: Ordered) =>
    [...list].every((item, index, items) => index === 0 || ascending(items[index - 1] ?? item, item) <= 0),
  "list<int>.sum(): int": (list: Iterable<bigint>) => [...list].reduce((sum, item) => sum + item, 0n),
  "list<double>.sum(): double": (list: Iterable<number>) => [...list].reduce((sum, item) => sum + item, 0),
  "list<google.protobuf.Duration>.sum(): google.protobuf.Duration": (list: Iterable<Addable>) =>
    [...list].reduce((sum, item) => sum.addDuration(item)),
  "list<A>.min(): A": extreme("min", -1),
  "list<A>.max(): A": extreme("max", 1),
  "list<A>.indexOf(A): int": (list: List, wanted: unknown) =>
    BigInt([...list].findIndex((item) => equal(item, wanted))),
  "list<A>.lastIndexOf(A): int": (list: List, wanted: unknown) =>
    BigInt([...list].findLastIndex((item) => equal(item, wanted))),
  "list<A>.distinct(): list<A>": distinct,
  "list<A>.reverse(): list<A>": (list: List) => [...list].reverse(),
  "list<A>.sort(): list<A>": (list: Ordered) => [...list].sort(ascending),
  "list<A>.slice(int, int): list<A>": slice,
  "list.flatten(): list": (list: List) => flatten(list, 1n),
  "list.flatten(int): list": flatten
}

const namespaced: { readonly [signature: string]: (...args: never) => unknown } = {
  "SetsNamespace.contains(list<A>, list<A>): bool": (_: unknown, list: List, wanted: List) =>
    [...wanted].every((item) => contains(list, item)),
  "SetsNamespace.equivalent(list<A>, list<A>): bool": (_: unknown, one: List, other: List) =>
    [...one].every((item) => contains(other, item)) && [...other].every((item) => contains(one, item)),
  "SetsNamespace.intersects(list<A>, list<A>): bool": (_: unknown, one: List, other: List) =>
    [...one].some((item) => contains(other, item)),
  "ListsNamespace.range(int): list<int>": (_: unknown, size: bigint) =>
    Array.from({ length: Number(size) }, (_, at) => BigInt(at))
}
