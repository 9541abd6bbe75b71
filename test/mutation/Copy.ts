/** A copy of a project's working tree, where sources are mutated and tests run. */
import { cp, mkdir, readdir, readlink, symlink } from "node:fs/promises"
import { basename, join } from "node:path"
import * as Directory from "@homeostat/testkit/envtest/Directory"
import * as Process from "@homeostat/testkit/envtest/Process"
import { Effect, type Scope } from "effect"
import { isForeign } from "./Project.ts"

/**
 * Links the packages of one project into another. Each package is a link to the folder of the first project. Links between the project's
 * own packages are relative, so they lead to the packages of the second project.
 */
const install = async (from: string, to: string): Promise<void> => {
  await mkdir(to)
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (entry.isSymbolicLink()) await symlink(await readlink(source), target)
    else if (entry.name.startsWith("@")) await install(source, target)
    else await symlink(source, target)
  }
}

/**
 * Makes a git clone, because some tests need git's list of files. The clone uses the objects of the first repository, and does not write
 * to it.
 */
const clone = (root: string, folder: string): Effect.Effect<void> =>
  Effect.asVoid(Process.run("git", ["clone", "--quiet", "--shared", "--no-checkout", root, folder]))

/**
 * Copies a project for the lifetime of the Scope, and returns the folder. The copy has all files of the working tree except build output.
 * The copy is a git repository if the project is one and git is installed.
 */
export const make = (root: string): Effect.Effect<string, never, Scope.Scope> =>
  Effect.gen(function* () {
    const folder = join(yield* Directory.make, "project")
    yield* clone(root, folder)
    yield* Effect.promise(async () => {
      await cp(root, folder, { recursive: true, filter: (path) => path === root || !isForeign(basename(path)) })
      const entries = await readdir(root)
      if (entries.includes("node_modules")) await install(join(root, "node_modules"), join(folder, "node_modules"))
    })
    yield* Process.run("git", ["-C", folder, "reset", "--quiet"])
    return folder
  })
