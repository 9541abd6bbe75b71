/** The bill of materials lists exactly the contents of the program. */
import { describe, expect } from "bun:test"
import { dirname, join } from "node:path"
import * as Cdx from "@cyclonedx/cyclonedx-library"
import { live } from "@homeostat/testkit/Test"
import { Effect, Schema } from "effect"
import * as Binary from "./Binary.ts"

const root = join(import.meta.dir, "../../..")

/** The first test builds the program. */
const buildMillis = 120_000

const Component = Schema.Struct({
  type: Schema.String,
  name: Schema.String,
  version: Schema.String,
  "bom-ref": Schema.String,
  purl: Schema.optional(Schema.String),
  licenses: Schema.optional(Schema.Array(Schema.Unknown))
})

const Bill = Schema.fromJsonString(
  Schema.Struct({
    metadata: Schema.Struct({ component: Component }),
    components: Schema.Array(Component),
    dependencies: Schema.Array(
      Schema.Struct({
        ref: Schema.String,
        dependsOn: Schema.Array(Schema.String).pipe(Schema.withDecodingDefaultType(Effect.succeed([])))
      })
    )
  })
)

const read = Effect.gen(function* () {
  const file = join(dirname(yield* Binary.path), "homeostat.cdx.json")
  const text = yield* Effect.promise(() => Bun.file(file).text())
  return { text, bill: yield* Schema.decodeEffect(Bill)(text) }
})

/** The versions of a package in a lock file. */
const lockedVersions = (lock: string, name: string): ReadonlyArray<string> =>
  [...lock.matchAll(/\["((?:@[^/"]+\/)?[^@"]+)@([^"]+)"/g)].flatMap(([, one, version = ""]) =>
    one === name ? [version] : []
  )

describe("The bill of materials", () => {
  live(
    "is valid CycloneDX 1.6",
    () =>
      Effect.gen(function* () {
        const { text } = yield* read
        const validator = new Cdx.Validation.JsonStrictValidator(Cdx.Spec.Version.v1dot6)
        expect(yield* Effect.promise(() => validator.validate(text))).toBeNull()
      }),
    buildMillis
  )

  live("contains the packages of the program with version and licence, and Bun, but no build or test tools", () =>
    Effect.gen(function* () {
      const { bill } = yield* read
      const lock = yield* Effect.promise(() => Bun.file(join(root, "bun.lock")).text())
      expect(bill.metadata.component).toMatchObject({ type: "application", name: "homeostat" })
      const [packages, others] = [
        bill.components.filter(({ purl = "" }) => purl.startsWith("pkg:npm/")),
        bill.components.filter(({ purl = "" }) => !purl.startsWith("pkg:npm/"))
      ]
      expect(others).toMatchObject([
        { name: "bun", version: Bun.version, type: "platform", licenses: [{ license: { id: "MIT" } }] }
      ])
      const names = packages.map(({ purl = "" }) =>
        decodeURIComponent(purl.slice("pkg:npm/".length)).replace(/@[^@]*$/, "")
      )
      for (const [index, { licenses, version }] of packages.entries()) {
        const name = names[index] ?? ""
        expect([name, lockedVersions(lock, name)]).toEqual([name, expect.arrayContaining([version])])
        expect([name, licenses?.length]).toEqual([name, 1])
      }
      expect(names).toEqual(
        expect.arrayContaining(["effect", "@kubernetes/client-node", "js-yaml", "@opentelemetry/api"])
      )
      for (const tool of ["typescript", "@biomejs/biome", "@cyclonedx/cyclonedx-library", "s3rver"]) {
        expect(names).not.toContain(tool)
      }
    })
  )

  live("contains the dependencies of each package", () =>
    Effect.gen(function* () {
      const { bill } = yield* read
      const needs = new Map(bill.dependencies.map(({ dependsOn, ref }) => [ref, dependsOn]))
      const found = new Set<string>()
      const visit = (ref: string): void => {
        if (found.has(ref)) return
        found.add(ref)
        for (const one of needs.get(ref) ?? []) visit(one)
      }
      visit(bill.metadata.component["bom-ref"])
      expect(bill.components.map((one) => one["bom-ref"]).filter((ref) => !found.has(ref))).toEqual([])
    })
  )
})
