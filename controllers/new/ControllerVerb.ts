/**
 * `controller KIND --group GROUP` generates a workspace module with a kind, its controller, tests, a sample and a page. The module
 * compiles, passes its tests, and the program runs it.
 *
 * The verb checks everything before it writes.
 */
import { join } from "node:path"
import * as Flag from "@homeostat/runtime/command/Flag"
import * as Verb from "@homeostat/runtime/command/Verb"
import * as CustomResource from "@homeostat/runtime/resource/CustomResource"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { FileSystem } from "effect/FileSystem"
import * as Result from "effect/Result"
import * as Change from "./Change.ts"
import * as Files from "./Files.ts"
import * as Listing from "./Listing.ts"
import * as Names from "./Names.ts"
import * as Root from "./Root.ts"
import * as Templates from "./Templates.ts"

const flags = {
  group: Flag.parsed("group", {
    placeholder: "GROUP",
    description: "The API group of the kind, a domain such as cache.example.com",
    parse: Names.groupOf,
    otherwise: undefined
  }),
  version: Flag.parsed("version", {
    placeholder: "VERSION",
    description: "The API version of the kind (default v1alpha1)",
    parse: Names.versionOf,
    otherwise: "v1alpha1"
  }),
  plural: Flag.parsed("plural", {
    placeholder: "WORD",
    description: "The plural of the kind (default the English plural)",
    parse: Names.pluralOf,
    otherwise: undefined
  })
}

/** The conflict of the names with existing ones, if any. */
const clash = (names: Names.Names, existing: ReadonlyArray<Change.Existing>): string | undefined => {
  const plural = names.plural ?? CustomResource.pluralOf(names.kind)
  const same = existing.find(
    ({ name, resource }) =>
      name === names.name ||
      resource.kind.toLowerCase() === names.name ||
      (resource.group === names.group && resource.plural === plural)
  )
  return same === undefined
    ? undefined
    : `the controller ${same.name} of ${resourceText(same)} has that name already: choose another kind`
}

const resourceText = ({ resource }: Change.Existing): string => `${resource.kind}.${resource.group}`

/** The names of the workspace's modules, which are taken. */
const packagesIn = (root: string) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem
    const folders = (yield* fs.readDirectory(join(root, "controllers"))).map((name) => `controllers/${name}`)
    const found = yield* Effect.forEach(
      [...folders, "runtime", "observability", "test/apiserver", "test/cluster"],
      (folder) => Effect.option(fs.readFileString(join(root, folder, "package.json")))
    )
    return found.flatMap((text) => (text._tag === "Some" ? [/"name": *"([^"]*)"/.exec(text.value)?.[1]] : []))
  })

const make = (root: string, existing: ReadonlyArray<Change.Existing>, names: Names.Names) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem
    const read = (path: string) => fs.readFileString(join(root, path))
    const clashes = clash(names, existing)
    if (clashes !== undefined) return yield* new Verb.UsageError({ message: clashes })
    if ((yield* packagesIn(root)).includes(names.package)) {
      return yield* new Verb.UsageError({ message: `${names.package} is a module already: choose another kind` })
    }
    const manifest = Result.mapError(Root.read(yield* read("package.json")), (why) => `package.json ${why}`)
    if (Result.isFailure(manifest)) return yield* new Change.NotMade({ message: manifest.failure })
    const files = Files.of(names, manifest.success.version)
    for (const path of [`controllers/${names.name}`, ...files.keys()]) {
      if (yield* fs.exists(join(root, path))) {
        return yield* new Verb.UsageError({ message: `${path} exists already: choose another kind, or remove it` })
      }
    }
    const main = Result.mapError(
      Listing.add(yield* read(Change.mainFile), Listing.ofController(names)),
      (why) => `${Change.mainFile} ${why}`
    )
    if (Result.isFailure(main)) return yield* new Verb.UsageError({ message: main.failure })

    yield* Change.make(root, {
      files,
      edits: new Map([
        [Change.mainFile, main.success],
        ["package.json", Root.add(manifest.success, names)]
      ]),
      added: [`controllers/${names.name}`, `deploy/samples/${names.name}.yaml`, `node_modules/${names.package}`],
      installs: true,
      generates: manifest.success.scripts.generate !== undefined
    })
  })

const nextSteps = ({ kind, name }: Names.Names): string =>
  [
    `Created controllers/${name} with the kind ${kind}, and added it to ${Change.mainFile}. Next:`,
    "",
    Templates.columns([
      [`  bun test controllers/${name}`, "its tests, on the embedded cluster"],
      ["  bun run check", "types, lint, format"],
      ["  bun controllers/main.ts run --install-crds", "runs it, on the cluster of your kubeconfig"],
      [`  kubectl apply -f deploy/samples/${name}.yaml`]
    ]),
    "",
    `The fields are in controllers/${name}/${kind}.ts. docs/guide/site.md continues from here.`
  ].join("\n")

/**
 * The verb.
 *
 * @param root the folder of the repository
 * @param existing loads the controllers of its program; help does not need them
 */
export const verb = (root: string, existing: () => Promise<ReadonlyArray<Change.Existing>>) =>
  Verb.make("controller", {
    description: "Write a module with a kind, its controller, tests and a sample: controller KIND --group GROUP",
    words: { placeholder: "KIND", most: 1 },
    flags,
    run: ({ group, ...wanted }, [kind]) =>
      Effect.gen(function* () {
        if (kind === undefined) {
          return yield* new Verb.UsageError({ message: "a kind is required: controller KIND, such as Cache" })
        }
        const valid = Names.kindOf(kind)
        if (Result.isFailure(valid)) return yield* new Verb.UsageError({ message: valid.failure })
        if (group === undefined) {
          const message = "--group: required (the API group of the kind, a domain such as cache.example.com)"
          return yield* new Verb.UsageError({ message })
        }
        const names = Names.of({ ...wanted, kind, group })
        const controllers = yield* Change.loaded(existing)
        yield* make(root, controllers, names)
        yield* Console.log(nextSteps(names))
      })
  })
