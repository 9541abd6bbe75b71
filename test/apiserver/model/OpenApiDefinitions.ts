/**
 * The schemas of the built-in kinds, as kube-apiserver publishes them and `test/record/api.ts` records them.
 *
 * The document is parsed on first use, and each kind is linked on first use. A program that never serves a built-in kind does
 * not pay for the schemas.
 */
import type { Json, JsonObject } from "./Json.ts"
import * as J from "./Json.ts"
import type { Schema } from "./Schema.ts"

/** Returns the published definitions with unresolved references, by their names in `components.schemas`. */
export const definitions = (): JsonObject => {
  // This is not an import, so that parsing is not part of the program's start. Bundlers recognize `require` as well.
  const read: JsonObject = parsed ?? require("./definitions.json")
  parsed = read
  return read
}

/**
 * Returns the schema of a kind, its references resolved; undefined if the kind does not exist. Repeated calls return the same
 * value.
 */
export const schemaOf = (group: string, version: string, kind: string): Schema | undefined => {
  const name = nameOfKind(group, version, kind)
  return name === undefined ? undefined : schemaNamed(name)
}

/** Returns the schema of a definition, its references resolved: `io.k8s.api.core.v1.PodSpec`. */
export const schemaNamed = (name: string): Schema => {
  const found = linked.get(name)
  if (found !== undefined) return found
  const definition = J.object(definitions()[name])
  const properties: { [name: string]: Schema } = {}
  const schema: Schema = {
    ...link(Object.fromEntries(Object.entries(definition).filter(([member]) => member !== "properties"))),
    ...(definition.properties === undefined ? {} : { properties })
  }
  // The schema is cached before its properties are linked, because a definition may contain itself.
  linked.set(name, schema)
  names.set(schema, name)
  for (const [property, value] of Object.entries(J.object(definition.properties))) properties[property] = link(value)
  return schema
}

/** Returns the definition name of a linked schema: `io.k8s.api.core.v1.PodSpec`; undefined for a schema without a name. */
export const definitionOf = (schema: Schema): string | undefined => names.get(schema)

/** Assigns a definition name to a schema, which `definitionOf` then returns. */
export const named = (name: string, schema: Schema): Schema => {
  names.set(schema, name)
  return schema
}

/** Returns the name of a built-in kind in `components.schemas`; undefined if the kind does not exist. */
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

/** Merges `allOf: [{ $ref }]` and its sibling members into one schema. The siblings win. */
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

/** Links the schemas inside one member of a schema. */
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
