/** Rules of style that the linter lacks. */
import { expect, test } from "bun:test"
import { join } from "node:path"
import { Glob } from "bun"
import { all, root } from "./Modules.ts"

const lines = all.map(({ file, text }) => ({ file, lines: text.split("\n") }))

test("every export has a comment", () => {
  const undocumented = lines.flatMap(({ file, lines }) =>
    lines.flatMap((line, index) => {
      const name = /^export (?:declare )?(?:abstract )?(?:const|function|class|interface|type|namespace) (\w+)/.exec(
        line
      )?.[1]
      if (name === undefined) return []
      // One comment is enough for a type and a value of the same name, and for overloads.
      const described = (at: number): boolean => /\*\/\s*$/.test(lines[at - 1] ?? "")
      const twin = lines.findIndex(
        (other, at) =>
          at !== index &&
          new RegExp(`^export (?:const|function|class|interface|type) ${name}\\b`).test(other) &&
          described(at)
      )
      return described(index) || twin >= 0 ? [] : [`${file}:${index + 1} ${name}`]
    })
  )
  expect(undocumented).toEqual([])
})

test("every module begins with a comment", () => {
  const undocumented = lines.flatMap(({ file, lines }) => (lines[0]?.startsWith("/**") ? [] : [file]))
  expect(undocumented).toEqual([])
})

test("a file has at most 450 lines", () => {
  const long = lines.flatMap(({ file, lines }) => {
    const length = lines.length - 1
    return length > 450 ? [`${file}: ${length} lines`] : []
  })
  expect(long).toEqual([])
})

test("only Effect's Clock reads the time, and only entry points run effects", () => {
  const forbidden =
    /\bDate\.now\(\)|performance\.now\(\)|new Date\(\)|\bsetTimeout\(|\bsetInterval\(|Effect\.run(Promise|Sync|Fork|Callback)|Runtime\.run(Promise|Sync|Fork)/
  const found = lines
    .filter(({ file }) => /^(runtime|controllers|observability)\//.test(file))
    .flatMap(({ file, lines }) =>
      lines.flatMap((line, index) => (forbidden.test(line) ? [`${file}:${index + 1} ${line.trim()}`] : []))
    )
  expect(found).toEqual([])
})

/** Every module with tests. */
const texts = await Promise.all(
  [...new Glob("{controllers,observability,runtime,test}/**/*.test.ts").scanSync(root)]
    .filter((file) => !file.includes("node_modules"))
    .map(async (file) => ({ file, text: await Bun.file(join(root, file)).text() }))
)

test("every property uses the seed of the tests", () => {
  const count = (text: string, pattern: RegExp) => text.match(pattern)?.length ?? 0
  const properties = texts.map(({ file, text }) => ({
    file,
    drawn: count(text, /\bFastCheck\.(assert|sample)\(/g),
    seeded: count(text, /\bseed: Seed\.current\(\)/g)
  }))
  expect(properties.filter(({ drawn, seeded }) => drawn !== seeded)).toEqual([])
  expect(properties.filter(({ drawn }) => drawn > 0).length).toBeGreaterThan(5)
})

test("no test is skipped or expected to fail", () => {
  const found = texts.flatMap(({ file, text }) =>
    Array.from(
      text.matchAll(/\b(?:test|it|describe)(?:\.\w+)*\.(?:only|skip|todo|failing|if|skipIf|todoIf)\b/g),
      ([call]) => `${file} ${call}`
    )
  )
  expect(found.filter((one) => !one.startsWith("test/lanes/Batch.test.ts "))).toEqual([])
})

test("no comment disables a rule", () => {
  const found = lines.flatMap(({ file, lines }) =>
    lines.flatMap((line, index) =>
      /@ts-ignore|@ts-nocheck|biome-ignore|@effect-diagnostics/.test(line)
        ? [`${file}:${index + 1} ${line.trim()}`]
        : []
    )
  )
  expect(found).toEqual([])
})
