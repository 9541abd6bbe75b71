import { describe, expect, test } from "bun:test"
import * as Duration from "effect/Duration"
import * as Result from "effect/Result"
import * as Flag from "./Flag.ts"

const flags = {
  file: Flag.text("file", { placeholder: "FILE", description: "A file" }),
  names: Flag.list("name", {
    placeholder: "NAME",
    description: "Names",
    check: (name) => (name === "wrong" ? Result.fail(`"${name}" is not a name`) : Result.succeed(name))
  }),
  period: Flag.duration("sync-period", { description: "How often", otherwise: "10h", atLeast: "1s" }),
  level: Flag.choice(
    "level",
    { low: 1, high: 2 },
    { placeholder: "LEVEL", description: "How much", otherwise: undefined }
  ),
  install: Flag.toggle("install", { description: "Install first" })
}

const program = "homeostat"

const read = (args: ReadonlyArray<string>, environment: { readonly [name: string]: string } = {}) =>
  Result.getOrThrowWith(Flag.read(flags, { program, args, environment }), (message) => new Error(message)).values

const refusal = (args: ReadonlyArray<string>, environment: { readonly [name: string]: string } = {}) =>
  Result.getOrUndefined(Result.flip(Flag.read(flags, { program, args, environment })))

describe("Flags", () => {
  test("have their defaults if they are absent", () => {
    expect(read([])).toEqual({
      file: undefined,
      names: [],
      period: Duration.hours(10),
      level: undefined,
      install: false
    })
  })

  test("take their value from the next argument or after an equals sign", () => {
    expect(read(["--file", "a"]).file).toBe("a")
    expect(read(["--file=a=b"]).file).toBe("a=b")
    expect(read(["--file", "-"]).file).toBe("-")
  })

  test("have a short form, also in one argument with their value", () => {
    const short = { namespace: Flag.short("n", Flag.text("namespace", { placeholder: "NAME", description: "Where" })) }
    const readShort = (...args: ReadonlyArray<string>) =>
      Result.map(Flag.read(short, { program, args, environment: {} }), ({ values }) => values)
    for (const args of [["-n", "a"], ["-n=a"], ["-na"], ["--namespace", "a"], ["--namespace=a"]]) {
      expect(readShort(...args)).toEqual(Result.succeed({ namespace: "a" }))
    }
    expect(readShort("-x", "a")).toEqual(Result.fail("unknown flag: -x"))
    expect(readShort("-n")).toEqual(Result.fail("value required: --namespace NAME"))
    expect(Flag.describe(Object.values(short), 80)).toEqual(["  -n, --namespace NAME  Where"])
  })

  test("may have an alias, which works without a warning", () => {
    const dir = { dir: Flag.aliased("cert-path", Flag.text("cert-dir", { placeholder: "DIR", description: "Where" })) }
    for (const args of [["--cert-path=a"], ["--cert-path", "a"], ["--cert-dir=a"]]) {
      expect(Flag.read(dir, { program, args, environment: {} })).toEqual(
        Result.succeed({ values: { dir: "a" }, words: [], deprecated: [] })
      )
    }
  })

  test("may have a limited number of positional arguments beside them", () => {
    const beside = (most: number, ...args: ReadonlyArray<string>) =>
      Result.map(Flag.read(flags, { program, args, environment: {} }, most), ({ values, words }) => [
        values.file,
        ...words
      ])
    expect(beside(2, "a", "--file", "f", "b")).toEqual(Result.succeed(["f", "a", "b"]))
    expect(beside(1, "a", "--file", "f", "b")).toEqual(Result.fail(`unexpected argument: "b"`))
  })

  test("have the last value if they are repeated; lists have all values", () => {
    expect(read(["--file", "a", "--file", "b"]).file).toBe("b")
    expect(read(["--name", "a", "--name", "b, c,"]).names).toEqual(["a", "b", "c"])
  })

  test("that are switches take a value only after an equals sign", () => {
    expect(read(["--install", "--file", "a"])).toMatchObject({ install: true, file: "a" })
    for (const word of ["false", "0"]) expect(read([`--install=${word}`]).install).toBe(false)
    for (const word of ["true", "1"]) expect(read([`--install=${word}`]).install).toBe(true)
    expect(refusal(["--install=perhaps"])).toBe(`--install: invalid value: "perhaps" (must be true or false)`)
  })

  test("can be environment variables, and the command line has precedence", () => {
    const environment = { HOMEOSTAT_SYNC_PERIOD: "1m30s", HOMEOSTAT_NAME: "a,b", HOMEOSTAT_INSTALL: "true" }
    expect(read([], environment)).toMatchObject({ period: Duration.seconds(90), names: ["a", "b"], install: true })
    expect(read(["--name", "c", "--install=false"], environment)).toMatchObject({ names: ["c"], install: false })
    expect(read([], { HOMEOSTAT_FILE: "" }).file).toBeUndefined()
    const other = Flag.read(flags, { program: "my-sites", args: [], environment: { MY_SITES_FILE: "a" } })
    expect(Result.getOrThrow(other).values.file).toBe("a")
  })

  test("still work under a deprecated name, with a warning", () => {
    const renamed = { file: Flag.renamed("path", flags.file) }
    const ask = (args: ReadonlyArray<string>, environment: { readonly [name: string]: string } = {}) =>
      Result.getOrThrow(Flag.read(renamed, { program, args, environment }))
    const warning = "--path is deprecated (use --file)"
    expect(ask(["--path", "a"])).toMatchObject({ values: { file: "a" }, deprecated: [warning] })
    expect(ask(["--path=a"])).toMatchObject({ values: { file: "a" }, deprecated: [warning] })
    expect(ask(["--file=--path"])).toMatchObject({ values: { file: "--path" }, deprecated: [] })
    expect(ask([], { HOMEOSTAT_PATH: "a" })).toMatchObject({
      values: { file: "a" },
      deprecated: ["HOMEOSTAT_PATH is deprecated (use HOMEOSTAT_FILE)"]
    })
    expect(ask([], { HOMEOSTAT_PATH: "a", HOMEOSTAT_FILE: "b" })).toMatchObject({
      values: { file: "b" },
      deprecated: []
    })
  })

  test("that are invalid are rejected with the flag, or the variable that the value came from", () => {
    expect(refusal(["--sync-period", "5x"])).toBe(
      `--sync-period: invalid duration: "5x" (write it like 15s, 1m30s or 10h)`
    )
    expect(refusal([], { HOMEOSTAT_SYNC_PERIOD: "0s" })).toBe(
      `HOMEOSTAT_SYNC_PERIOD: invalid duration: "0s" (must be at least 1s)`
    )
    expect(refusal(["--level", "toString"])).toBe(`--level: invalid value: "toString" (must be one of low, high)`)
    expect(refusal(["--name", "right,wrong"])).toBe(`--name: "wrong" is not a name`)
  })

  test("of a choice accept only its words", () => {
    expect(read(["--level", "high"]).level).toBe(2)
    expect(refusal([], { HOMEOSTAT_LEVEL: "none" })).toBe(
      `HOMEOSTAT_LEVEL: invalid value: "none" (must be one of low, high)`
    )
  })

  test("are described in two columns", () => {
    const { file, install, level } = flags
    expect(Flag.describe([Flag.short("f", file), install, level], 80)).toEqual([
      "  -f, --file FILE    A file",
      "      --install      Install first",
      "      --level LEVEL  How much"
    ])
    const long = { ...level, description: "How much of it, in words that need three lines" }
    expect(Flag.describe([long], 40)).toEqual([
      "      --level LEVEL  How much of it, in",
      "                     words that need",
      "                     three lines"
    ])
  })

  test("a missing value, an unknown flag and too many arguments have different messages", () => {
    expect(refusal(["--file"])).toBe("value required: --file FILE")
    expect(refusal(["--file", "--install"])).toBe("value required: --file FILE")
    expect(refusal(["--fil", "a"])).toBe("unknown flag: --fil")
    expect(refusal(["-f", "a"])).toBe("unknown flag: -f")
    expect(refusal(["more"])).toBe(`unexpected argument: "more"`)
  })
})
