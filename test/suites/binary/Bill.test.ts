/** The bill of materials lists exactly the contents of the program. */
import { describe, expect } from "bun:test"
import { dirname, join } from "node:path"
import * as Cdx from "@cyclonedx/cyclonedx-library"
import { live } from "@homeostat/testkit/Test"
import { Effect, Schema } from "effect"
import * as Checksum from "../../../deploy/build/Checksum.ts"
import * as Executable from "../../../deploy/build/Executable.ts"
import * as Target from "../../../deploy/build/Target.ts"
import * as Binary from "./Binary.ts"

const root = join(import.meta.dir, "../../..")

/** The first test builds the program. */
const buildMillis = 120_000

const Part = Schema.Struct({
  type: Schema.String,
  name: Schema.String,
  version: Schema.optional(Schema.String),
  hashes: Schema.optional(Schema.Array(Schema.Struct({ alg: Schema.String, content: Schema.String }))),
  licenses: Schema.optional(Schema.Array(Schema.Unknown))
})

const Component = Schema.Struct({
  ...Part.fields,
  version: Schema.String,
  "bom-ref": Schema.String,
  purl: Schema.optional(Schema.String),
  components: Schema.optional(Schema.Array(Part))
})

const Bill = Schema.fromJsonString(
  Schema.Struct({
    serialNumber: Schema.String,
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

  live("has the checksum of each package in the lock file, and of Bun's executables", () =>
    Effect.gen(function* () {
      const { bill } = yield* read
      const lock = yield* Effect.promise(() => Bun.file(join(root, "bun.lock")).text())
      for (const { hashes, name, purl = "" } of bill.components) {
        if (!purl.startsWith("pkg:npm/")) continue
        const sums = hashes?.map(({ alg, content }) => [alg, Buffer.from(content, "hex").toString("base64")])
        const locked = decodeURIComponent(purl.slice("pkg:npm/".length))
        const line = lock.split("\n").find((each) => each.includes(`["${locked}"`))
        expect([name, sums]).toEqual([name, [["SHA-512", /"sha512-([^"]+)"/.exec(line ?? "")?.[1] ?? ""]]])
      }
      const bun = bill.components.find(({ name }) => name === "bun")
      const host = yield* Target.host
      const executables = bun?.components?.filter(({ type }) => type === "file") ?? []
      expect(executables).toHaveLength(Target.all.length)
      const own = executables.find(({ name }) => name === Executable.nameOf(host))
      const sum = yield* Effect.promise(() => Checksum.of(process.execPath))
      expect(own?.hashes).toEqual([{ alg: "SHA-256", content: sum }])
    })
  )

  live("has a licence of each library in Bun", () =>
    Effect.gen(function* () {
      const { bill } = yield* read
      const parts = bill.components.find(({ name }) => name === "bun")?.components ?? []
      expect(parts.filter(({ licenses }) => licenses?.length !== 1).map(({ name }) => name)).toEqual([])
      const named = new Map(parts.map(({ licenses, name }) => [name, licenses?.[0]]))
      expect(named.get("webkit")).toEqual({ expression: "LGPL-2.0-or-later AND BSD-2-Clause" })
      for (const name of ["usockets", "brotli"]) expect(named.has(name)).toBe(true)
    })
  )

  live("has a serial number that is the same for the same contents", () =>
    Effect.gen(function* () {
      const { bill, text } = yield* read
      expect(bill.serialNumber).toMatch(
        /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
      )
      const rest = text.replace(/ {2}"serialNumber": .*\n/, "")
      expect(bill.serialNumber).toBe(`urn:uuid:${Bun.randomUUIDv5(rest, "url")}`)
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
