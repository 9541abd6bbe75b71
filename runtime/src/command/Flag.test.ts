import { describe, expect, test } from "bun:test"
import * as Duration from "effect/Duration"
import * as Either from "effect/Either"
import * as Flag from "./Flag.ts"

const flags = {
  file: Flag.text("file", { placeholder: "FILE", description: "A file" }),
  names: Flag.list("name", {
    placeholder: "NAME",
    description: "Names",
    check: (name) => (name === "wrong" ? Either.left(`"${name}" is not a name`) : Either.right(name))
  }),
  period: Flag.duration("sync-period", { description: "How often", otherwise: "10h", atLeast: "1s" }),
  level: Flag.choice(
    "level",
    { low: 1, high: 2 },
    { placeholder: "LEVEL", description: "How much", otherwise: undefined }
  ),
  install: Flag.toggle("install", { description: "Install first" })
}

const read = (args: ReadonlyArray<string>, environment: { readonly [name: string]: string } = {}) =>
  Either.getOrThrowWith(Flag.read(flags, args, environment), (message) => new Error(message))

const refusal = (args: ReadonlyArray<string>, environment: { readonly [name: string]: string } = {}) =>
  Either.getOrUndefined(Either.flip(Flag.read(flags, args, environment)))

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
    for (const args of [["-n", "a"], ["-n=a"], ["-na"], ["--namespace", "a"], ["--namespace=a"]]) {
      expect(Flag.read(short, args, {})).toEqual(Either.right({ namespace: "a" }))
    }
    expect(Flag.read(short, ["-x", "a"], {})).toEqual(Either.left("unknown flag: -x"))
    expect(Flag.read(short, ["-n"], {})).toEqual(Either.left("--namespace needs a value: --namespace NAME"))
    expect(Flag.describe(Object.values(short))).toEqual(["  -n, --namespace NAME  Where"])
  })

  test("may have a limited number of positional arguments beside them", () => {
    const beside = (most: number, ...args: ReadonlyArray<string>) =>
      Either.map(Flag.readBeside(most, flags, args, {}), ({ values, words }) => [values.file, ...words])
    expect(beside(2, "a", "--file", "f", "b")).toEqual(Either.right(["f", "a", "b"]))
    expect(beside(1, "a", "--file", "f", "b")).toEqual(Either.left(`unexpected argument: "b"`))
  })

  test("have the last value if they are repeated; lists have all values", () => {
    expect(read(["--file", "a", "--file", "b"]).file).toBe("b")
    expect(read(["--name", "a", "--name", "b, c,"]).names).toEqual(["a", "b", "c"])
  })

  test("that are switches take a value only after an equals sign", () => {
    expect(read(["--install", "--file", "a"])).toMatchObject({ install: true, file: "a" })
    for (const word of ["false", "0"]) expect(read([`--install=${word}`]).install).toBe(false)
    for (const word of ["true", "1"]) expect(read([`--install=${word}`]).install).toBe(true)
    expect(refusal(["--install=perhaps"])).toBe(`--install: "perhaps" is neither true nor false`)
  })

  test("can be environment variables, and the command line has precedence", () => {
    const environment = { HOMEOSTAT_SYNC_PERIOD: "1m30s", HOMEOSTAT_NAME: "a,b", HOMEOSTAT_INSTALL: "true" }
    expect(read([], environment)).toMatchObject({ period: Duration.seconds(90), names: ["a", "b"], install: true })
    expect(read(["--name", "c", "--install=false"], environment)).toMatchObject({ names: ["c"], install: false })
    expect(read([], { HOMEOSTAT_FILE: "" }).file).toBeUndefined()
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
    expect(Flag.describe([Flag.short("f", file), install, level])).toEqual([
      "  -f, --file FILE  A file",
      "  --install        Install first",
      "  --level LEVEL    How much"
    ])
  })

  test("a missing value, an unknown flag and too many arguments have different messages", () => {
    expect(refusal(["--file"])).toBe("--file needs a value: --file FILE")
    expect(refusal(["--file", "--install"])).toBe("--file needs a value: --file FILE")
    expect(refusal(["--fil", "a"])).toBe("unknown flag: --fil")
    expect(refusal(["-f", "a"])).toBe("unknown flag: -f")
    expect(refusal(["more"])).toBe(`unexpected argument: "more"`)
  })
})
