/**
 * `bun run build`: the program, its bill of materials and the checksums of both, in `dist`.
 *
 *     bun run build                               dist/homeostat, for this machine
 *     bun run build --all                         dist/homeostat-linux-{x64,arm64}{,-musl}, those of a release
 *     bun run build --target linux-arm64          dist/homeostat-linux-arm64
 *     bun run build --outdir /elsewhere
 *
 * It removes the files of an earlier build first.
 */
import { join, relative, resolve } from "node:path"
import { parseArgs } from "node:util"
import * as NodeRuntime from "@effect/platform-node-shared/NodeRuntime"
import * as Kinds from "@homeostat/runtime/command/Kinds"
import * as CustomResource from "@homeostat/runtime/resource/CustomResource"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { program } from "../controllers/main.ts"
import * as Bill from "./build/Bill.ts"
import * as Compilation from "./build/Compilation.ts"
import * as Dist from "./build/Dist.ts"
import * as Executable from "./build/Executable.ts"
import * as Sources from "./build/Sources.ts"
import * as Target from "./build/Target.ts"

const root = join(import.meta.dir, "..")

/** Ends with one line that says what is wrong. */
const refuse = (message: string): never => {
  process.stderr.write(`build: ${message}\n`)
  process.exit(1)
}

const optionsOf = () => {
  try {
    return parseArgs({
      options: {
        all: { type: "boolean", default: false },
        target: { type: "string", multiple: true, default: [] },
        outdir: { type: "string", default: join(root, "dist") }
      }
    }).values
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error))
  }
}

const values = optionsOf()

const from = process.cwd()
const outdir = resolve(values.outdir)
// Bun names sources by where it was started.
process.chdir(root)

const mebibytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MiB`

const build = Effect.gen(function* () {
  const named = values.all ? Target.released : yield* Effect.forEach(values.target, Target.named)
  const chosen =
    named.length === 0
      ? [{ name: Dist.own, target: yield* Target.host }]
      : named.map((target) => ({ name: Dist.nameOf(target), target }))
  const sources = yield* Sources.of(root, process.env.SOURCE_DATE_EPOCH)
  const wanted = yield* Effect.forEach(chosen, ({ name, target }) =>
    Effect.map(Executable.of(target, root), (executable) => ({ name, target, executable }))
  )
  // `run` does not compile these schemas, so that it starts sooner.
  yield* Effect.forEach(Kinds.of(program), CustomResource.check, { discard: true })
  yield* Dist.prepare(outdir)
  let bill = ""
  for (const { executable, name, target } of wanted) {
    const [entrypoint, file] = ["controllers/main.ts", join(outdir, name)]
    const metafile = yield* Compilation.make({ root, entrypoint, executable, sources, target, file })
    // The same for every system.
    bill = yield* Bill.make(root, metafile, sources)
    yield* Console.log(`${relative(from, file)}  ${target}, ${mebibytes(Bun.file(file).size)}`)
  }
  yield* Dist.finish(
    outdir,
    wanted.map(({ name }) => name),
    bill
  )
})

NodeRuntime.runMain(Effect.catch(build, ({ message }) => Effect.sync(() => refuse(message))))
