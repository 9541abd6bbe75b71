/** The tests that reach a source, nearest first. A file reaches those that it imports, and the programs that it names. */
import { readFile } from "node:fs/promises"
import { basename, dirname, join, relative } from "node:path"

/** Finds the tests of a source. */
export type TestsOf = (file: string) => ReadonlyArray<string>

/** Whether a file holds tests of the unit or the embedded lane. */
export const isTest = (file: string): boolean => file.endsWith(".test.ts") && !file.endsWith(".real.test.ts")

const transpiler = new Bun.Transpiler({ loader: "ts" })

/** Paths of TypeScript files in quotes: a test starts such a program in a process of its own. */
const named = /["'`]([\w./-]+\.ts)["'`]/g

/** The files that a file needs when it runs. Imports of types do not count. */
const importsOf = async (root: string, file: string): Promise<ReadonlyArray<string>> => {
  const text = await readFile(join(root, file), "utf8")
  const folder = dirname(join(root, file))
  try {
    const imported = transpiler.scanImports(text).flatMap(({ path }) => {
      try {
        return [relative(root, Bun.resolveSync(path, folder))]
      } catch {
        // A module of another installation, or one that a fixture invents.
        return []
      }
    })
    return [...imported, ...Array.from(text.matchAll(named), ([, path = ""]) => path)]
  } catch {
    // A fixture that is broken on purpose.
    return []
  }
}

/**
 * 0 for the test of the source's own name beside it, 1 for others that begin with it, 2 for others of its folder, 3 for those of a
 * suite with the folder's name, 4 for the rest.
 */
const rankOf = (test: string, source: string): number => {
  const [folder, name] = [dirname(source), basename(source, ".ts")]
  if (dirname(test) !== folder) return basename(dirname(test)) === basename(folder) ? 3 : 4
  if (basename(test) === `${name}.test.ts`) return 0
  return basename(test).startsWith(`${name}.`) ? 1 : 2
}

/**
 * Reads the imports of a project once.
 *
 * @param files all TypeScript files of the project
 */
export const read = async (root: string, files: ReadonlyArray<string>): Promise<TestsOf> => {
  const importers = new Map<string, Array<string>>()
  await Promise.all(
    files.map(async (file) => {
      for (const target of await importsOf(root, file)) {
        const known = importers.get(target)
        if (known === undefined) importers.set(target, [file])
        else known.push(file)
      }
    })
  )
  return (source) => {
    const distances = new Map([[source, 0]])
    for (const [file, distance] of distances) {
      for (const importer of importers.get(file) ?? []) {
        if (!distances.has(importer)) distances.set(importer, distance + 1)
      }
    }
    const order = ([test, distance]: readonly [string, number]): ReadonlyArray<number> => [
      rankOf(test, source),
      distance,
      test.endsWith(".cluster.test.ts") ? 1 : 0
    ]
    return [...distances]
      .filter(([file]) => isTest(file))
      .sort((one, other) => {
        const [first, second] = [order(one), order(other)]
        const at = first.findIndex((value, index) => value !== second[index])
        return at < 0 ? (one[0] < other[0] ? -1 : 1) : (first[at] ?? 0) - (second[at] ?? 0)
      })
      .map(([test]) => test)
  }
}
