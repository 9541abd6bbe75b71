/**
 * `webhook NAME` adds admission rules with their tests to the module of a controller. The rules compile, pass their tests, and `run
 * --webhooks` serves them.
 *
 * The verb checks everything before it writes.
 */
import { join } from "node:path"
import * as Flags from "@homeostat/runtime/command/Flags"
import * as Verb from "@homeostat/runtime/command/Verb"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { FileSystem } from "effect/FileSystem"
import * as Result from "effect/Result"
import * as Change from "./Change.ts"
import * as Listing from "./Listing.ts"
import * as Names from "./Names.ts"
import * as Root from "./Root.ts"
import * as Templates from "./Templates.ts"
import * as Webhook from "./Webhook.ts"

const refused = (message: string) => new Verb.UsageError({ message })

/** The spec of the first object of a kind in a file with YAML; undefined if the file has no object of the kind. */
const specIn = (text: string, kind: string): Result.Result<unknown, string> => {
  try {
    const objects: ReadonlyArray<unknown> = [Bun.YAML.parse(text)].flat()
    const found = objects.find(
      (each) => typeof each === "object" && each !== null && "kind" in each && each.kind === kind
    )
    return found === undefined
      ? Result.fail(`has no ${kind}`)
      : Result.succeed(Reflect.get(Object(found), "spec") ?? {})
  } catch (error) {
    return Result.fail(`is not YAML (${error instanceof Error ? error.message : String(error)})`)
  }
}

/** The controller of a name or a kind, in any case. */
const controllerOf = (word: string, existing: ReadonlyArray<Change.Existing>): Change.Existing | undefined => {
  const name = word.toLowerCase()
  return (
    existing.find((each) => each.name === name) ?? existing.find((each) => each.resource.kind.toLowerCase() === name)
  )
}

const make = (root: string, { name, resource }: Change.Existing) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem
    const read = (path: string) => fs.readFileString(join(root, path))
    const { kind } = resource
    const folder = `controllers/${name}`
    const needed = (path: string, hint: string) =>
      Effect.flatMap(fs.exists(join(root, path)), (exists) =>
        exists ? Effect.void : refused(`${path} does not exist: ${hint}`)
      )
    yield* needed(`${folder}/package.json`, `write the rules of ${kind} in its module, as in docs/webhooks.md`)
    for (const path of [`${folder}/admission.ts`, `${folder}/admission.test.ts`]) {
      if (yield* fs.exists(join(root, path))) {
        return yield* refused(
          `${path} exists already: add the rules there, as in docs/webhooks.md, or remove it with its import in controllers/main.ts`
        )
      }
    }
    yield* needed(`${folder}/${kind}.ts`, `the rules import the kind ${kind} from this file`)
    const sample = `deploy/samples/${name}.yaml`
    yield* needed(sample, `write ${Names.articled(kind)} there, which the tests create`)
    const spec = specIn(yield* read(sample), kind)
    if (Result.isFailure(spec)) {
      return yield* refused(`${sample} ${spec.failure}: write ${Names.articled(kind)} there, which the tests create`)
    }
    const files = Webhook.files({ ...resource, name, spec: spec.success })
    const [, from] = /"name": *"([^"]*)"/.exec(yield* read(`${folder}/package.json`)) ?? []
    if (from === undefined) return yield* refused(`${folder}/package.json has no name: add it`)
    const entry = Listing.ofWebhooks({ package: from, variable: Names.variableOf(kind) })
    const main = Listing.add(yield* read(Change.mainFile), entry)
    if (Result.isFailure(main)) return yield* refused(`${Change.mainFile} ${main.failure}`)
    const manifest = Root.read(yield* read("package.json"))
    if (Result.isFailure(manifest)) return yield* new Change.NotMade({ message: `package.json ${manifest.failure}` })
    yield* Change.make(root, {
      files,
      edits: new Map([[Change.mainFile, main.success]]),
      added: [...files.keys()],
      installs: false,
      generates: manifest.success.scripts.generate !== undefined
    })
  })

const nextSteps = ({ name, resource: { kind } }: Change.Existing): string =>
  [
    `Created webhooks for ${kind} in controllers/${name}/admission.ts, and added them to ${Change.mainFile}. Next:`,
    "",
    Templates.columns([
      [`  bun test controllers/${name}/admission.test.ts`, "their tests, on the embedded cluster"],
      ["  bun run check", "types, lint, format"],
      ["  bun controllers/main.ts rbac --webhooks", "the permissions that they need"]
    ]),
    "",
    `Replace the rules in controllers/${name}/admission.ts by your own. docs/webhooks.md continues from here.`
  ].join("\n")

/**
 * The verb.
 *
 * @param root the folder of the repository
 * @param existing loads the controllers of its program; help does not need them
 */
export const verb = (root: string, existing: () => Promise<ReadonlyArray<Change.Existing>>) =>
  Verb.make("webhook", {
    description: "Write admission rules with their tests for a controller: webhook NAME",
    words: { placeholder: "NAME", most: 1 },
    flags: {},
    run: (_, [word]) =>
      Effect.gen(function* () {
        if (word === undefined) return yield* refused("a controller is required: webhook NAME, such as webapp")
        const controllers = yield* Change.loaded(existing)
        const found = controllerOf(word, controllers)
        if (found === undefined) {
          return yield* refused(
            Flags.unknownController(
              word,
              controllers.map(({ name }) => name)
            )
          )
        }
        yield* make(root, found)
        yield* Console.log(nextSteps(found))
      })
  })
