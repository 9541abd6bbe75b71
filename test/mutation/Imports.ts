/**
 * Finds the tests that reach a source, the nearest first, and the fastest of equally near ones. A file reaches the files that it imports
 * and the programs that it names.
 */
import { readFile } from "node:fs/promises"
import { basename, dirname, join, relative } from "node:path"

/** Returns the tests of a source. */
export type TestsOf = (file: string) => ReadonlyArray<string>

/** Returns true if the test file needs the embedded cluster. */
export const isEmbedded = (file: string): boolean => /\.(cluster|embedded)\.test\.ts$/.test(file)

/** Returns true if a file has tests of the lanes unit, embedded or deep. */
export const isTest = (file: string): boolean => /\.test\.ts$/.test(file) && !/\.(real|tools)\.test\.ts$/.test(file)

/** The measured seconds of test files by lane. It lists only files that take at least 3 s. */
const durationsFile = "test/lanes/durations.json"

/** Returns the recorded seconds of a test file, or 1 without a record. */
const secondsIn = async (root: string): Promise<(test: string) => number> => {
  const text = await readFile(join(root, durationsFile), "utf8").catch(() => "{}")
  const lanes: { readonly [lane: string]: { readonly [file: string]: number } } = JSON.parse(text)
  const laneOf = (test: string): string =>
    isEmbedded(test) ? "embedded" : test.endsWith(".deep.test.ts") ? "deep" : "unit"
  return (test) => lanes[laneOf(test)]?.[test] ?? 1
}

const transpiler = new Bun.Transpiler({ loader: "ts" })

/** Paths of TypeScript files in quotes. A test starts such a program in its own process. */
const named = /["'`]([\w./-]+\.ts)["'`]/g

/** The files that a file needs at run time. Type imports do not count. */
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
 * The rank of a test for a source, by their paths; lower is nearer. The order: the same folder and name, the same folder and a name with
 * this prefix, the same folder.
 * After that, the last folder of the source that is also in the test's path counts, such as `cache` of `runtime/src/cache` for
 * `test/suites/cache`.
 */
const rankOf = (test: string, source: string): number => {
  const [folder, name] = [dirname(source), basename(source, ".ts")]
  if (basename(test) === `${name}.test.ts` && dirname(test) === folder) return 0
  if (basename(test).startsWith(`${name}.`) && dirname(test) === folder) return 1
  if (dirname(test) === folder) return 2
  const [folders, others] = [folder.split("/"), dirname(test).split("/")]
  return 3 + folders.length - folders.findLastIndex((one) => others.includes(one))
}

/**
 * Reads the imports of a project once, and returns the function that finds tests.
 *
 * @param files all TypeScript files of the project
 */
export const read = async (root: string, files: ReadonlyArray<string>): Promise<TestsOf> => {
  const seconds = await secondsIn(root)
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
      isEmbedded(test) ? 1 : 0,
      seconds(test)
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
