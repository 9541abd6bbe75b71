import { describe, expect, test } from "bun:test"
import * as Recording from "@homeostat/runtime/telemetry/Recording"
import { effect } from "@homeostat/testkit/Test"
import * as Cause from "effect/Cause"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as References from "effect/References"
import * as Tracer from "effect/Tracer"
import * as Logs from "./Logs.ts"

interface Line extends Omit<Logger.Options<unknown>, "fiber"> {
  readonly annotations: Readonly<Record<string, unknown>>
}

/** The text of a line. */
const write = (logger: Logger.Logger<unknown, string>, { annotations = {}, ...over }: Partial<Line>): string => {
  const date = new Date("2026-11-20T14:05:31.042Z")
  const line = Effect.withFiberSucceed((fiber) =>
    logger.log({ fiber, logLevel: "Info", message: ["Reconciled"], cause: Cause.empty, date, ...over })
  )
  return Effect.runSync(Effect.provideService(line, References.CurrentLogAnnotations, annotations))
}

/** Captures the output for standard error. */
const listening =
  (lines: Array<string>) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.flatMap(Console.Console, (real) => {
      const warn = (...parts: ReadonlyArray<unknown>): void => void lines.push(parts.join(" "))
      return Effect.provideService(effect, Console.Console, { ...real, warn })
    })

const about = { object: "Widget shop/cart", controller: "widgets", attempt: 2 }

describe("A JSON line", () => {
  const line = (over: Partial<Line>) => write(Logs.json, over)
  const read = (over: Partial<Line>): unknown => JSON.parse(line(over))

  test("is one object with the annotations as fields", () => {
    expect(read({ logLevel: "Warn", annotations: about })).toEqual({
      time: "2026-11-20T14:05:31.042Z",
      level: "warn",
      msg: "Reconciled",
      controller: "widgets",
      controllerKind: "Widget",
      object: "Widget shop/cart",
      namespace: "shop",
      name: "cart",
      attempt: 2
    })
  })
  test("has its fields in the same order, whatever the order of its annotations", () => {
    const annotations = { reconcileID: "a", controller: "widgets", object: "Node b", attempt: 2 }
    const expected =
      '{"time":"2026-11-20T14:05:31.042Z","level":"info","msg":"Reconciled","controllerKind":"Node","name":"b",' +
      '"attempt":2,"object":"Node b","controller":"widgets","reconcileID":"a"}'
    expect(line({ annotations })).toBe(expected)
    expect(line({ annotations: Object.fromEntries(Object.entries(annotations).toReversed()) })).toBe(expected)
  })
  test("never contains a line break", () => {
    const message = ["first\nsecond", { nested: ["a\nb"] }]
    expect(line({ message })).not.toContain("\n")
    expect(read({ message })).toMatchObject({ msg: 'first\nsecond {"nested":["a\\nb"]}' })
  })
  test("contains the message of an error in the message, annotations or cause", () => {
    expect(read({ message: ["A listener threw", new Error("boom")] })).toMatchObject({
      msg: "A listener threw Error: boom"
    })
    expect(read({ annotations: { error: new Error("boom") } })).toMatchObject({ error: "Error: boom" })
    const cause = Cause.die(new Error("boom"))
    expect(read({ cause })).toMatchObject({
      error: "Error: boom",
      stacktrace: expect.stringMatching(/^Error: boom\n +at /)
    })
  })
  test("redacts secrets in the message, annotations and cause", () => {
    const secret = { kind: "Secret", data: { key: "aHVudGVyMg==" } }
    const cause = Cause.fail(new Error("refused: Bearer hunter2-hunter2"))
    const written = line({ message: ["read", secret], annotations: { secret }, cause })
    expect(written).not.toMatch(/aHVudGVyMg|hunter2/)
    expect(written).toContain("<redacted>")
  })
  test("redacts annotations with secret names, however short their values are", () => {
    const annotations = { password: "hunter2", tokens: 3, secretName: "a" }
    expect(read({ annotations })).toMatchObject({ password: "<redacted>", tokens: 3, secretName: "a" })
    const pretty = write(Logs.pretty({ colour: false }), { annotations })
    expect(pretty).toContain("password=<redacted>")
    expect(pretty).not.toContain("hunter2")
  })
  test("accepts values that JSON does not support", () => {
    const circular: { self?: unknown } = {}
    circular.self = circular
    expect(read({ message: ["a", 1n, undefined, circular] })).toMatchObject({ msg: expect.stringContaining("a 1") })
    expect(read({ annotations: { big: 1n, circular } })).toMatchObject({ big: "1" })
  })
  test("is truncated, and so a message of 1 MB takes little time", () => {
    const begun = process.cpuUsage()
    for (const message of ["a.".repeat(500_000), "eyJaaaaa-".repeat(111_000)]) {
      const written = line({ message, annotations: { note: message } })
      expect(written.length).toBeLessThan(20_000)
      expect(written).toContain(message.slice(0, 8000))
    }
    expect(process.cpuUsage(begun).user / 1000).toBeLessThan(200)
  })
  test("redacts a secret that spans two parts of the message, or the limit", () => {
    expect(read({ message: ["sent Bearer", "hunter2-hunter2"] })).toMatchObject({ msg: "sent Bearer <redacted>" })
    const token = `eyJ${"a".repeat(100)}.${"b".repeat(300)}.${"c".repeat(2000)}`
    const written = line({ message: `${"x ".repeat(4090)}${token}` })
    expect(written).not.toContain("eyJ")
  })
  test("contains no control characters", () => {
    const message = "a\u001b[2Jb\u009b2Jc\u202ed\u2028e\u007f"
    const written = line({ message })
    expect(written).not.toMatch(/[\p{Cc}\u2028\u202e]/u)
    expect(JSON.parse(written)).toMatchObject({ msg: message })
  })
  test("has the kind, namespace and name of its object as fields", () => {
    const fields = (object: string) => read({ annotations: { object } })
    expect(fields("WebApp shop/cart")).toMatchObject({ controllerKind: "WebApp", namespace: "shop", name: "cart" })
    expect(fields("Node a")).toMatchObject({ controllerKind: "Node", name: "a" })
    expect(fields("Node a")).not.toHaveProperty("namespace")
    for (const other of ["a", "two words more", "a b/c/d"]) expect(fields(other)).not.toHaveProperty("name")
  })
  test("keeps its own fields if an annotation has the same name", () => {
    const annotations = { msg: "mine", level: "mine", time: "mine" }
    expect(read({ annotations })).toMatchObject({ msg: "Reconciled", level: "info", time: "2026-11-20T14:05:31.042Z" })
  })
})

