import { describe, expect, test } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as TestClock from "effect/testing/TestClock"
import * as Recording from "./Recording.ts"

const recorded = <A, E, R>(body: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const root = Recording.root("root", { startTime: 0n })
    const exit = yield* body.pipe(Effect.withParentSpan(root), Effect.withTracer(Recording.tracer), Effect.exit)
    const spans = root.recording.spans.slice(1).map((span) => ({
      name: span.name,
      parent: root.recording.spans.find(({ spanId }) => spanId === Option.getOrUndefined(span.parent)?.spanId)?.name,
      attributes: Object.fromEntries(span.attributes),
      status: span.status
    }))
    return { exit, root, spans }
  })

describe("A step", () => {
  effect("records a child span with its attributes and its result", () =>
    Effect.gen(function* () {
      const step = Recording.step("outer", (span) => {
        span?.attribute("a", 1)
        return Effect.andThen(Effect.withSpan(TestClock.adjust(5), "inner"), Effect.fail("no"))
      })
      const { exit, spans } = yield* recorded(step)
      expect(Exit.findErrorOption(exit)).toEqual(Option.some("no"))
      expect(spans).toMatchObject([
        { name: "outer", parent: "root", attributes: { a: 1 }, status: { startTime: 0n, endTime: 5_000_000n } },
        { name: "inner", parent: "outer", status: { _tag: "Ended" } }
      ])
      const [outer] = spans
      expect(outer?.status._tag === "Ended" && Exit.isFailure(outer.status.exit)).toBe(true)
    })
  )

  effect("of a single moment has no duration", () =>
    Effect.gen(function* () {
      const { spans } = yield* recorded(
        Effect.andThen(
          TestClock.adjust(3),
          Recording.mark("seen", () => ({ b: 2 }))
        )
      )
      expect(spans).toMatchObject([
        { name: "seen", parent: "root", attributes: { b: 2 }, status: { startTime: 3_000_000n, endTime: 3_000_000n } }
      ])
    })
  )

  effect("is not recorded without a recording, even within another tracer", () =>
    Effect.gen(function* () {
      let asked = false
      const both = Effect.zip(
        Recording.step("step", (span) => Effect.succeed(span)),
        Recording.mark("mark", () => {
          asked = true
          return {}
        })
      )
      expect(yield* both).toEqual([undefined, undefined])
      expect(yield* Effect.withSpan(both, "another's")).toEqual([undefined, undefined])
      expect(asked).toBe(false)
    })
  )
})

describe("A span", () => {
  const root = () => Recording.root("root", { startTime: 0n })

  test("keeps a limited number of events, and counts the dropped ones", () => {
    const span = root()
    for (let count = 0; count < Recording.mostEvents; count++) span.event("e", 0n)
    expect([...span.attributes]).toEqual([])
    for (let count = 0; count < 9; count++) span.event("e", 0n)
    expect(span.events).toHaveLength(Recording.mostEvents)
    expect(Object.fromEntries(span.attributes)).toEqual({ "span.dropped_events": 9 })
  })

  test("accepts only remarks after its end", () => {
    const span = root()
    span.event("before", 0n)
    span.end(1n, Exit.void)
    span.event("after", 2n)
    span.remark("found", 2n, { a: 1 })
    expect(span.events).toMatchObject([{ name: "before" }, { name: "found", at: 2n, attributes: { a: 1 } }])
    for (let count = 0; count < 1000; count++) span.remark("found", 2n)
    expect(span.events).toHaveLength(Recording.mostEvents)
  })
})

describe("A recording", () => {
  effect("keeps a limited number of spans, and counts the dropped ones", () =>
    Effect.gen(function* () {
      const { root } = yield* recorded(
        Effect.replicateEffect(Effect.withSpan(Effect.void, "s"), Recording.mostSpans + 9)
      )
      expect(root.recording.spans).toHaveLength(Recording.mostSpans)
      expect(root.recording.dropped).toBe(10)
    })
  )
})
