/**
 * Correlates the parts of a new object with those of the old one: members by name, and items of map lists by their keys. Items of other
 * lists are not correlated. An update may keep an invalid value that it does not change (ratcheting).
 */
import * as Json from "../../model/Json.ts"
import type { Schema } from "../../model/Schema.ts"
import * as StructuralSchema from "./StructuralSchema.ts"

/** A value with its old value. */
export class Correlation {
  readonly #children = new Map<string | number, Correlation | undefined>()
  #same: boolean | undefined

  constructor(
    readonly value: Json.Json,
    readonly old: Json.Json | undefined,
    readonly schema: Schema
  ) {}

  /** Returns the correlation of a member; undefined: the member is missing in the new value, the old value or the schema. */
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

  /** Returns the correlation of an item of a map list; undefined: the old list has no item with the same keys. */
  index(index: number): Correlation | undefined {
    return this.#child(index, () => {
      if (!Json.isList(this.value)) return undefined
      const old = itemLike(this.schema, this.old, this.value[index])
      return old === null ? undefined : correlated(this.value[index], old, this.schema.items)
    })
  }

  /** Whether this value equals its old value. False if a part of it cannot be correlated. */
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

/** Returns the item of an old map list with the keys of a new item; undefined for other lists. */
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
