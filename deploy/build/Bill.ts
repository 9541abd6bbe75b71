/**
 * The bill of materials of the program, as CycloneDX 1.6: the packages that the compiler took code from, their dependencies, and Bun
 * with its executables and its own libraries. Checksums are those of the packages in `bun.lock`, and of the executables.
 */
import { join } from "node:path"
import * as Cdx from "@cyclonedx/cyclonedx-library"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import { PackageURL } from "packageurl-js"
import parseLicence from "spdx-expression-parse"
import type { Metafile } from "./Compilation.ts"
import * as Executable from "./Executable.ts"
import recorded from "./executables.json" with { type: "json" }
import * as Lock from "./Lock.ts"
import * as Native from "./Native.ts"
import type { Sources } from "./Sources.ts"
import * as Target from "./Target.ts"

/** A package is not as npm installs it. */
export class NoPackage extends Data.TaggedError("NoPackage")<{ readonly folder: string }> {
  override get message(): string {
    return `${this.folder} has no package.json with a name and a version`
  }
}

type Manifest = Cdx.Contrib.FromNodePackageJson.Types.NodePackageJson

const builder = new Cdx.Contrib.FromNodePackageJson.Builders.ComponentBuilder(
  new Cdx.Contrib.FromNodePackageJson.Factories.ExternalReferenceFactory(),
  new Cdx.Contrib.License.Factories.LicenseFactory(parseLicence)
)

/** The folder of the package that a file is of; the program itself and its own packages are one. */
const folderOf = (file: string): string => /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(file)?.[0] ?? ""

/** The packages of which something is in the program, and for each those that its files import. */
export const packagesOf = ({ inputs, outputs }: Metafile): ReadonlyMap<string, ReadonlySet<string>> => {
  const taken = Object.values(outputs).flatMap(({ inputs }) =>
    Object.entries(inputs).flatMap(([file, { bytesInOutput }]) => (bytesInOutput > 0 ? [file] : []))
  )
  const packages = new Map(taken.map((file) => [folderOf(file), new Set<string>()]))
  // All files count, because nothing remains of a file that only re-exports.
  for (const [file, { imports }] of Object.entries(inputs)) {
    const from = folderOf(file)
    for (const { entryPoint, path } of imports) {
      // A dynamic import is a separate output.
      const to = folderOf(entryPoint ?? path)
      if (to !== from && packages.has(to)) packages.get(from)?.add(to)
    }
  }
  return packages
}

const property = (name: string, value: string) => new Cdx.Models.Property(`homeostat:${name}`, value)

/** Bun, with its executables, which the programs contain, and with the libraries in them. */
const bun = (): Cdx.Models.Component => {
  const { version } = recorded
  const executables = Target.all.map((target) => {
    const name = Executable.nameOf(target)
    return new Cdx.Models.Component(Cdx.Enums.ComponentType.File, name, {
      version,
      bomRef: `bun/${name}@${version}`,
      purl: new PackageURL("npm", "@oven", name, version).toString(),
      hashes: new Cdx.Models.HashDictionary([[Cdx.Enums.HashAlgorithm["SHA-256"], recorded.sha256[target]]]),
      licenses: new Cdx.Models.LicenseRepository([new Cdx.Models.SpdxLicense("MIT")])
    })
  })
  return new Cdx.Models.Component(Cdx.Enums.ComponentType.Platform, "bun", {
    version,
    bomRef: `bun@${version}`,
    purl: new PackageURL("github", "oven-sh", "bun", `bun-v${version}`).toString(),
    licenses: new Cdx.Models.LicenseRepository([new Cdx.Models.SpdxLicense("MIT")]),
    properties: new Cdx.Models.PropertyRepository([property("commit", Bun.revision)]),
    components: new Cdx.Models.ComponentRepository([...executables, ...Native.components()])
  })
}

const component = (root: string, folder: string, type: Cdx.Enums.ComponentType, lock: Lock.Lock) =>
  Effect.gen(function* () {
    const manifest: Manifest = yield* Effect.promise(() => Bun.file(join(root, folder, "package.json")).json())
    const made = builder.makeComponent(manifest, type)
    if (made?.version === undefined) return yield* new NoPackage({ folder })
    made.purl = new PackageURL("npm", made.group, made.name, made.version).toString()
    made.bomRef.value = made.purl
    const name = `${made.group === undefined ? "" : `${made.group}/`}${made.name}@${made.version}`
    const sum = lock.sums.get(name)
    if (sum !== undefined) made.hashes.set(Cdx.Enums.HashAlgorithm["SHA-512"], sum)
    const patch = lock.patches.get(name)
    if (patch !== undefined) made.properties.add(property("patch", patch))
    return made
  })

/** The bill as JSON, sorted: of the same sources, always the same bytes. */
export const make = (root: string, metafile: Metafile, { commit, date }: Sources): Effect.Effect<string, NoPackage> =>
  Effect.gen(function* () {
    const packages = packagesOf(metafile)
    const lock = yield* Lock.read(root)
    const components = new Map<string, Cdx.Models.Component>()
    for (const folder of packages.keys()) {
      const type = folder === "" ? Cdx.Enums.ComponentType.Application : Cdx.Enums.ComponentType.Library
      components.set(folder, yield* component(root, folder, type, lock))
    }
    for (const [folder, needs] of packages) {
      for (const need of needs) {
        const needed = components.get(need)
        if (needed !== undefined) components.get(folder)?.dependencies.add(needed.bomRef)
      }
    }
    const bill = new Cdx.Models.Bom()
    const program = components.get("")
    const platform = bun()
    if (program !== undefined) {
      program.dependencies.add(platform.bomRef)
      program.properties.add(property("commit", commit))
      bill.metadata.component = program
    }
    if (date !== undefined) bill.metadata.timestamp = new Date(date)
    bill.metadata.lifecycles.add(Cdx.Enums.LifecyclePhase.Build)
    bill.components.add(platform)
    for (const [folder, one] of components) if (folder !== "") bill.components.add(one)
    const serializer = new Cdx.Serialize.JsonSerializer(new Cdx.Serialize.JSON.Normalize.Factory(Cdx.Spec.Spec1dot6))
    const text = () => `${serializer.serialize(bill, { sortLists: true, space: 2 })}\n`
    // The same bill has the same number.
    bill.serialNumber = `urn:uuid:${Bun.randomUUIDv5(text(), "url")}`
    return text()
  })
