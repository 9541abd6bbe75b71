/**
 * The restic of the demo: one that is here, or one that Go builds from its module, once.
 *
 * Looked for in this order: `RESTIC_BIN`, the `PATH`, `KUBEBUILDER_ASSETS`, and the folder where earlier demos and
 * `test/cluster/envtest/assets/build` have built it. One that is older than the mover can use counts as none.
 */
import { join } from "node:path"
import * as Assets from "@homeostat/testkit/envtest/Assets"
import * as Process from "@homeostat/testkit/envtest/Process"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type { Narrator } from "./Narrator.ts"

/** The demo goes on without it. The message is one line, and ends with how to get it. */
export class NoRestic extends Data.TaggedError("NoRestic")<{ readonly message: string }> {}

const advice =
  "install restic 0.17.1 or newer (https://restic.net), or name it by RESTIC_BIN, or have Go 1.26 or newer on the PATH, which builds it once"

const none = (why: string) => new NoRestic({ message: `${why}: ${advice}` })

/** Whether restic has the exit codes that the mover goes by: from 0.17.1 on. */
export const isUsable = (version: string): boolean => {
  const [, major = "0", minor = "0", patch = "0"] = /^restic (\d+)\.(\d+)\.(\d+)/.exec(version) ?? []
  const [found, least] = [[major, minor, patch].map(Number), [0, 17, 1]]
  const at = found.findIndex((part, index) => part !== least[index])
  return at === -1 || (found[at] ?? 0) > (least[at] ?? 0)
}

/** Where programs are built to: as the recipe has it. Nothing where this user has no home. */
const builtIn = ({ HOME = "", HOMEOSTAT_ASSETS = "", XDG_CACHE_HOME = "" }: NodeJS.ProcessEnv): string | undefined => {
  if (HOMEOSTAT_ASSETS !== "") return HOMEOSTAT_ASSETS
  const cache = XDG_CACHE_HOME === "" ? (HOME === "" ? undefined : join(HOME, ".cache")) : XDG_CACHE_HOME
  return cache === undefined ? undefined : join(cache, "homeostat", "assets", "v1")
}

const usable = (path: string) =>
  Effect.map(
    // Whoever is not executable says so with an exit code.
    Process.run(path, ["version"]),
    ({ exitCode, stdout }) => exitCode === 0 && isUsable(stdout)
  )

/** The restic, as soon as there is one. */
export interface Prepared {
  /** Waits for it where it is being built; interruption ends that. */
  readonly restic: Effect.Effect<string, NoRestic>
}

const found = (path: string): Prepared => ({ restic: Effect.succeed(path) })
const missing = (why: string): Prepared => ({ restic: Effect.fail(none(why)) })

/** Finds restic, or begins to build it, beside the rest of the story. */
export const prepare = (narrator: Narrator, environment: NodeJS.ProcessEnv) =>
  Effect.gen(function* () {
    const own = environment.RESTIC_BIN ?? ""
    if (own !== "") {
      const isUsable = yield* usable(own)
      return isUsable ? found(own) : missing(`RESTIC_BIN names ${own}, which is no restic that the mover can use`)
    }
    const folder = builtIn(environment)
    const asset = yield* Effect.option(Assets.find("restic"))
    const places = [
      Bun.which("restic", { PATH: environment.PATH ?? "" }),
      asset._tag === "Some" ? asset.value : null,
      folder === undefined ? null : Bun.which("restic", { PATH: folder })
    ].filter((path) => path !== null)
    const path = yield* Effect.findFirst(places, usable)
    if (path._tag === "Some") return found(path.value)
    const problem = places.length === 0 ? "there is no restic here" : `${places[0]} is older than 0.17.1`
    const go = Bun.which("go", { PATH: environment.PATH ?? "" })
    if (go === null || folder === undefined || Bun.which("bash") === null) return missing(problem)
    yield* narrator.say("cluster", `builds restic from its Go module meanwhile, once, into ${folder}: about 90 s`)
    const building = yield* Effect.forkScoped(Process.run(join(Assets.folder, "build"), ["restic"]))
    return { restic: built(narrator, building, folder, problem) }
  })

const built = (
  narrator: Narrator,
  building: Fiber.Fiber<Process.Result>,
  folder: string,
  problem: string
): Prepared["restic"] =>
  Effect.gen(function* () {
    const isOver = (yield* Fiber.poll(building))._tag === "Some"
    if (!isOver) yield* narrator.say("cluster", "restic is not built yet: this waits for it")
    const { exitCode, stderr } = yield* Fiber.join(building)
    if (exitCode === 0) return join(folder, "restic")
    return yield* none(`${problem}, and Go could not build it (${stderr.trim().split("\n").at(-1)})`)
  })
