/**
 * The order of lists that a strategic merge patch merges.
 */

import * as Failure from "../model/Failure.ts"
import * as GoText from "../model/GoText.ts"
import type { Draft, Json } from "../model/Json.ts"
import * as J from "../model/Json.ts"

/**
 * Returns the items in order. The items that `wanted` lists follow its order, and the others keep their order in `live`.
 * Between the two groups, items that `live` has keep their relative order.
 */
export const arranged = (
  items: ReadonlyArray<Draft>,
  wanted: ReadonlyArray<Json>,
  live: ReadonlyArray<Json>,
  mergeKey: string | undefined
): Array<Draft> => {
  const positions = { wanted: placesOf(wanted, mergeKey), live: placesOf(live, mergeKey) }
  const placed = items.map((item) => ({ item, key: keyOf(item, mergeKey) }))
  const named = sorted(
    placed.filter(({ key }) => positions.wanted.has(key)),
    positions.wanted
  )
  const others = sorted(
    placed.filter(({ key }) => !positions.wanted.has(key)),
    positions.live
  )
  return interleaved(others, named, positions.live).map(({ item }) => item)
}

/** Checks that the items of the patch are in the order of `wanted`, and that `wanted` lists all of them. Throws a Failure otherwise. */
export const check = (patch: ReadonlyArray<Json>, wanted: ReadonlyArray<Json>, mergeKey: string | undefined): void => {
  if (patch.length === 0 || wanted.length === 0) return
  const kept = patch.filter((item) => J.at(item, "$patch") === undefined)
  let next = 0
  for (const entry of wanted) {
    const item = kept[next]
    if (item === undefined) return
    if (keyOf(item, mergeKey) === keyOf(entry, mergeKey)) next++
  }
  if (next < kept.length) {
    throw Failure.plain(
      `The order in patch list:\n${GoText.plain(patch)}\n doesn't match $setElementOrder list:\n${GoText.plain(wanted)}\n`
    )
  }
}

/** Returns the merge key of an item, or the item itself in a list of scalars. Throws a Failure if the merge key is missing. */
export const keyOf = (item: Json, mergeKey: string | undefined): Json => {
  if (mergeKey === undefined) return item
  const key = J.at(item, mergeKey)
  if (key !== undefined) return key
  throw Failure.plain(`map: ${GoText.plain(item)} does not contain declared merge key: ${mergeKey}`)
}

interface Placed {
  readonly item: Draft
  readonly key: Json
}

type Places = ReadonlyMap<Json, number>

const placesOf = (items: ReadonlyArray<Json>, mergeKey: string | undefined): Places => {
  const positions = new Map<Json, number>()
  for (const [index, item] of items.entries()) {
    const key = keyOf(item, mergeKey)
    if (!positions.has(key)) positions.set(key, index)
  }
  return positions
}

const sorted = (items: ReadonlyArray<Placed>, positions: Places): ReadonlyArray<Placed> =>
  items.toSorted((one, other) => (positions.get(one.key) ?? 0) - (positions.get(other.key) ?? 0))

/** Merges two lists into one. Each list keeps its order. */
const interleaved = (
  others: ReadonlyArray<Placed>,
  named: ReadonlyArray<Placed>,
  live: Places
): ReadonlyArray<Placed> => {
  const result: Array<Placed> = []
  let next = 0
  for (const item of named) {
    const position = live.get(item.key)
    for (let other = others[next]; other !== undefined && position !== undefined; other = others[next]) {
      const otherPosition = live.get(other.key)
      if (otherPosition === undefined || otherPosition >= position) break
      result.push(other)
      next++
    }
    result.push(item)
  }
  return [...result, ...others.slice(next)]
}
