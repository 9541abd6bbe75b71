/** Mutants on trial in a small project of their own. */
import { describe, expect } from "bun:test"
import { mkdir, readFile, stat, symlink, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import * as Directory from "@homeostat/testkit/envtest/Directory"
import { live } from "@homeostat/testkit/Test"
import { Deferred, Duration, Effect, Fiber } from "effect"
import * as Imports from "./Imports.ts"
import type { Mutant } from "./Mutant.ts"
import * as Project from "./Project.ts"
import * as Report from "./Report.ts"
import * as Trial from "./Trial.ts"

const testOf = (name: string, path: string, ...expectations: ReadonlyArray<string>): string =>
  `import { expect, test } from "bun:test"
import * as Subject from "${path}"
test("${name}", () => {
${expectations.map((expectation) => `  expect(Subject.${expectation})\n`).join("")}})
`

/** The files of the project. The tests miss the boundary of `isRich`, and no test imports `Lonely.ts`. */
const files: { readonly [path: string]: string } = {
  "runtime/src/Money.ts": `export const isRich = (cents: number): boolean => cents >= 100
export const count = (coins: number): number => {
  let counted = 0
  while (counted < coins) counted++
  return counted
}
export const zero = 0
`,
  "runtime/src/Lonely.ts": "export const lonely = 1\n",
  "runtime/src/Program.ts": "process.exit(0)\n",
  "test/suites/Program.test.ts": 'Bun.spawnSync(["bun", "runtime/src/Program.ts"])\n',
  "runtime/src/Money.test.ts": testOf(
    "beside",
    "./Money.ts",
    "isRich(99)).toBe(false",
    "isRich(200)).toBe(true",
    "count(3)).toBe(3"
  ),
  "runtime/src/Purse.ts": 'import * as Money from "./Money.ts"\nexport const empty = Money.zero\n',
  "runtime/src/Purse.test.ts": testOf("of the folder", "./Purse.ts", "empty).toBe(0"),
  "test/suites/Far.cluster.test.ts": testOf("far away", "../../runtime/src/Purse.ts", "empty).toBe(0"),
  "test/suites/Broken.test.ts": testOf("always fails", "../../runtime/src/Purse.ts", "empty).toBe(1"),
  "test/suites/Never.real.test.ts": testOf("of the real lane", "../../runtime/src/Purse.ts", "empty).toBe(1")
}

const project = Effect.tap(Directory.make, (root) =>
  Effect.promise(async () => {
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(root, path)), { recursive: true })
      await writeFile(join(root, path), text)
    }
  })
)

/** The texts of the project's files, and the times of their last write. */
const stateOf = (root: string) =>
  Effect.promise(async () => {
    const found = await Project.filesOf(root)
    return Promise.all(
      found.map(async (path) => {
        const { mtimeMs } = await stat(join(root, path))
        return { path, mtimeMs, text: await readFile(join(root, path), "utf8") }
      })
    )
  })

const money = (id: string, from: string, to: string, test?: string): Mutant => ({
  id,
  file: "runtime/src/Money.ts",
  from,
  to,
  test
})

const outcomeOf = (root: string, mutants: ReadonlyArray<Mutant>, report: Trial.Options["report"]) =>
  Effect.gen(function* () {
    const all = yield* Effect.promise(() => Project.filesOf(root))
    return yield* Trial.run({
      root,
      mutants,
      tests: all.filter(Imports.isTest),
      testsOf: yield* Effect.promise(() => Imports.read(root, all)),
      limit: Duration.seconds(60),
      jobs: 1,
      patience: Duration.seconds(1),
      report
    })
  })

/** Tries mutants, and returns the lines of the report with the outcome. */
const tried = (root: string, ...mutants: ReadonlyArray<Mutant>) => {
  const lines: Array<string> = []
  const report = (one: Trial.Tried) => Effect.sync(() => void lines.push(Report.line(one)))
  return Effect.map(outcomeOf(root, mutants, report), (outcome) => ({ lines, outcome }))
}

