/**
 * Values as expressions see them. Integers are bigint, and doubles are number. Objects with a schema are instances of a class of
 * that schema.
 */
import { EvaluationError } from "@marcbachmann/cel-js"
import * as Json from "../../model/Json.ts"

/**
 * An object with a schema. It converts a member when an expression reads it, because most rules read few members. Its methods are
 * static, because the names of an instance belong to the schema.
 */
export class Message {
  readonly #json: Json.JsonObject
  #made: { [name: string]: unknown } | undefined

  constructor(json: Json.JsonObject) {
    this.#json = json
  }

  /** Returns the JSON of the object. */
  static json(message: Message): Json.JsonObject {
    return message.#json
  }

  /** Returns a member, converted by `make`; undefined: the member is missing. Objects and lists are converted once. */
  static member(message: Message, name: string, make: (json: Json.Json) => unknown): unknown {
    const json = Json.at(message.#json, name)
    if (json === undefined || json === null) return json
    if (typeof json !== "object") return make(json)
    message.#made ??= {}
    message.#made[name] ??= make(json)
    return message.#made[name]
  }
}

/** Values that `<` can compare. It compares durations and timestamps by their `valueOf`. */
export type Comparable = string | number | bigint | boolean

/** Whether two values are equal. An integer can equal a double. */
export const equal = (one: unknown, other: unknown): boolean => {
  if (one === other) return true
  if (typeof one === "bigint" && typeof other === "number") return Number(one) === other
  if (typeof one === "number" && typeof other === "bigint") return one === Number(other)
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false
  if (one instanceof Message) return other instanceof Message && Json.equal(Message.json(one), Message.json(other))
  if (one instanceof Map) return other instanceof Map && equalMaps(one, other)
  if (isList(one)) return isList(other) && equalLists([...one], [...other])
  return one.constructor === other.constructor && String(one.valueOf()) === String(other.valueOf())
}

/** Whether a value is a list. A list of type set is a Set. */
export const isList = (value: unknown): value is ReadonlyArray<unknown> | ReadonlySet<unknown> =>
  Array.isArray(value) || value instanceof Set

/** Makes the error that ends an evaluation. The rule then fails with this message. */
export const failure = (message: string): Error => new EvaluationError(message)

const equalLists = (one: ReadonlyArray<unknown>, other: ReadonlyArray<unknown>): boolean =>
  one.length === other.length && one.every((item, index) => equal(item, other[index]))

const equalMaps = (one: ReadonlyMap<unknown, unknown>, other: ReadonlyMap<unknown, unknown>): boolean =>
  one.size === other.size && [...one].every(([key, value]) => other.has(key) && equal(value, other.get(key)))
