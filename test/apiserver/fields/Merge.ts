/**
 * Merges an applied value into a live one. The merge removes nothing; where both have a value, the applied value wins.
 */
import type { Json, JsonObject } from "../model/Json.ts"
import * as J from "../model/Json.ts"
import * as ListItem from "./ListItem.ts"
import { formOf, type ListType, type MapType, memberOf, type Type } from "./Type.ts"

/** Returns the merged value. It shares the parts that only one side has with that side. */
export const merge = (type: Type, live: Json, applied: Json): Json => {
  switch (formOf(type, applied)) {
    case "map":
      return type.map === undefined ? applied : mergeMap(type.map, live, applied)
    case "list":
      return type.list === undefined ? applied : mergeList(type.list, live, applied)
    default:
      return applied
  }
}

type Side = Json | undefined

const mergeSides = (type: Type, live: Side, applied: Side): Json => {
  if (live === undefined) return applied ?? null
  return applied === undefined ? live : merge(type, live, applied)
}

const mergeMap = (type: MapType, live: Json, applied: Json): Json => {
  const one = J.object(live)
  const other = J.object(applied)
  if (type.atomic || (J.isEmpty(one) && J.isEmpty(other))) return applied
  const merged: { [name: string]: Json } = {}
  for (const name of membersOf(one, other)) {
    J.put(merged, name, mergeSides(memberOf(type, name), J.at(one, name), J.at(other, name)))
  }
  return merged
}

const membersOf = (one: JsonObject, other: JsonObject): ReadonlyArray<string> => [
  ...Object.keys(one).filter((name) => one[name] !== undefined),
  ...Object.keys(other).filter((name) => J.at(one, name) === undefined && other[name] !== undefined)
]

/**
 * Merges the items of both lists. The items of the applied list keep its order. The items that only the live list has keep
 * their position between the items that both lists have.
 */
const mergeList = (type: ListType, live: Json, applied: Json): Json => {
  const one = J.list(live)
  const other = J.list(applied)
  if (type.atomic || (one.length === 0 && other.length === 0)) return applied
  return arranged(stepsOf(type, one), stepsOf(type, other)).map(([before, after]) =>
    mergeSides(type.element, before, after)
  )
}

interface Steps {
  readonly items: ReadonlyArray<Json>
  readonly order: ReadonlyArray<string>
  /** Maps each path element to its item, or to null if several items have the same path element: duplicates are not merged. */
  readonly byStep: ReadonlyMap<string, Json>
}

const stepsOf = (type: ListType, items: ReadonlyArray<Json>): Steps => {
  const order = items.map((item) => ListItem.elementOf(type, item))
  const byStep = new Map<string, Json>()
  for (const [index, element] of order.entries())
    byStep.set(element, byStep.has(element) ? null : (items[index] ?? null))
  return { items, order, byStep }
}

/** Returns the items in the order of the merged list, each with its value on both sides. */
const arranged = (live: Steps, applied: Steps): ReadonlyArray<readonly [live: Side, applied: Side]> => {
  const out: Array<readonly [Side, Side]> = []
  const shared = applied.order.filter((element) => live.byStep.has(element))
  const taken = new Set<string>()
  const take = (element: string): void => {
    taken.add(element)
    out.push([live.byStep.get(element), applied.byStep.get(element)])
  }
  let next = shared.shift()
  let l = 0
  let a = 0
  while (l < live.order.length || a < applied.order.length) {
    const mine = live.order[l]
    const theirs = applied.order[a]
    if (mine !== undefined && theirs !== undefined) {
      if (mine === theirs) {
        take(mine)
        l++
        a++
        next = shared.shift()
        continue
      }
      // Both lists have this item, but another shared item comes first. This item takes its position from the applied list.
      if (applied.byStep.has(mine) && next !== undefined && next !== mine) {
        l++
        continue
      }
    }
    if (mine !== undefined) {
      if (!applied.byStep.has(mine)) {
        out.push([live.items[l], undefined])
        l++
        continue
      }
      if (taken.has(mine)) l++
    }
    if (theirs !== undefined) {
      take(theirs)
      a++
      if (next === theirs) next = shared.shift()
    }
  }
  return out
}
