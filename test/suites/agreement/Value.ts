/**
 * Random values, mostly valid ones. No numbers beyond 2^53 and no long fractions, because JavaScript cannot read and write them
 * exactly.
 */
import type { Json, JsonObject } from "@homeostat/apiserver/model/Json"
import * as FastCheck from "fast-check"

export type Values = FastCheck.Arbitrary<Json>
export type Fields = { readonly [name: string]: Values }

export const one = (...values: ReadonlyArray<Json>): Values => FastCheck.constantFrom(...values)

/** Good values, and one bad value in 25. */
export const mostly = (good: Values, ...bad: ReadonlyArray<Json>): Values =>
  FastCheck.oneof({ weight: 24, arbitrary: good }, { weight: 1, arbitrary: one(...bad) })

/** Short texts, so that they repeat. */
export const text: Values = mostly(one("a", "b", "c", ""), 1, null)
export const count: Values = mostly(one(0, 1, 2, 3), -1, "2", null, 1.5)
export const flag: Values = mostly(one(true, false), "true", null)
export const anything: Values = one(null, "a", "", 0, 1, true, [], {}, ["a"], [1], { a: "b" }, { name: "a" }, [
  { name: "a" }
])

/** At most `most` of the fields. */
export const some = (fields: Fields, most = 3): FastCheck.Arbitrary<JsonObject> =>
  FastCheck.uniqueArray(
    FastCheck.oneof(
      ...Object.entries(fields).map(([name, values]) => FastCheck.tuple(FastCheck.constant(name), values))
    ),
    { maxLength: most, selector: ([name]) => name }
  ).map((members) => Object.fromEntries(members))

/** All of `always`, and at most `most` of `fields`. */
export const object = (always: Fields, fields?: Fields, most?: number): FastCheck.Arbitrary<JsonObject> =>
  FastCheck.tuple(FastCheck.record(always), fields === undefined ? FastCheck.constant({}) : some(fields, most)).map(
    ([these, those]) => ({ ...these, ...those })
  )

export const list = (items: Values, most = 3): Values =>
  mostly(FastCheck.array(items, { maxLength: most }), null, {}, "a")

/** A map with few keys, so that they repeat. */
export const map = (values: Values): Values => mostly(some({ a: values, b: values, c: values }), null, [], "a")

/** Merge patches: some members are null. */
export const patch = (objects: FastCheck.Arbitrary<JsonObject>): FastCheck.Arbitrary<JsonObject> =>
  FastCheck.tuple(objects, FastCheck.array(FastCheck.nat(7), { maxLength: 2 })).map(([object, places]) =>
    Object.fromEntries(
      Object.entries(object).map(([name, value], index) => [name, places.includes(index) ? null : value])
    )
  )
