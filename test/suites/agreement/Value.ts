/**
 * Values at random: mostly what a field takes, now and then what it does not.
 *
 * What the two servers cannot agree about is not made: numbers beyond 2^53 and floating point with many digits, which JavaScript
 * reads and writes in its own way.
 */
import type { Json, JsonObject } from "@homeostat/testkit/server/Json"
import * as FastCheck from "effect/FastCheck"

/** Values of a field, or of an object. */
export type Values = FastCheck.Arbitrary<Json>
/** Members by name. */
export type Fields = { readonly [name: string]: Values }

/** One of these. */
export const one = (...values: ReadonlyArray<Json>): Values => FastCheck.constantFrom(...values)

/** Good ones, and once in a while a bad one. */
export const mostly = (good: Values, ...bad: ReadonlyArray<Json>): Values =>
  FastCheck.oneof({ weight: 24, arbitrary: good }, { weight: 1, arbitrary: one(...bad) })

/** Short texts, so that they meet again. */
export const text: Values = mostly(one("a", "b", "c", ""), 1, null)
/** Small numbers. */
export const count: Values = mostly(one(0, 1, 2, 3), -1, "2", null, 1.5)
/** True and false. */
export const flag: Values = mostly(one(true, false), "true", null)
/** Anything that JSON knows. */
export const anything: Values = one(null, "a", "", 0, 1, true, [], {}, ["a"], [1], { a: "b" }, { name: "a" }, [
  { name: "a" }
])

/** Some of these members, at most so many. */
export const some = (fields: Fields, most = 3): FastCheck.Arbitrary<JsonObject> =>
  FastCheck.uniqueArray(
    FastCheck.oneof(
      ...Object.entries(fields).map(([name, values]) => FastCheck.tuple(FastCheck.constant(name), values))
    ),
    { maxLength: most, selector: ([name]) => name }
  ).map((members) => Object.fromEntries(members))

/** These members, and some of those. */
export const object = (always: Fields, fields?: Fields, most?: number): FastCheck.Arbitrary<JsonObject> =>
  FastCheck.tuple(FastCheck.record(always), fields === undefined ? FastCheck.constant({}) : some(fields, most)).map(
    ([these, those]) => ({ ...these, ...those })
  )

/** A short list. */
export const list = (items: Values, most = 3): Values =>
  mostly(FastCheck.array(items, { maxLength: most }), null, {}, "a")

/** A map with a few keys, which meet again. */
export const map = (values: Values): Values => mostly(some({ a: values, b: values, c: values }), null, [], "a")

/** The same, where now and then a member is taken away: as a merge patch says it. */
export const patch = (objects: FastCheck.Arbitrary<JsonObject>): FastCheck.Arbitrary<JsonObject> =>
  FastCheck.tuple(objects, FastCheck.array(FastCheck.nat(7), { maxLength: 2 })).map(([object, places]) =>
    Object.fromEntries(
      Object.entries(object).map(([name, value], index) => [name, places.includes(index) ? null : value])
    )
  )