describe("A line in a trace", () => {
  const written = (effect: Effect.Effect<unknown>, format: Logs.Format = "json") => {
    const lines: Array<string> = []
    const logger = format === "json" ? Logs.json : Logs.pretty({ colour: false })
    const keeping = Logger.map(logger, (line) => void lines.push(line))
    return Effect.as(Effect.provide(effect, Logger.layer([keeping])), lines)
  }
  const root = () => Recording.root("reconcile widgets", { startTime: 0n, kind: "consumer" })
  const within =
    (span: Tracer.AnySpan) =>
    <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
      effect.pipe(Effect.withParentSpan(span), Effect.withTracer(Recording.tracer))

  effect("has the trace id and the id of the current span", () =>
    Effect.gen(function* () {
      const span = root()
      const [first, second] = yield* written(
        Effect.andThen(Effect.logInfo("outer"), Effect.withSpan(Effect.logInfo("inner"), "check")).pipe(within(span))
      )
      const inner = span.recording.spans.find(({ name }) => name === "check")
      expect(JSON.parse(first ?? "")).toMatchObject({ msg: "outer", trace_id: span.traceId, span_id: span.spanId })
      expect(JSON.parse(second ?? "")).toMatchObject({ msg: "inner", trace_id: span.traceId, span_id: inner?.spanId })
      expect(span.traceId).toMatch(/^[0-9a-f]{32}$/)
      expect(inner?.spanId).toMatch(/^[0-9a-f]{16}$/)
      expect(inner?.spanId).not.toBe(span.spanId)
      const [pretty] = yield* written(Effect.logInfo("outer").pipe(within(span)), "pretty")
      expect(pretty).toContain(`trace_id=${span.traceId} span_id=${span.spanId}`)
    })
  )
  effect("has the ids in its annotations, for a trace that has ended", () =>
    Effect.gen(function* () {
      const [line] = yield* written(
        Effect.annotateLogs(Effect.logInfo("Reconciled"), { trace_id: "a", span_id: "b" }).pipe(within(root()))
      )
      expect(JSON.parse(line ?? "")).toMatchObject({ trace_id: "a", span_id: "b" })
    })
  )
  effect("becomes an event of the span, with secrets redacted", () =>
    Effect.gen(function* () {
      const span = root()
      const secret = { kind: "Secret", data: { key: "aHVudGVyMg==" } }
      yield* Effect.logInfo("Read", secret).pipe(
        Effect.annotateLogs({ controller: "widgets", secret, attempt: 2 }),
        Effect.andThen(Effect.logDebug("not heard")),
        within(span),
        Effect.provide(Logs.layer({ format: "json", level: "Info", colour: false })),
        listening([])
      )
      const hidden = '{"kind":"Secret","data":{"key":"<redacted>"}}'
      expect(span.events).toMatchObject([
        { name: `Read ${hidden}`, attributes: { "homeostat.log.level": "info", secret: hidden, attempt: 2 } }
      ])
      expect(span.events[0]?.attributes).not.toHaveProperty("controller")
    })
  )
  effect("has no ids if the span is not recorded", () =>
    Effect.gen(function* () {
      const span = Tracer.externalSpan({ traceId: "0".repeat(32), spanId: "0".repeat(16) })
      const lines = yield* written(
        Effect.andThen(
          Effect.withSpan(Effect.logInfo("a"), "untraced"),
          Effect.withParentSpan(Effect.logInfo("b"), span)
        )
      )
      expect(lines).toHaveLength(2)
      expect(lines.join()).not.toContain("trace_id")
    })
  )
})

