/** `kubectl explain` has a text for each field of the shipped kinds. */
import { expect, test } from "bun:test"
import { definitions } from "../binary/Scene.ts"

interface Schema {
  readonly description?: string | undefined
  readonly properties?: { readonly [name: string]: Schema } | undefined
  readonly items?: Schema | undefined
  readonly additionalProperties?: Schema | boolean | undefined
}

/** The fields without a description. The API server describes metadata. */
const bare = (schema: Schema, path: string): ReadonlyArray<string> => {
  const { additionalProperties, items, properties = {} } = schema
  return [
    ...Object.entries(properties).flatMap(([name, field]) =>
      path === "" && name === "metadata"
        ? []
        : [...(field.description ? [] : [`${path}.${name}`]), ...bare(field, `${path}.${name}`)]
    ),
    ...(items === undefined ? [] : bare(items, `${path}[]`)),
    ...(typeof additionalProperties === "object" ? bare(additionalProperties, `${path}{}`) : [])
  ]
}

/** A module of `bun run new` may have fields without a text. */
const shipped = ["WebApp", "Backup", "Restore"]

for (const { spec } of definitions.filter(({ spec }) => shipped.includes(spec.names.kind))) {
  test(`Each field of a ${spec.names.kind} has a description`, () => {
    for (const { schema } of spec.versions) {
      const root = (schema?.openAPIV3Schema ?? {}) as Schema
      expect(root.description).toBeString()
      expect(bare(root, "")).toEqual([])
    }
  })
}
