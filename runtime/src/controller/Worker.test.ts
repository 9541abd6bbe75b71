import { describe, expect } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Result from "./Result.ts"
import * as Status from "./Status.ts"
import { TerminalError } from "./TerminalError.ts"
import { counted, pass, run, settle, story, Widget, widget, withWorld } from "./World.fixture.ts"

class Broken extends Data.TaggedError("Broken")<{ readonly message: string }> {}
const broken = new Broken({ message: "no luck" })

describe("A reconcile", () => {
  effect(
    "that is done is not repeated until the object changes",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const { reconcile, times } = counted(() => Effect.succeed(Result.done))
        yield* run({ reconcile })
        yield* pass("1 minute")
        expect(times()).toEqual([0])
        server.change(Widget, "a", { spec: { size: 2 } })
        yield* settle
        expect(times()).toEqual([0, 60_000])
      })
    )
  )

  for (const millis of [0, -5000, Number.POSITIVE_INFINITY]) {
    effect(
      `with requeueAfter ${millis} ms is not repeated until the object changes`,
      withWorld(({ attempts, server }) =>
        Effect.gen(function* () {
          server.put(Widget, widget("a"))
          const { reconcile, times } = counted(() => Effect.succeed(Result.requeueAfter(millis)))
          yield* run({ reconcile })
          yield* pass("1 minute")
          expect(times()).toEqual([0])
          expect(attempts.map(({ next }) => next)).toEqual([{ _tag: "Wait" }])
          server.change(Widget, "a", { spec: { size: 2 } })
          yield* settle
          expect(times()).toEqual([0, 60_000])
        })
      )
    )
  }

  effect(
    "with requeueAfter NaN fails, and is retried",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const { reconcile, times } = counted(() => Effect.sync(() => Result.requeueAfter(Number.NaN)))
        yield* run({ reconcile, retry: Schedule.spaced("1 second") })
        yield* pass("1500 millis")
        expect(times()).toEqual([0, 1000])
        expect(String(attempts[0]?.outcome._tag === "Failed" && attempts[0].outcome.error)).toContain(
          "invalid duration: NaN"
        )
      })
    )
  )

  effect(
    "that failed is retried by the schedule of the controller",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const { reconcile, times } = counted(() => broken)
        yield* run({ reconcile, retry: Schedule.spaced("1 second") })
        yield* pass("3500 millis")
        expect(times()).toEqual([0, 1000, 2000, 3000])
        expect(attempts.map(({ number }) => number)).toEqual([1, 2, 3, 4])
      })
    )
  )

  effect(
    "with requeue is repeated by the same schedule",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const { reconcile, times } = counted((n) =>
          n % 2 === 0 ? Effect.fail(broken) : Effect.succeed(Result.requeue)
        )
        yield* run({ reconcile, retry: Schedule.exponential("100 millis") })
        yield* pass("2 seconds")
        expect(times()).toEqual([0, 100, 300, 700, 1500])
      })
    )
  )

  effect(
    "that failed is retried after 5 ms by default, and then after twice the delay",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        yield* run({ reconcile: () => broken })
        yield* pass("100 millis")
        expect(story(attempts)).toEqual(["Failed +5", "Failed +10", "Failed +20", "Failed +40", "Failed +80"])
      })
    )
  )

  effect(
    "whose schedule has ended is not retried until the next trigger, which starts the schedule again",
    withWorld(({ attempts, logs, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const { reconcile, times } = counted(() => broken)
        yield* run({ reconcile, retry: Schedule.upTo(Schedule.spaced("1 second"), { times: 2 }) })
        yield* pass("1 minute")
        expect(times()).toEqual([0, 1000, 2000])
        expect(story(attempts).at(-1)).toBe("Failed !")
        expect(logs).toContain(
          "ERROR Reconcile failed, given up until the next trigger: its retry schedule has ended: no luck"
        )
        server.change(Widget, "a", { metadata: { labels: { touched: "yes" } } })
        yield* pass("1 minute")
        expect(times().slice(3)).toEqual([60_000, 61_000, 62_000])
        expect(attempts.map(({ number }) => number)).toEqual([1, 2, 3, 1, 2, 3])
      })
    )
  )

  effect(
    "with requeueAfter is repeated after exactly that time, and resets the schedule",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const { reconcile, times } = counted((n) =>
          n === 3 ? Effect.succeed(Result.requeueAfter("30 seconds")) : broken
        )
        yield* run({ reconcile, retry: Schedule.exponential("1 second") })
        yield* pass("35 seconds")
        // Back-offs of 1 s and 2 s, the requested 30 s, and a new back-off of 1 s.
        expect(times()).toEqual([0, 1000, 3000, 33_000, 34_000])
        expect(story(attempts)).toEqual([
          "Failed +1000",
          "Failed +2000",
          "RequeueAfter +30000",
          "Failed +1000",
          "Failed +2000"
        ])
        expect(attempts.map(({ number }) => number)).toEqual([1, 2, 3, 1, 2])
      })
    )
  )

  effect(
    "that succeeded resets the schedule",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const { reconcile } = counted((n) => (n === 3 ? Effect.succeed(Result.done) : broken))
        yield* run({ reconcile, retry: Schedule.exponential("1 second") })
        yield* pass("10 seconds")
        server.change(Widget, "a", { metadata: { labels: { touched: "yes" } } })
        yield* settle
        expect(story(attempts)).toEqual(["Failed +1000", "Failed +2000", "Done", "Failed +1000"])
      })
    )
  )

  effect(
    "that failed permanently is logged as an error, and not retried until the object changes",
    withWorld(({ attempts, logs, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const { reconcile, times } = counted(() => new TerminalError({ message: "there is no such size" }))
        yield* run({ reconcile })
        yield* pass("1 minute")
        expect(times()).toEqual([0])
        expect(story(attempts)).toEqual(["Terminal"])
        expect(logs).toContain("ERROR Reconcile failed permanently: there is no such size")
        server.change(Widget, "a", { spec: { size: 2 } })
        yield* settle
        expect(times()).toHaveLength(2)
      })
    )
  )

  for (const [how, error] of [
    ["was given up", broken],
    ["failed permanently", new TerminalError({ message: "there is no such size" })]
  ] as const) {
    effect(
      `that ${how} is not retried after its own status write, but after another change`,
      withWorld(({ attempts, server }) =>
        Effect.gen(function* () {
          server.put(Widget, widget("a"))
          const { reconcile, times } = counted((n, owner) =>
            Effect.andThen(Status.update(owner, { seen: n }), Effect.fail(error))
          )
          yield* run({ reconcile, retry: Schedule.recurs(0) })
          yield* pass("20 seconds")
          expect(times()).toEqual([0])
          server.change(Widget, "a", { metadata: { labels: { touched: "yes" } } })
          yield* pass("20 seconds")
          expect(times()).toEqual([0, 20_000])
          expect(attempts[1]?.triggers.map(({ kind }) => kind)).toContain("watch.modified")
          server.remove(Widget, "a")
          yield* settle
          expect(attempts.at(-1)?.outcome._tag).toBe("Vanished")
        })
      )
    )
  }

  effect(
    "is not called for an object that no longer exists",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const { reconcile, times } = counted(() => broken)
        yield* run({ reconcile, retry: Schedule.spaced("20 seconds") })
        server.remove(Widget, "a")
        yield* pass("1 minute")
        expect(times()).toEqual([0])
        expect(story(attempts)).toEqual(["Failed +20000", "Vanished"])
      })
    )
  )
})

