import { describe, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Flag from "./Flag.ts"
import * as Setting from "./Setting.ts"
import * as Verb from "./Verb.ts"

const program = { name: "prog", version: "1.2.3", description: "A program" }

const run = Verb.make("run", {
  description: "Run it",
  flags: { speed: Flag.text("max-speed", { placeholder: "KMH", description: "How fast" }) },
  run: () => Effect.void
})
const stop = Verb.make("stop", { description: "Stop it", flags: {}, run: () => Effect.void })

const ask = (...args: ReadonlyArray<string>): string =>
  Result.match(Verb.select(program, [run, stop], args, 80), {
    onFailure: ({ message }) => `wrong: ${message}`,
    onSuccess: (request) =>
      request._tag === "Print" ? request.text : `${request.verb.name}(${request.args.join(" ")})`
  })

describe("A command line", () => {
  test("names a command, and the following arguments belong to the command", () => {
    expect(ask("run", "--max-speed", "3")).toBe("run(--max-speed 3)")
  })

  test("with an unknown command fails with the list of commands", () => {
    expect(ask("help", "nothing")).toBe(`wrong: unknown command: "nothing" (must be one of run, stop)`)
    expect(ask("runn")).toBe(`wrong: unknown command: "runn" (must be one of run, stop)`)
  })

  test("with a flag before the command fails with its place", () => {
    for (const args of [["--max-speed", "3", "run"], ["--max-speed=3"]]) {
      expect(ask(...args)).toBe("wrong: unknown flag: --max-speed (write it after a command: prog run --max-speed)")
    }
    expect(ask("-x", "run")).toBe("wrong: unknown flag: -x (see prog --help)")
  })

  test("prints help without a command, and wherever `--help` is", () => {
    for (const args of [[], ["help"], ["--help"], ["-h"], ["help", "help"], ["nothing", "--help"]]) {
      expect(ask(...args)).toBe(
        [
          "A program",
          "",
          "Usage:",
          "  prog [command]",
          "",
          "Available Commands:",
          "  run   Run it",
          "  stop  Stop it",
          "",
          "Flags:",
          "  -h, --help     Help for prog",
          "      --version  Print the version",
          "",
          'Use "prog [command] --help" for more information about a command.'
        ].join("\n")
      )
    }
    for (const args of [
      ["help", "run"],
      ["run", "-h"],
      ["run", "--nonsense", "--help"]
    ]) {
      expect(ask(...args)).toBe(
        [
          "Run it",
          "",
          "Usage:",
          "  prog run [flags]",
          "",
          "Flags:",
          "      --max-speed KMH  How fast",
          "  -h, --help           Help for run",
          "",
          "Environment variables set flags too: --max-speed is PROG_MAX_SPEED."
        ].join("\n")
      )
    }
    expect(ask("stop", "--help")).toBe("Stop it\n\nUsage:\n  prog stop [flags]\n\nFlags:\n  -h, --help  Help for stop")
  })

  test("prints the variables of the controllers below the flags", () => {
    const load = Setting.make("PROG_LOAD", { description: "How much", otherwise: "2t", parse: Result.succeed })
    const color = Setting.make("PROG_COLOR_OF_IT", { description: "Which", otherwise: "red", parse: Result.succeed })
    const flags = { speed: Flag.text("max-speed", { placeholder: "KMH", description: "How fast" }) }
    const set = Verb.make("run", { description: "Run it", flags, settings: { load, color }, run: () => Effect.void })
    const request = Result.getOrThrow(Verb.select(program, [set], ["run", "--help"], 80))
    expect(request._tag === "Print" ? request.text.split("\n").slice(-4) : []).toEqual([
      "",
      "Environment variables of the controllers:",
      "  PROG_LOAD         How much (default 2t)",
      "  PROG_COLOR_OF_IT  Which (default red)"
    ])
  })

  test("prints examples with the name of the program", () => {
    const set = Verb.make("run", {
      description: "Run it",
      flags: {},
      examples: [["Run.", "run --all"]],
      run: () => Effect.void
    })
    const request = Result.getOrThrow(Verb.select(program, [set], ["run", "--help"], 80))
    expect(request._tag === "Print" ? request.text : "").toContain(
      "\nExamples:\n  # Run.\n  prog run --all\n\nFlags:\n"
    )
  })

  test("names the flag that an unknown flag resembles", () => {
    const input = { program: "prog", environment: {} }
    const refusal = (flag: string) => Effect.runSync(Effect.flip(run.run({ ...input, args: [flag] }))).message
    expect(refusal("--zap-max-speed=3")).toBe(
      "unknown flag: --zap-max-speed (did you mean --max-speed? or see prog run --help)"
    )
    expect(refusal("--speed")).toBe("unknown flag: --speed (did you mean --max-speed? or see prog run --help)")
    expect(refusal("--peed=3")).toBe("unknown flag: --peed (see prog run --help)")
  })

  test("prints the version", () => {
    expect(ask("--version")).toBe("prog 1.2.3")
  })
})
