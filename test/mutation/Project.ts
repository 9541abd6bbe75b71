/** Finds the files of a project for a run of mutations. */
import { readdir, stat } from "node:fs/promises"
import { join, relative, resolve } from "node:path"
import * as Process from "@homeostat/testkit/envtest/Process"
import { Data, Effect } from "effect"

/** A path does not exist, has no source of the product, or git failed. */
export class Unusable extends Data.TaggedError("Unusable")<{ readonly message: string }> {}

/** The folders of the product. */
export const folders: ReadonlyArray<string> = [
  ...["runtime/src", "controllers", "observability/src"],
  ...["test/apiserver", "test/cluster/controllers", "test/cluster/kubelet"]
]

const isWithin = (folder: string, file: string): boolean => folder === "" || `${file}/`.startsWith(`${folder}/`)

/** Returns true for a source of the product. Tests, fixtures, declarations and programs that generate files do not count. */
export const isProduct = (file: string): boolean =>
  folders.some((folder) => isWithin(folder, file)) &&
  file.endsWith(".ts") &&
  !/\.(test|fixture|d)\.ts$|\/(fixtures|node_modules|dist)\//.test(file)

/** Returns the paths of all TypeScript files of a project, sorted. */
export const filesOf = async (root: string): Promise<ReadonlyArray<string>> => {
  const found: Array<string> = []
  const visit = async (folder: string): Promise<void> => {
    for (const entry of await readdir(join(root, folder), { withFileTypes: true })) {
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`
      if (entry.isDirectory() && !isForeign(entry.name)) await visit(path)
      else if (entry.isFile() && entry.name.endsWith(".ts")) found.push(path)
    }
  }
  await visit("")
  return found.sort()
}

/** Returns true for a folder of git, of packages, or of build output. */
export const isForeign = (name: string): boolean => [".git", ".homeostat", "dist", "node_modules"].includes(name)

const git = (root: string, ...args: ReadonlyArray<string>): Effect.Effect<string, Unusable> =>
  Effect.flatMap(Process.run("git", ["-C", root, ...args]), ({ exitCode, stderr, stdout }) =>
    exitCode === 0
      ? Effect.succeed(stdout)
      : new Unusable({ message: `git ${args.join(" ")} failed: ${stderr.trim()} (name files, and give --seed)` })
  )

/** Returns a seed that depends only on the files of the commit, so it is the same in every checkout. Fails without git. */
export const seedOfCommit = (root: string): Effect.Effect<number, Unusable> =>
  Effect.map(git(root, "rev-parse", "HEAD^{tree}"), (tree) => Number.parseInt(tree.slice(0, 7), 16))

/** Returns the sources of the product among some files and folders. Fails for a path without one. */
export const named = (root: string, paths: ReadonlyArray<string>): Effect.Effect<ReadonlyArray<string>, Unusable> =>
  Effect.gen(function* () {
    const all = (yield* Effect.promise(() => filesOf(root))).filter(isProduct)
    const chosen = new Set<string>()
    for (const path of paths) {
      const place = relative(root, resolve(root, path))
      const within = all.filter((file) => isWithin(place, file))
      if (within.length === 0) {
        const known = yield* Effect.promise(() => stat(join(root, place)).then(...[() => true, () => false]))
        const problem = known ? "holds no source of the product" : "does not exist"
        return yield* new Unusable({ message: `${path}: ${problem} (sources are in ${folders.join(", ")})` })
      }
      for (const file of within) chosen.add(file)
    }
    return [...chosen]
  })

/** Returns the sources that differ from a commit, including uncommitted changes. Fails without git. */
export const changedSince = (root: string, base: string): Effect.Effect<ReadonlyArray<string>, Unusable> =>
  Effect.gen(function* () {
    const changed = yield* git(root, "diff", "--name-only", "--no-renames", "--diff-filter=d", "-z", base, "--")
    const untracked = yield* git(root, "ls-files", "--others", "--exclude-standard", "-z")
    return [...new Set((changed + untracked).split("\0"))].filter(isProduct).sort()
  })

/**
 * Returns the sources that changed since the merge base with `origin/main`. Without a merge base or a change, it returns those of the
 * last commit.
 */
export const changed = (
  root: string
): Effect.Effect<{ readonly base: string; readonly files: ReadonlyArray<string> }, Unusable> =>
  Effect.gen(function* () {
    const upstream = yield* Effect.option(git(root, "merge-base", "HEAD", "origin/main"))
    if (upstream._tag === "Some") {
      const base = upstream.value.trim()
      const files = yield* changedSince(root, base)
      if (files.length > 0) return { base: `${base.slice(0, 12)}, the merge base with origin/main`, files }
    }
    return { base: "HEAD~1", files: yield* changedSince(root, "HEAD~1") }
  })