describe("The retry schedule of an object", () => {
  effect(
    "starts again with a new generation, but not with other changes",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        yield* run({ reconcile: () => broken, retry: Schedule.exponential("1 second") })
        yield* pass("3 seconds")
        expect(story(attempts)).toEqual(["Failed +1000", "Failed +2000", "Failed +4000"])
        server.change(Widget, "a", { metadata: { labels: { touched: "yes" } } })
        yield* settle
        expect(story(attempts).at(-1)).toBe("Failed +8000")
        server.change(Widget, "a", { spec: { size: 2 } })
        yield* settle
        expect(story(attempts).at(-1)).toBe("Failed +1000")
        expect(attempts.at(-1)?.number).toBe(1)
      })
    )
  )

  effect(
    "is not inherited by a new object with the same name",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        yield* run({ reconcile: () => broken, retry: Schedule.exponential("1 second") })
        yield* pass("3 seconds")
        server.remove(Widget, "a")
        server.put(Widget, widget("a"))
        yield* settle
        expect(story(attempts)).toEqual(["Failed +1000", "Failed +2000", "Failed +4000", "Failed +1000"])
        expect(attempts.at(-1)?.number).toBe(1)
      })
    )
  )

  effect(
    "advances with attempts, not with triggers",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        yield* run({ reconcile: () => broken, retry: Schedule.exponential("1 second") })
        for (let n = 0; n < 20; n++) server.change(Widget, "a", { metadata: { labels: { touched: `${n}` } } })
        yield* settle
        expect(story(attempts)).toEqual(["Failed +1000", "Failed +2000"])
        expect(attempts[1]?.triggers).toHaveLength(10)
        expect(attempts[1]?.dropped).toBe(11)
      })
    )
  )

  effect(
    "that throws gives the object up with a log line, and the workers continue",
    withWorld(({ attempts, logs, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const retry = Schedule.while(Schedule.forever, () => {
          throw new Error("bad schedule")
        })
        const { names, reconcile } = counted((_, { metadata }) =>
          metadata.name === "a" ? Effect.fail(broken) : Effect.succeed(Result.done)
        )
        yield* run({ reconcile, retry, concurrency: 1 })
        expect(story(attempts)).toEqual(["Failed !"])
        expect(logs.join("\n")).toContain("bad schedule")
        server.put(Widget, widget("b"))
        yield* settle
        expect(names()).toEqual(["a", "b"])
      })
    )
  )
})

