import { describe, expect, test } from "bun:test"
import * as Build from "./Build.ts"
import * as Version from "./Version.ts"

const program = { name: "prog", version: "1.2.3" }
const build: Build.Build = {
  commit: "0123456789abcdef0123456789abcdef01234567-dirty",
  date: "2026-11-22T10:00:00Z",
  target: "linux-arm64-musl",
  runtime: "bun 1.4.5",
  settings: ["bytecode", "minify"]
}

describe("A program's version", () => {
  test("is the first line, and the build is in the others", () => {
    expect(Version.text({ ...program, build })).toBe(`prog 1.2.3
commit:   0123456789abcdef0123456789abcdef01234567-dirty
date:     2026-11-22T10:00:00Z
target:   linux-arm64-musl
runtime:  bun 1.4.5
settings: bytecode, minify`)
  })

  test("omits unknown fields", () => {
    expect(Version.text({ ...program, build: { ...build, date: undefined } })).not.toContain("date")
    expect(Version.text(program)).toBe("prog 1.2.3")
    expect(JSON.parse(Version.json(program))).toEqual(program)
  })

  test("is an object for programs", () => {
    expect(JSON.parse(Version.json({ ...program, build }))).toEqual({ ...program, ...build })
  })
})

describe("The User-Agent of a program", () => {
  const agent = `prog/1.2.3 (${process.platform}/`

  test("has its name, version and system, and its commit if it is known", () => {
    expect(Build.userAgent(program)).toStartWith(agent)
    expect(Build.userAgent(program)).toEndWith(")")
    expect(Build.userAgent({ ...program, build })).toEndWith(") prog/01234567-dirty")
    expect(Build.userAgent({ ...program, build: { ...build, commit: "unknown" } })).toEndWith(") prog/unknown")
  })

  test("gives the API server the name as the field manager: the text before the first slash", () => {
    expect(Build.userAgent({ ...program, build }).split("/")[0]).toBe("prog")
  })
})

for (const [version, commit, expected] of [
  ["0.2.0-dev", "0123456789abcdef", "0.2.0-dev+01234567"],
  ["0.2.0-dev", "0123456789abcdef-dirty", "0.2.0-dev+01234567-dirty"],
  ["0.2.0-dev", "unknown", "0.2.0-dev"],
  ["0.2.0-dev", undefined, "0.2.0-dev"],
  ["0.2.0", "0123456789abcdef", "0.2.0"]
] as const) {
  test(`A build of ${version} from commit ${commit} is ${expected}`, () =>
    expect(Build.versionOf(version, commit)).toBe(expected))
}
