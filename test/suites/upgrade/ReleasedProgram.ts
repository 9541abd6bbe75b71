/**
 * The program and the mover of release 0.1.0, from the commit that the release was built from. They run from their sources with this Bun.
 * Only the packages of the lockfile of that commit are needed besides.
 */
import { existsSync } from "node:fs"
import { mkdtemp, rename, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as AtEnd from "@homeostat/testkit/envtest/AtEnd"
import type * as Program from "@homeostat/testkit/kubelet/Program"
import { Effect, type Scope } from "effect"
import * as Mover from "../../Mover.ts"
import type * as Scene from "../backup/Scene.ts"
import * as Binary from "../binary/Binary.ts"
import * as Running from "../binary/Running.ts"

/** The commit of the release. Its version is 0.1.0. */
const commit = "6b54700f321ea6a08812aaf126224561b8aac933"

const root = join(import.meta.dir, "../../..")

const testRun = process.env.HOMEOSTAT_TEST_FOLDER

/** Runs a command to its end, or fails with its output. */
const command = async (cwd: string, ...args: readonly [string, ...ReadonlyArray<string>]): Promise<void> => {
  const child = Bun.spawn([...args], { cwd, stdio: ["ignore", "pipe", "pipe"] })
  const [out, err, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited])
  if (code !== 0) throw new Error(`${args.join(" ")} ended with ${code}: ${out}${err}`)
}

let made: Promise<string> | undefined

const make = async (): Promise<string> => {
  const shared = join(testRun ?? "", "released-0.1.0")
  if (testRun !== undefined && existsSync(shared)) return shared
  const folder = await mkdtemp(join(testRun ?? tmpdir(), "homeostat-released-"))
  if (testRun === undefined) {
    AtEnd.add(() => {
      made = undefined
      return rm(folder, { recursive: true, force: true })
    })
  }
  // The clone has the objects of this repository, which needs the history back to the release.
  await command(root, "git", "clone", "--quiet", "--shared", "--no-checkout", root, folder)
  await command(folder, "git", "checkout", "--quiet", "--detach", commit)
  await command(
    folder,
    process.execPath,
    "install",
    "--frozen-lockfile",
    "--production",
    "--ignore-scripts",
    "--silent"
  )
  if (testRun === undefined) return folder
  // Two processes may do this at the same time. The first one to end shares its folder with the others.
  const isShared = await rename(folder, shared).then(
    () => true,
    () => false
  )
  if (!isShared) await rm(folder, { recursive: true, force: true })
  return shared
}

/** The folder of the release. The first test that uses it waits some seconds for its packages. */
export const folder: Effect.Effect<string> = Effect.promise(() => {
  made ??= make()
  return made
})

/** The image of the released mover. */
export const image = `${Mover.image}:0.1.0`

/** The released mover, for the images of a node. */
export const mover =
  (released: string) =>
  (restic: string): Program.Program =>
    Mover.program(restic, ["sh", join(released, "controllers/backup/mover/mover.sh")])

/**
 * Starts the released program for the namespace of a scene. It ends as in a rolling update at the end of the scope.
 *
 * @param moverImage default: its own
 */
export const start = (
  { cluster, directory, namespace }: Scene.Scene,
  moverImage: string = image
): Effect.Effect<Running.Running, never, Scope.Scope> =>
  Effect.gen(function* () {
    const released = yield* folder
    const running = yield* Running.start(
      [
        process.execPath,
        join(released, "controllers/main.ts"),
        "run",
        `--kubeconfig=${cluster.admin.kubeconfigPath}`,
        `--namespace=${namespace}`
      ],
      {
        ...Binary.bare(directory),
        HOMEOSTAT_BACKUP_MOVER_IMAGE: moverImage,
        HOMEOSTAT_BACKUP_RETRY_PERIOD: "1s",
        HOMEOSTAT_BACKUP_PREFLIGHT_TIMEOUT: "5s"
      }
    )
    // It still sends its Events.
    yield* Effect.addFinalizer(() =>
      Effect.andThen(running.signal("SIGTERM"), Effect.orDie(running.ended("20 seconds")))
    )
    return running
  })
