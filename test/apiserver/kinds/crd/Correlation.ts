/**
 * Which part of an old object is the same thing as a part of the new one: members by name, items of map lists by their
 * keys, nothing else. By it an update may leave alone what was wrong before (ratcheting).
 */
import * as Json from "../../model/Json.ts"
import type { Schema } from "../../model/Schema.ts"
import * as StructuralSchema from "./StructuralSchema.ts"

/** A value and what it was before. */
export class Correlation {
  readonly #children = new Map<string | number, Correlation | undefined>()
  #same: boolean | undefined

  constructor(
    readonly value: Json.Json,
    readonly old: Json.Json | undefined,
    readonly schema: Schema
  ) {}

  /** A member that is in both. */
  key(name: string): Correlation | undefined {
    return this.#child(name, () => {
      if (!Json.isObject(this.value) || !Json.isObject(this.old)) return undefined
      return correlated(
        Json.at(this.value, name),
        Json.at(this.old, name),
        StructuralSchema.memberOf(this.schema, name)
      )
    })
  }

  /** An item of a map list that was there before under the same keys. */
  index(index: number): Correlation | undefined {
    return this.#child(index, () => {
      if (!Json.isList(this.value)) return undefined
      const old = itemLike(this.schema, this.old, this.value[index])
      return old === null ? undefined : correlated(this.value[index], old, this.schema.items)
    })
  }

  /** Whether this part is known to be unchanged. */
  get same(): boolean {
    this.#same ??= this.#compare()
    return this.#same
  }

  #child(at: string | number, find: () => Correlation | undefined): Correlation | undefined {
    if (!this.#children.has(at)) this.#children.set(at, find())
    return this.#children.get(at)
  }

  #compare(): boolean {
    const { old, value } = this
    if (Json.isList(value)) {
      if (!Json.isList(old) || old.length !== value.length) return false
      if (this.schema["x-kubernetes-list-type"] !== "map") return Json.equal(value, old)
      return value.every((_, index) => this.index(index)?.same === true)
    }
    if (Json.isObject(value)) {
      if (!Json.isObject(old) || Object.keys(old).length !== Object.keys(value).length) return false
      return Object.keys(value).every((name) => this.key(name)?.same === true)
    }
    return value === old
  }
}

/** The item of an old map list with the keys of a new item; nothing for other lists. */
export const itemLike = (
  schema: Schema,
  old: Json.Json | undefined,
  item: Json.Json | undefined
): Json.Json | undefined => {
  if (schema["x-kubernetes-list-type"] !== "map" || !Json.isList(old) || !Json.isObject(item)) return undefined
  const keys = schema["x-kubernetes-list-map-keys"] ?? []
  return old.find((other) => Json.isObject(other) && keys.every((key) => other[key] === item[key]))
}

const correlated = (
  value: Json.Json | undefined,
  old: Json.Json | undefined,
  schema: Schema | undefined
): Correlation | undefined =>
  value === undefined || old === undefined || schema === undefined ? undefined : new Correlation(value, old, schema)
