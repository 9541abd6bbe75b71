/** A copy of a project's working tree, where sources are mutated and tests run. */
import { cp, mkdir, readdir, readlink, symlink } from "node:fs/promises"
import { basename, join } from "node:path"
import * as Directory from "@homeostat/testkit/envtest/Directory"
import * as Process from "@homeostat/testkit/envtest/Process"
import { Effect, type Scope } from "effect"
import { isForeign } from "./Project.ts"

/**
 * Installs the packages of one project for another: each is a link to the folder of the first. Links between the project's own
 * packages are relative, and so lead to those of the second.
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

/** Some tests ask git for the files of the project. The clone borrows the objects of the first repository, and writes nothing there. */
const clone = (root: string, folder: string): Effect.Effect<void> =>
  Effect.asVoid(Process.run("git", ["clone", "--quiet", "--shared", "--no-checkout", root, folder]))

/**
 * Makes a copy of a project for the lifetime of the Scope, and gives its folder. The copy has all files of the working tree but
 * those that were built. It is a repository of its own where the project is one and git is installed.
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
