/**
 * `controller KIND --group GROUP` generates a workspace module with a kind, its controller, tests, a sample and a page. The module
 * compiles, passes its tests, and the program runs it.
 *
 * The verb checks everything before it writes. Then it writes and lists the module, updates the lockfile and the generated files, and
 * formats everything. If a step fails or is interrupted, the verb restores all files.
 */
import { dirname, join } from "node:path"
import { FileSystem } from "@effect/platform/FileSystem"
import * as Flag from "@homeostat/runtime/command/Flag"
import * as Verb from "@homeostat/runtime/command/Verb"
import * as CustomResource from "@homeostat/runtime/resource/CustomResource"
import * as Console from "effect/Console"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Files from "./Files.ts"
import * as Listing from "./Listing.ts"
import * as Names from "./Names.ts"
import * as Root from "./Root.ts"
import * as Snapshot from "./Snapshot.ts"
import * as Templates from "./Templates.ts"

/** The controller cannot be generated. The message is one line with what to do. */
export class NotMade extends Data.TaggedError("NotMade")<{ readonly message: string }> {}

/** An existing controller of the program. */
interface Existing {
  readonly name: string
  readonly resource: { readonly group: string; readonly kind: string; readonly plural: string }
}

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

const mainFile = "controllers/main.ts"

/** The existing paths that the verb writes. You can edit other files at the same time. */
const touched = [
  mainFile,
  "package.json",
  "bun.lock",
  "deploy/crds",
  "deploy/rbac",
  "deploy/components/lockdown",
  "docs/metrics.md",
  "docs/reference"
]

/** The conflict of the names with existing ones, if any. */
const clash = (names: Names.Names, existing: ReadonlyArray<Existing>): string | undefined => {
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

const resourceText = ({ resource }: Existing): string => `${resource.kind}.${resource.group}`

/** Runs a program of the workspace to its end. The error has its output. */
const ran = (root: string, what: string, command: ReadonlyArray<string>) =>
  Effect.acquireUseRelease(
    Effect.try(() => {
      const child = Bun.spawn([process.execPath, ...command], { cwd: root, stdio: ["ignore", "pipe", "pipe"] })
      // The output ends with the last child process.
      const end = Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text(), child.exited])
      return { child, end }
    }),
    ({ end }) => Effect.tryPromise(() => end),
    // After an interruption, files are restored only when the program has ended.
    ({ child, end }) =>
      Effect.promise(() => {
        child.kill("SIGINT")
        return end.catch(() => child.exited)
      })
  ).pipe(
    Effect.mapError(({ error }) => {
      const why = error instanceof Error ? error.message : String(error)
      return new NotMade({ message: `${what}: ${why}; everything is as before` })
    }),
    Effect.flatMap(([out, err, code]) => {
      if (code === 0) return Effect.void
      const text = `${out}${err}`.trim().split("\n").slice(-20).join("\n")
      return new NotMade({ message: `${what} ended with ${code}; everything is as before. It wrote:\n${text}` })
    })
  )

/** The names of the workspace's modules, which are taken. */
const packagesIn = (root: string) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem
    const folders = (yield* fs.readDirectory(join(root, "controllers"))).map((name) => `controllers/${name}`)
    const found = yield* Effect.forEach([...folders, "runtime", "observability", "test/cluster"], (folder) =>
      Effect.option(fs.readFileString(join(root, folder, "package.json")))
    )
    return found.flatMap((text) => (text._tag === "Some" ? [/"name": *"([^"]*)"/.exec(text.value)?.[1]] : []))
  })

const make = (root: string, existing: ReadonlyArray<Existing>, names: Names.Names) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem
    const read = (path: string) => fs.readFileString(join(root, path))
    const clashes = clash(names, existing)
    if (clashes !== undefined) return yield* new Verb.UsageError({ message: clashes })
    if ((yield* packagesIn(root)).includes(names.package)) {
      return yield* new Verb.UsageError({ message: `${names.package} is a module already: choose another kind` })
    }
    const manifest = Either.mapLeft(Root.read(yield* read("package.json")), (why) => `package.json ${why}`)
    if (Either.isLeft(manifest)) return yield* new NotMade({ message: manifest.left })
    const files = Files.of(names, manifest.right.version)
    for (const path of [`controllers/${names.name}`, ...files.keys()]) {
      if (yield* fs.exists(join(root, path))) {
        return yield* new Verb.UsageError({ message: `${path} exists already: choose another kind, or remove it` })
      }
    }
    const main = Either.mapLeft(Listing.add(yield* read(mainFile), names), (why) => `${mainFile} ${why}`)
    if (Either.isLeft(main)) return yield* new Verb.UsageError({ message: main.left })

    const restore = yield* Snapshot.take(touched.map((path) => join(root, path)))
    const added = [`controllers/${names.name}`, `deploy/samples/${names.name}.yaml`, `node_modules/${names.package}`]
    const removals = added.map((path) => fs.remove(join(root, path), { recursive: true, force: true }))
    const undo = Effect.orDie(Snapshot.each([restore, ...removals]))
    yield* Effect.gen(function* () {
      for (const [path, text] of files) {
        yield* fs.makeDirectory(dirname(join(root, path)), { recursive: true })
        yield* fs.writeFileString(join(root, path), text)
      }
      yield* fs.writeFileString(join(root, mainFile), main.right)
      yield* fs.writeFileString(join(root, "package.json"), Root.add(manifest.right, names))
      yield* ran(root, "bun install", ["install", "--prefer-offline"])
      // Without linting, which covers the whole project: a test checks that generated files pass.
      const formatted = [mainFile, "package.json", ...files.keys()]
      yield* ran(root, "biome", ["x", "--bun", "biome", "check", "--write", "--linter-enabled=false", ...formatted])
      // The generated files of deploy/ and docs/.
      if (manifest.right.scripts.generate !== undefined) yield* ran(root, "bun run generate", ["run", "generate"])
    }).pipe(Effect.onError(() => undo))
  })

const nextSteps = ({ kind, name }: Names.Names): string =>
  [
    `The controller of ${kind} is there: controllers/${name}, listed in ${mainFile}. Next:`,
    "",
    Templates.columns([
      [`  bun test controllers/${name}`, "its tests, on the embedded cluster"],
      ["  bun run check", "types, lint, format"],
      ["  bun controllers/main.ts run --install-crds", "runs it, on the cluster of your kubeconfig"],
      [`  kubectl apply -f deploy/samples/${name}.yaml`]
    ]),
    "",
    `Begin with controllers/${name}/${kind}.ts, where the fields are; docs/guide goes on from here.`
  ].join("\n")

/**
 * The verb.
 *
 * @param root the folder of the repository
 * @param existing loads the controllers of its program; help does not need them
 */
export const verb = (root: string, existing: () => Promise<ReadonlyArray<Existing>>) =>
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
        if (Either.isLeft(valid)) return yield* new Verb.UsageError({ message: valid.left })
        if (group === undefined) {
          const message = "--group: required (the API group of the kind, a domain such as cache.example.com)"
          return yield* new Verb.UsageError({ message })
        }
        const names = Names.of({ ...wanted, kind, group })
        const controllers = yield* Effect.tryPromise({
          try: existing,
          catch: (error) =>
            new NotMade({
              message: `${mainFile} can't be loaded, fix it first: ${error instanceof Error ? error.message : String(error)}`
            })
        })
        yield* make(root, controllers, names)
        yield* Console.log(nextSteps(names))
      })
  })
