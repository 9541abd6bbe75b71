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

describe("what follows a reconcile", () => {
  effect(
    "that is done is nothing, until the object changes",
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
      `that asks to run again after ${millis} ms is nothing, until the object changes`,
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
    "that asks to run again after NaN ms is a retry, as after any other exception",
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
    "that failed is another one, at exactly the times of the controller's schedule",
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
    "that asks to be run again is another one, by the same schedule",
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
    "that failed with nothing said of retries is another one in 5 ms, then twice as long each time",
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
    "whose schedule has ended is nothing until the next trigger, which finds the schedule fresh",
    withWorld(({ attempts, logs, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const { reconcile, times } = counted(() => broken)
        yield* run({ reconcile, retry: Schedule.intersect(Schedule.spaced("1 second"), Schedule.recurs(2)) })
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
    "that asks for a time is another one after exactly that time, with the schedule fresh",
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
    "that succeeded after failures is a fresh schedule for the next failure",
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
    "that failed permanently is nothing until the object changes, and an error in the log",
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
      `that ${how} is nothing, though it told of that in the status, until somebody else changes the object`,
      withWorld(({ attempts, server }) =>
        Effect.gen(function* () {
          server.put(Widget, widget("a"))
          const { reconcile, times } = counted((n, owner) =>
            Effect.zipRight(Status.update(owner, { seen: n }), Effect.fail(error))
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
    "of an object that is gone by then is nothing, and the author's code is not called",
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

describe("the retry schedule of an object", () => {
  effect(
    "begins anew with a new generation, and with no other change",
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
    "is not inherited by an object of the same name that takes its place",
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
    "is advanced by attempts, not by the triggers that met in one of them",
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
    "that throws gives the object up and says so, and the workers go on",
    withWorld(({ attempts, logs, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const retry = Schedule.whileInput(Schedule.forever, () => {
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

describe("a crowd of failing objects", () => {
  const names = Array.from({ length: 150 }, (_, n) => `w${String(n).padStart(3, "0")}`)

  effect(
    "does not hold up one that has just been triggered",
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
    "is retried by the back-off of each object alone, however many fail together",
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
    "keeps the priority that it had: what failed at start stands behind what changed since",
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