/** The timeout of a test in milliseconds. Each test starts several processes, and the machine may be busy. */
const patience = 60_000

describe("A trial", () => {
  live(
    "reports for each mutant which test killed it, or that it survived",
    () =>
      Effect.gen(function* () {
        const root = yield* project
        const before = yield* stateOf(root)
        const { lines, outcome } = yield* tried(
          root,
          money("beside", "cents >= 100", "cents < 100"),
          money("boundary", "cents >= 100", "cents > 100"),
          money("folder", "zero = 0", "zero = 1"),
          money("endless", "counted++", "counted--"),
          money("gone", "cents <= 100", "cents < 100"),
          { id: "lonely", file: "runtime/src/Lonely.ts", from: "1", to: "2" }
        )
        expect(lines).toEqual([
          "beside killed runtime/src/Money.ts:1 …umber): boolean => cents >= 100 → …umber): boolean => cents < 100 (by runtime/src/Money.test.ts: beside)",
          "boundary survived runtime/src/Money.ts:1 …mber): boolean => cents >= 100 → …mber): boolean => cents > 100 (3 of 4 test files passed)",
          "folder killed runtime/src/Money.ts:7 export const zero = 0 → export const zero = 1 (by runtime/src/Purse.test.ts: of the folder)",
          "endless timed out runtime/src/Money.ts:4 …(counted < coins) counted++ → …(counted < coins) counted-- (in runtime/src/Money.test.ts)",
          "gone stale runtime/src/Money.ts (the file does not hold the replaced text exactly once)",
          "lonely survived runtime/src/Lonely.ts:1 export const lonely = 1 → export const lonely = 2 (no test reaches the file)"
        ])
        expect(Report.summary(outcome)).toBe(`
Survived:
  boundary runtime/src/Money.ts:1 (3 of 4 test files passed)
    - export const isRich = (cents: number): boolean => cents >= 100
    + export const isRich = (cents: number): boolean => cents > 100
  lonely runtime/src/Lonely.ts:1 (no test reaches the file)
    - export const lonely = 1
    + export const lonely = 2

Not tried, since the file does not hold the replaced text exactly once:
  gone runtime/src/Money.ts

Test files that fail without a mutation, and were not used:
  test/suites/Broken.test.ts: always fails

3 of 5 mutants killed (60.0 %): 2 by a failing test, 1 by a timeout, 0 by the type check alone; 2 survived`)
        expect(yield* stateOf(root)).toEqual(before)
      }),
    patience
  )

  live(
    "refuses a mutant that passes its tests and not the type check",
    () =>
      Effect.gen(function* () {
        const root = yield* project
        const own = join(import.meta.dir, "../../node_modules")
        yield* Effect.promise(() => symlink(own, join(root, "node_modules")))
        const settings = {
          compilerOptions: { noEmit: true, strict: true, types: [] },
          files: ["runtime/src/Lonely.ts"]
        }
        yield* Effect.promise(() => writeFile(join(root, "tsconfig.json"), JSON.stringify(settings)))
        const lonely = (id: string, to: string): Mutant => ({
          id,
          file: "runtime/src/Lonely.ts",
          from: "lonely = 1",
          to
        })
        const { lines, outcome } = yield* tried(root, lonely("1", "lonely: string = 1"), lonely("2", "lonely = 2"))
        expect(lines[0]).toContain("(by the type check: runtime/src/Lonely.ts(1,14): error TS2322: ")
        expect(lines[1]).toEndWith("(no test reaches the file)")
        expect(Report.summary(outcome)).toEndWith(
          "1 of 2 mutants killed (50.0 %): 0 by a failing test, 0 by a timeout, 1 by the type check alone; 1 survived"
        )

        yield* Effect.promise(() => writeFile(join(root, "runtime/src/Lonely.ts"), "const lonely = 1\nlonely.wrong\n"))
        const { lines: later, outcome: unusable } = yield* tried(root, lonely("3", "lonely = 2"))
        expect(later[0]).toEndWith("(no test reaches the file)")
        expect(unusable.failing).toMatchObject([{ file: "tsconfig.json" }])
      }),
    patience
  )

  live(
    "begins with the tests that a mutant names",
    () =>
      Effect.gen(function* () {
        const { lines } = yield* tried(yield* project, money("1", "zero = 0", "zero = 1", "suites/Far"))
        expect(lines.join("\n")).toContain("(by test/suites/Far.cluster.test.ts: far away)")
      }),
    patience
  )

  live(
    "that is interrupted leaves the project as it was",
    () =>
      Effect.gen(function* () {
        const root = yield* project
        const before = yield* stateOf(root)
        const begun = yield* Deferred.make<void>()
        const mutants = [money("1", "zero = 0", "zero = 1"), money("2", "counted++", "counted--")]
        const report = () => Effect.asVoid(Deferred.succeed(begun, undefined))
        const fiber = yield* Effect.forkChild(Effect.scoped(outcomeOf(root, mutants, report)))
        yield* Deferred.await(begun)
        yield* Fiber.interrupt(fiber)
        expect(yield* stateOf(root)).toEqual(before)
      }),
    patience
  )
})

