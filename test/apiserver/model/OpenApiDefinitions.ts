/**
 * The schemas of the built-in kinds, as a kube-apiserver publishes them and `test/record/api.ts` records them.
 *
 * They are parsed when the first of them is asked for, and linked kind by kind: a program that never serves a built-in kind
 * does not pay for them.
 */
import type { Json, JsonObject } from "./Json.ts"
import * as J from "./Json.ts"
import type { Schema } from "./Schema.ts"

/** The definitions as they are published: with references, by their names in `components.schemas`. */
export const definitions = (): JsonObject => {
  // No import: parsing them is not to be part of starting a program. A bundler sees it as well.
  const read: JsonObject = parsed ?? require("./definitions.json")
  parsed = read
  return read
}

/** The schema of a kind, its references resolved; undefined where there is no such kind. Always the same value. */
export const schemaOf = (group: string, version: string, kind: string): Schema | undefined => {
  const name = nameOfKind(group, version, kind)
  return name === undefined ? undefined : schemaNamed(name)
}

/** The schema of a definition, its references resolved: `io.k8s.api.core.v1.PodSpec`. */
export const schemaNamed = (name: string): Schema => {
  const found = linked.get(name)
  if (found !== undefined) return found
  const definition = J.object(definitions()[name])
  const properties: { [name: string]: Schema } = {}
  const schema: Schema = {
    ...link(Object.fromEntries(Object.entries(definition).filter(([member]) => member !== "properties"))),
    ...(definition.properties === undefined ? {} : { properties })
  }
  // Known before its properties are: a definition may contain itself.
  linked.set(name, schema)
  names.set(schema, name)
  for (const [property, value] of Object.entries(J.object(definition.properties))) properties[property] = link(value)
  return schema
}

/** The name of the definition that a linked schema comes from: `io.k8s.api.core.v1.PodSpec`. Undefined for one without a name. */
export const definitionOf = (schema: Schema): string | undefined => names.get(schema)

/** Gives a schema the name of a definition, which `definitionOf` returns. */
export const named = (name: string, schema: Schema): Schema => {
  names.set(schema, name)
  return schema
}

/** The name in `components.schemas` of a built-in kind. */
export const nameOfKind = (group: string, version: string, kind: string): string | undefined => {
  kinds ??= byKind()
  return kinds.get(`${group}/${version}/${kind}`)
}

let parsed: JsonObject | undefined
let kinds: ReadonlyMap<string, string> | undefined
const linked = new Map<string, Schema>()
const names = new WeakMap<Schema, string>()

const byKind = (): ReadonlyMap<string, string> =>
  new Map(
    Object.entries(definitions()).flatMap(([name, definition]) =>
      J.objects(J.at(definition, "x-kubernetes-group-version-kind")).map(
        ({ group, kind, version }) => [`${group}/${version}/${kind}`, name] as const
      )
    )
  )

/** Of `allOf: [{ $ref }]` and what stands beside it one schema: what stands beside it wins. */
const link = (value: Json | undefined): Schema => {
  const { $ref, allOf, ...own } = J.object(value)
  const reference = J.text($ref) ?? J.text(J.at(J.objects(allOf)[0], "$ref"))
  const beside = Object.fromEntries(
    Object.entries(own).map(([member, inner]) => [member, inside(member, inner)])
  ) as Schema
  if (reference === undefined) return beside
  const name = reference.slice(reference.lastIndexOf("/") + 1)
  const target = schemaNamed(name)
  if ($ref !== undefined) return target
  const merged = { ...target, ...beside }
  names.set(merged, name)
  return merged
}

/** A member of a schema, linked if it is one or holds some. */
const inside = (member: string, value: Json | undefined): unknown => {
  switch (member) {
    case "items":
    case "not":
      return link(value)
    case "additionalProperties":
      return J.isObject(value) ? link(value) : value
    case "anyOf":
    case "oneOf":
      return J.list(value).map(link)
    case "properties":
      return Object.fromEntries(Object.entries(J.object(value)).map(([name, property]) => [name, link(property)]))
    default:
      return value
  }
}