describe("Many failing objects", () => {
  const names = Array.from({ length: 150 }, (_, n) => `w${String(n).padStart(3, "0")}`)

  effect(
    "do not delay a newly triggered object",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        for (const name of names.slice(0, 100)) server.put(Widget, widget(name))
        const { reconcile, runs } = counted((_, { metadata }) =>
          metadata.name === "fresh" ? Effect.succeed(Result.done) : broken
        )
        yield* run({ reconcile, retry: Schedule.spaced("1 second"), concurrency: 1 })
        yield* pass("10500 millis")
        expect(attempts.length).toBeGreaterThan(200)
        server.put(Widget, widget("fresh"))
        yield* settle
        expect(runs.at(-1)?.name).toBe("fresh")
        expect(runs.at(-1)?.at).toBe(10_500)
      })
    )
  )

  effect(
    "are retried by the back-off of each object",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        for (const name of names) server.put(Widget, widget(name))
        const { reconcile, times } = counted((n) => (n <= 150 ? Effect.fail(broken) : Effect.succeed(Result.done)))
        yield* run({ reconcile, retry: Schedule.spaced("10 millis") })
        yield* pass("10 seconds")
        expect(times().slice(150)).toEqual(Array(150).fill(10))
      })
    )
  )

  effect(
    "keep their priority: initial objects are behind changed ones",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        for (const name of ["a", "b", "c"]) server.put(Widget, widget(name))
        const { names, reconcile } = counted((n, { metadata }) =>
          n <= 3
            ? Effect.fail(broken)
            : Effect.as(Effect.sleep(metadata.name === "a" ? "1 minute" : "0 millis"), Result.done)
        )
        yield* run({ reconcile, retry: Schedule.spaced("1 second"), concurrency: 1 })
        // The only worker is busy with `a`. Meanwhile the retries of `b` and `c` become due, and then `new` arrives.
        yield* pass("30 seconds")
        server.put(Widget, widget("new"))
        yield* pass("1 minute")
        expect(names()).toEqual(["a", "b", "c", "a", "new", "b", "c"])
        expect(attempts).toHaveLength(7)
      })
    )
  )
})
