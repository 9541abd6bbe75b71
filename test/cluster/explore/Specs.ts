/** Generates specs of a custom kind from its structural schema. */

import * as Json from "@homeostat/apiserver/model/Json"
import type { Any as CustomResource } from "@homeostat/runtime/resource/CustomResource"
import * as FastCheck from "fast-check"

type Arbitrary = FastCheck.Arbitrary<Json.Json>

/** Valid specs and values of a kind. */
export interface Seeds {
  /** A spec that the API server accepts. Each generated spec changes some fields of this one. Default: specs from the schema alone. */
  readonly spec?: Json.JsonObject | undefined
  /** Values of fields, by path without list indices: `{ schedule: ["0 2 * * *"], "env.name": ["A"] }`. */
  readonly values?: { readonly [path: string]: ReadonlyArray<Json.Json> } | undefined
}

type Values = NonNullable<Seeds["values"]>

/** The maximum number of fields of the seed that a generated spec replaces. */
const mostReplaced = 3

/** Values for quantities and IntOrString. */
const amounts: ReadonlyArray<string | number> = ["100m", "250m", "1", "2", "64Mi", "1Gi", "1500m", 1, 8080]

/** The maximum lengths of lists and strings, so that a spec stays readable. */
const most = 3
const longest = 12

/** The maximum number, because large numbers make a test slow: a hundred replicas are a hundred pods. */
const largest = 4

const joined = (path: string, name: string): string => (path === "" ? name : `${path}.${name}`)

const record = (
  properties: Json.JsonObject,
  required: ReadonlyArray<Json.Json>,
  path: string,
  values: Values
): FastCheck.Arbitrary<Json.JsonObject> =>
  FastCheck.record(
    Object.fromEntries(
      Object.entries(properties).map(([name, schema]) => [
        name,
        ofSchema(Json.object(schema), joined(path, name), values)
      ])
    ),
    { requiredKeys: Object.keys(properties).filter((name) => required.includes(name)) }
  )

const texts = (schema: Json.JsonObject, path: string): Arbitrary => {
  const { format, pattern } = Json.texts(schema)
  const minLength = Json.number(schema.minLength) ?? 0
  const maxLength = Math.max(minLength, Math.min(Json.number(schema.maxLength) ?? longest, longest))
  if (format === "date-time") return FastCheck.constantFrom("2026-11-20T09:00:00Z", "2026-11-21T00:30:00Z")
  if (pattern !== undefined) {
    const matching = matches(pattern)
    if (matching !== undefined) return matching.filter((text) => text.length >= minLength)
  }
  // Names of other objects are DNS labels, which random strings rarely match.
  if (/name$|key$|ref$/i.test(path)) return FastCheck.constantFrom("a", "b", "shop")
  return FastCheck.string({ minLength, maxLength })
}

/** Undefined for a pattern that FastCheck does not support. */
const matches = (pattern: string): FastCheck.Arbitrary<string> | undefined => {
  try {
    return FastCheck.stringMatching(new RegExp(pattern), { size: "small" })
  } catch {
    return undefined
  }
}

const listOf = (schema: Json.JsonObject, path: string, values: Values): Arbitrary => {
  const items = ofSchema(Json.object(schema.items), path, values)
  const minLength = Json.number(schema.minItems) ?? 0
  const bounds = { minLength, maxLength: Math.max(minLength, Math.min(Json.number(schema.maxItems) ?? most, most)) }
  const keys = Json.list(schema["x-kubernetes-list-map-keys"]).map(String)
  const selector = (item: Json.Json) =>
    keys.length === 0 ? JSON.stringify(item) : keys.map((key) => JSON.stringify(Json.at(item, key))).join()
  return schema["x-kubernetes-list-type"] === undefined || schema["x-kubernetes-list-type"] === "atomic"
    ? FastCheck.array(items, bounds)
    : FastCheck.uniqueArray(items, { ...bounds, selector })
}

const ofSchema = (schema: Json.JsonObject, path: string, values: Values): Arbitrary => {
  const known = values[path] ?? []
  if (known.length > 0) return FastCheck.constantFrom(...known)
  const allowed = Json.list(schema.enum)
  if (allowed.length > 0) return FastCheck.constantFrom(...allowed)
  if (schema["x-kubernetes-int-or-string"] === true) return FastCheck.constantFrom(...amounts)
  switch (schema.type) {
    case "object": {
      const members = Json.object(schema.additionalProperties)
      return schema.properties === undefined && !Json.isEmpty(members)
        ? FastCheck.dictionary(FastCheck.constantFrom("a", "b", "cpu", "memory"), ofSchema(members, path, values), {
            maxKeys: most
          })
        : record(Json.object(schema.properties), Json.list(schema.required), path, values)
    }
    case "array":
      return listOf(schema, path, values)
    case "integer":
    case "number": {
      const min = Json.number(schema.minimum) ?? 0
      return FastCheck.integer({
        min,
        max: Math.max(min, Math.min(Json.number(schema.maximum) ?? largest, min + largest))
      })
    }
    case "boolean":
      return FastCheck.boolean()
    case "string":
      return texts(schema, path)
    default:
      return FastCheck.constant({})
  }
}

/** Generates specs that the schema allows. CEL rules may reject some of them. */
const of = ({ definition }: CustomResource, { spec, values = {} }: Seeds): FastCheck.Arbitrary<Json.JsonObject> => {
  const schema = Json.object(Json.at(JSON.parse(JSON.stringify(definition.schema)), "properties", "spec"))
  const properties = Json.object(schema.properties)
  if (spec === undefined) return record(properties, Json.list(schema.required), "", values)
  return FastCheck.subarray(Object.keys(properties), { minLength: 1, maxLength: mostReplaced })
    .chain((names) => {
      const chosen = Object.fromEntries(names.map((name) => [name, properties[name]]))
      return record(chosen, names, "", values)
    })
    .map((others) => ({ ...spec, ...others }))
}

/** A spec with the simpler specs that FastCheck derives from it. */
export interface Generated {
  readonly spec: Json.JsonObject
  readonly simpler: Iterable<Generated>
}

const generated = (
  arbitrary: FastCheck.Arbitrary<Json.JsonObject>,
  { context, value }: FastCheck.Value<Json.JsonObject>
): Generated => ({
  spec: value,
  get simpler() {
    return arbitrary.shrink(value, context).map((simpler) => generated(arbitrary, simpler))
  }
})

/** Generates values with their shrink contexts, which `FastCheck.sample` does not return. */
class InContext<A> extends FastCheck.Arbitrary<FastCheck.Value<A>> {
  private readonly inner: FastCheck.Arbitrary<A>
  constructor(inner: FastCheck.Arbitrary<A>) {
    super()
    this.inner = inner
  }
  override generate(random: FastCheck.Random, bias: number | undefined): FastCheck.Value<FastCheck.Value<A>> {
    return new FastCheck.Value(this.inner.generate(random, bias), undefined)
  }
  override canShrinkWithoutContext(_: unknown): _ is FastCheck.Value<A> {
    return false
  }
  override shrink(): FastCheck.Stream<FastCheck.Value<FastCheck.Value<A>>> {
    return FastCheck.Stream.nil()
  }
}

/** Generates specs that the schema allows. The same seed generates the same specs. */
export const sample = (
  kind: CustomResource,
  { count, seed, seeds }: { readonly count: number; readonly seed: number; readonly seeds: Seeds }
): ReadonlyArray<Generated> => {
  const arbitrary = of(kind, seeds)
  return FastCheck.sample(new InContext(arbitrary), { numRuns: count, seed }).map((value) =>
    generated(arbitrary, value)
  )
}
