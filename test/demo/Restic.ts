/**
 * The restic of the demo: a program of this machine or, with `--backup`, one that Go builds from its module, once.
 *
 * The demo looks for it in this order: `RESTIC_BIN`, the `PATH`, `KUBEBUILDER_ASSETS`, and the folder that
 * `test/cluster/envtest/assets/build` builds into. The demo does not use a restic that is too old for the mover.
 */
import { join } from "node:path"
import * as Assets from "@homeostat/testkit/envtest/Assets"
import * as Process from "@homeostat/testkit/envtest/Process"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type { Narrator } from "./Narrator.ts"

/** This machine has no restic for the mover. The message is one line, and ends with what to do. */
export class NoRestic extends Data.TaggedError("NoRestic")<{ readonly message: string }> {}

const advice =
  "install restic 0.17.1 or newer (https://restic.net) or name it by RESTIC_BIN; with Go 1.26 or newer on the PATH, --backup builds it once"

const none = (why: string) => new NoRestic({ message: `${why}: ${advice}` })

/** Returns true if restic has the exit codes that the mover needs: 0.17.1 and later. */
export const isUsable = (version: string): boolean => {
  const [, major = "0", minor = "0", patch = "0"] = /^restic (\d+)\.(\d+)\.(\d+)/.exec(version) ?? []
  const [found, least] = [[major, minor, patch].map(Number), [0, 17, 1]]
  const at = found.findIndex((part, index) => part !== least[index])
  return at === -1 || (found[at] ?? 0) > (least[at] ?? 0)
}

/** The folder that the build recipe of the assets builds into; undefined if the user has no home. */
const builtIn = ({ HOME = "", HOMEOSTAT_ASSETS = "", XDG_CACHE_HOME = "" }: NodeJS.ProcessEnv): string | undefined => {
  if (HOMEOSTAT_ASSETS !== "") return HOMEOSTAT_ASSETS
  const cache = XDG_CACHE_HOME === "" ? (HOME === "" ? undefined : join(HOME, ".cache")) : XDG_CACHE_HOME
  return cache === undefined ? undefined : join(cache, "homeostat", "assets", "v1")
}

const usable = (path: string) =>
  Effect.map(
    // The shell exits with an error for a path that it cannot execute.
    Process.run(path, ["version"]),
    ({ exitCode, stdout }) => exitCode === 0 && isUsable(stdout)
  )

/** The path of a restic that the mover can use. */
export const find = (environment: NodeJS.ProcessEnv): Effect.Effect<string, NoRestic> =>
  Effect.gen(function* () {
    const own = environment.RESTIC_BIN ?? ""
    if (own !== "") {
      if (yield* usable(own)) return own
      return yield* none(`RESTIC_BIN names ${own}, which the mover cannot use`)
    }
    const folder = builtIn(environment)
    const asset = yield* Effect.option(Assets.find("restic"))
    const places = [
      Bun.which("restic", { PATH: environment.PATH ?? "" }),
      asset._tag === "Some" ? asset.value : null,
      folder === undefined ? null : Bun.which("restic", { PATH: folder })
    ].filter((path) => path !== null)
    const path = yield* Effect.findFirst(places, usable)
    if (path._tag === "Some") return path.value
    return yield* none(places.length === 0 ? "this machine has no restic" : `${places[0]} is older than 0.17.1`)
  })

/**
 * Builds restic with Go in the background. Fails with `missing` if Go, bash or a folder to build into is missing.
 * Returns an effect that waits for the program.
 */
export const build = (narrator: Narrator, environment: NodeJS.ProcessEnv, missing: NoRestic) =>
  Effect.gen(function* () {
    const folder = builtIn(environment)
    const PATH = environment.PATH ?? ""
    if (folder === undefined || Bun.which("go", { PATH }) === null || Bun.which("bash", { PATH }) === null) {
      return yield* missing
    }
    yield* narrator.report("cluster", `builds restic from its Go module meanwhile, once, into ${folder}: about 90 s`)
    const building = yield* Effect.forkScoped(Process.run(join(Assets.folder, "build"), ["restic"]))
    return Effect.gen(function* () {
      const isOver = building.pollUnsafe() !== undefined
      if (!isOver) yield* narrator.report("cluster", "waits for Go, which still builds restic")
      const { exitCode, stderr } = yield* Fiber.join(building)
      if (exitCode === 0) return join(folder, "restic")
      return yield* none(`Go could not build restic (${stderr.trim().split("\n").at(-1)})`)
    })
  })