describe("A pretty line", () => {
  const line = (over: Partial<Line>, colour = false) => write(Logs.pretty({ colour }), over)

  test("has the time, level and message in columns, followed by the annotations", () => {
    expect(line({})).toBe("14:05:31.042Z INFO  Reconciled")
    const text = line({ logLevel: "Error", annotations: about })
    expect(text).toStartWith("14:05:31.042Z ERROR Reconciled ")
    expect(text).toContain(' object="Widget shop/cart"')
    expect(text).toContain(" controller=widgets")
    expect(text).toContain(" attempt=2")
  })
  test("quotes ambiguous values", () => {
    const annotations = { a: "x=y", b: 'say "so"', c: "" }
    for (const field of ['a="x=y"', 'b="say \\"so\\""', 'c=""']) expect(line({ annotations })).toContain(field)
  })
  test("contains the message of an error", () => {
    expect(line({ message: ["A listener threw", new Error("boom")] })).toEndWith("A listener threw Error: boom")
  })
  test("names its object once", () => {
    expect(line({ annotations: { object: "WebApp shop/cart" } })).toEndWith(' object="WebApp shop/cart"')
    expect(line({ annotations: { name: "cart" } })).toEndWith(" name=cart")
  })
  test("puts the stack trace below", () => {
    expect(line({ annotations: { error: "boom", stacktrace: "Error: boom\n    at x" } })).toEndWith(
      "\n    Error: boom\n        at x"
    )
  })
  test("escapes control characters, and never lets a message look like another line", () => {
    const message = "a\u001b[2Jb\r\n14:05:31.042 INFO  Reconciled \u009b2J\u202e"
    const written = line({ message, annotations: { note: message, one: "a\u001b[2J b\u009b" } })
    expect(written).not.toMatch(/[^\P{Cc}\n]|\u202e/u)
    expect(written).toContain("a\\u001b[2Jb\\u000d")
    expect(written).toContain('one="a\\u001b[2J b\\u009b"')
    expect(written.split("\n").filter((each) => /^\d\d:/.test(each))).toHaveLength(1)
  })
  test("has colours by level if enabled", () => {
    expect(line({ logLevel: "Warn" }, true)).toContain("\u001b[33mWARN \u001b[0m")
    expect(line({ logLevel: "Warn" })).not.toContain("\u001b")
  })
})

describe("The log", () => {
  for (const format of ["json", "pretty"] as const) {
    effect(`writes ${format} to standard error from its level on`, () =>
      Effect.gen(function* () {
        const lines: Array<string> = []
        yield* Effect.logDebug("small").pipe(
          Effect.andThen(Effect.logWarning("large")),
          Effect.annotateLogs("controller", "widgets"),
          Effect.provide(Logs.layer({ format, level: "Info", colour: false })),
          listening(lines)
        )
        expect(lines).toHaveLength(1)
        expect(lines[0]).toContain("large")
        expect(lines[0]?.startsWith("{")).toBe(format === "json")
      })
    )
  }
})
