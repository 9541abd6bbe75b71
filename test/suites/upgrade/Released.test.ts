/** Compares the kinds of this version with those of the released versions. */
import { describe, expect, test } from "bun:test"
import { join } from "node:path"
import * as Kinds from "@homeostat/runtime/command/Kinds"
import * as Crd from "@homeostat/runtime/resource/Crd"
import * as Narrowing from "@homeostat/runtime/resource/Narrowing"
import { program } from "../../../controllers/main.ts"
import { type Definition, releases } from "./Released.ts"

const present = new Map(
  Kinds.of(program).map((kind) => {
    const crd = Crd.of(kind)
    return [crd.metadata.name, crd]
  })
)

/** All fields of a schema, as `spec.env[].name`. */
const fieldsOf = (schema: object, at = ""): ReadonlyArray<string> => {
  const properties: object = Reflect.get(schema, "properties") ?? {}
  const items: object | undefined = Reflect.get(schema, "items")
  const below = Object.entries(properties).flatMap(([name, property]) => {
    const field = at === "" ? name : `${at}.${name}`
    return [field, ...fieldsOf(property, field)]
  })
  return items === undefined ? below : [...below, ...fieldsOf(items, `${at}[]`)]
}

/** All fields of an object, in the same notation. */
const filledOf = (value: unknown, at = ""): ReadonlyArray<string> => {
  if (Array.isArray(value)) return value.flatMap((item) => filledOf(item, `${at}[]`))
  if (typeof value !== "object" || value === null) return []
  return Object.entries(value).flatMap(([name, part]) => {
    const field = at === "" ? name : `${at}.${name}`
    return [field, ...filledOf(part, field)]
  })
}

const schemaOf = ({ spec }: Definition): object => spec.versions[0]?.schema?.openAPIV3Schema ?? {}

describe("The definitions of this version", () => {
  for (const { definitions, version } of releases) {
    test(`narrow no definition of ${version}: a deliberate narrowing needs a release by hand`, () => {
      expect(definitions.length).toBeGreaterThan(0)
      for (const released of definitions) {
        const now = present.get(released.metadata.name)
        const lost = now === undefined ? ["is gone"] : Narrowing.of(released, now).map(Narrowing.describe)
        expect({ [released.metadata.name]: lost }).toEqual({ [released.metadata.name]: [] })
      }
    })
  }

  test("are kept for later versions in released/<version> after the release", async () => {
    const changelog = await Bun.file(join(import.meta.dir, "../../../CHANGELOG.md")).text()
    const released = Array.from(changelog.matchAll(/^## (\d\S*)/gm), ([, version]) => version ?? "")
    expect(released).not.toEqual([])
    // A version with a suffix is between two releases.
    expect(releases.map(({ version }) => version)).toEqual(
      [...new Set([...released, ...(program.version.includes("-") ? [] : [program.version])])].toSorted()
    )
  })
})

describe("The files of a release", () => {
  for (const { definitions, objects, version } of releases) {
    test(`contain, for ${version}, every field of every kind in an object`, () => {
      for (const definition of definitions) {
        const own = objects.filter(({ kind }) => kind === definition.spec.names.kind)
        const filled = new Set(own.flatMap((object) => filledOf(object)))
        const missing = fieldsOf(schemaOf(definition)).filter((field) => !filled.has(field))
        expect({ [definition.metadata.name]: missing }).toEqual({ [definition.metadata.name]: [] })
      }
    })
  }
})