describe("The tests of a source", () => {
  live("are those that reach it: the one beside it, then its folder's, then others, and none of the real lane", () =>
    Effect.gen(function* () {
      const root = yield* project
      const testsOf = yield* Effect.promise(async () => Imports.read(root, await Project.filesOf(root)))
      expect(testsOf("runtime/src/Money.ts")).toEqual([
        "runtime/src/Money.test.ts",
        "runtime/src/Purse.test.ts",
        "test/suites/Broken.test.ts",
        "test/suites/Far.cluster.test.ts"
      ])
      expect(testsOf("runtime/src/Program.ts")).toEqual(["test/suites/Program.test.ts"])
    })
  )

  live("run the fastest first where several are equally near", () =>
    Effect.gen(function* () {
      const root = yield* project
      yield* Effect.promise(async () => {
        for (const name of ["A", "B", "C"]) {
          await writeFile(join(root, `test/suites/${name}.test.ts`), 'import "../../runtime/src/Lonely.ts"\n')
        }
        const durations = { unit: { "test/suites/A.test.ts": 9, "test/suites/B.test.ts": 5 } }
        await mkdir(join(root, "test/lanes"))
        await writeFile(join(root, "test/lanes/durations.json"), JSON.stringify(durations))
      })
      const testsOf = yield* Effect.promise(async () => Imports.read(root, await Project.filesOf(root)))
      expect(testsOf("runtime/src/Lonely.ts")).toEqual([
        "test/suites/C.test.ts",
        "test/suites/B.test.ts",
        "test/suites/A.test.ts"
      ])
    })
  )
})

describe("The sources of a path", () => {
  live("are those of the product, without tests", () =>
    Effect.gen(function* () {
      const root = yield* project
      expect(yield* Project.named(root, ["runtime/src/Purse.ts"])).toEqual(["runtime/src/Purse.ts"])
      expect(yield* Project.named(root, ["runtime"])).toEqual([
        "runtime/src/Lonely.ts",
        "runtime/src/Money.ts",
        "runtime/src/Program.ts",
        "runtime/src/Purse.ts"
      ])
    })
  )

  for (const [path, problem] of [
    ["runtime/src/Money.test.ts", "holds no source of the product"],
    ["runtime/src/Nothing.ts", "does not exist"]
  ] as const) {
    live(`make an error of ${path}, which ${problem}`, () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(Project.named(yield* project, [path]))
        expect(error.message).toStartWith(`${path}: ${problem} (`)
      })
    )
  }
})
