import { describe, expect, test } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Cause from "effect/Cause"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import * as FiberRefs from "effect/FiberRefs"
import * as HashMap from "effect/HashMap"
import * as List from "effect/List"
import type * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Logs from "./Logs.ts"

const options = (over: Partial<Logger.Logger.Options<unknown>>): Logger.Logger.Options<unknown> => ({
  fiberId: FiberId.none,
  logLevel: LogLevel.Info,
  message: ["Reconciled"],
  cause: Cause.empty,
  context: FiberRefs.empty(),
  spans: List.empty(),
  annotations: HashMap.empty(),
  date: new Date("2026-11-20T14:05:31.042Z"),
  ...over
})

const about = HashMap.make(["object", "Widget shop/cart"], ["controller", "widgets"], ["attempt", 2])

describe("a line for machines", () => {
  const line = (over: Partial<Logger.Logger.Options<unknown>>) => Logs.json.log(options(over))
  const read = (over: Partial<Logger.Logger.Options<unknown>>): unknown => JSON.parse(line(over))

  test("is one JSON object, with what it is about as fields beside the message", () => {
    expect(read({ logLevel: LogLevel.Warning, annotations: about })).toEqual({
      time: "2026-11-20T14:05:31.042Z",
      level: "warn",
      msg: "Reconciled",
      controller: "widgets",
      object: "Widget shop/cart",
      attempt: 2
    })
  })
  test("stays one line, whatever it says", () => {
    const message = ["first\nsecond", { nested: ["a\nb"] }]
    expect(line({ message })).not.toContain("\n")
    expect(read({ message })).toMatchObject({ msg: 'first\nsecond {"nested":["a\\nb"]}' })
  })
  test("says what an error says, as message, annotation or cause", () => {
    expect(read({ message: ["A listener threw", new Error("boom")] })).toMatchObject({
      msg: "A listener threw Error: boom"
    })
    expect(read({ annotations: HashMap.make(["error", new Error("boom")]) })).toMatchObject({ error: "Error: boom" })
    const cause = Cause.die(new Error("boom"))
    expect(read({ cause })).toMatchObject({ cause: expect.stringContaining("Error: boom") })
  })
  test("does not fail for what JSON has no words for", () => {
    const circular: { self?: unknown } = {}
    circular.self = circular
    expect(read({ message: ["a", 1n, undefined, circular] })).toMatchObject({ msg: expect.stringContaining("a 1") })
    expect(read({ annotations: HashMap.make(["big", 1n], ["circular", circular]) })).toMatchObject({ big: "1" })
  })
  test("keeps its own fields, though an annotation has the same name", () => {
    const annotations = HashMap.make(["msg", "mine"], ["level", "mine"], ["time", "mine"])
    expect(read({ annotations })).toMatchObject({ msg: "Reconciled", level: "info", time: "2026-11-20T14:05:31.042Z" })
  })
})

describe("a line for people", () => {
  const line = (over: Partial<Logger.Logger.Options<unknown>>, colour = false) =>
    Logs.pretty({ colour }).log(options(over))

  test("has time, level and message in columns, and then what it is about", () => {
    expect(line({})).toBe("14:05:31.042 INFO  Reconciled")
    const text = line({ logLevel: LogLevel.Error, annotations: about })
    expect(text).toStartWith("14:05:31.042 ERROR Reconciled ")
    expect(text).toContain(' object="Widget shop/cart"')
    expect(text).toContain(" controller=widgets")
    expect(text).toContain(" attempt=2")
  })
  test("quotes what could be read wrongly", () => {
    const annotations = HashMap.make(["a", "x=y"], ["b", 'say "so"'], ["c", ""])
    for (const field of ['a="x=y"', 'b="say \\"so\\""', 'c=""']) expect(line({ annotations })).toContain(field)
  })
  test("says what an error says", () => {
    expect(line({ message: ["A listener threw", new Error("boom")] })).toEndWith("A listener threw Error: boom")
  })
  test("puts what takes several lines below", () => {
    expect(line({ annotations: HashMap.make(["cause", "Error: boom\n    at x"]) })).toEndWith("\nError: boom\n    at x")
  })
  test("is coloured by its level, where asked", () => {
    expect(line({ logLevel: LogLevel.Warning }, true)).toContain("\u001b[33mWARN \u001b[0m")
    expect(line({ logLevel: LogLevel.Warning })).not.toContain("\u001b")
  })
})

describe("the log", () => {
  for (const format of ["json", "pretty"] as const) {
    effect(`goes to standard error as ${format}, from its level on`, () =>
      Effect.gen(function* () {
        const lines: Array<string> = []
        const { console: real } = yield* Effect.console.pipe(Effect.map((console) => ({ console })))
        const error = (...parts: ReadonlyArray<unknown>) => Effect.sync(() => void lines.push(parts.join(" ")))
        const unsafe = { ...real.unsafe, error: (...parts: ReadonlyArray<unknown>) => void lines.push(parts.join(" ")) }
        yield* Effect.logDebug("small").pipe(
          Effect.zipRight(Effect.logWarning("large")),
          Effect.annotateLogs("controller", "widgets"),
          Effect.provide(Logs.layer({ format, level: LogLevel.Info, colour: false })),
          Console.withConsole({ ...real, error, unsafe })
        )
        expect(lines).toHaveLength(1)
        expect(lines[0]).toContain("large")
        expect(lines[0]?.startsWith("{")).toBe(format === "json")
      })
    )
  }
})
