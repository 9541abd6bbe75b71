/** The requests that start at once, that wait, and that are rejected. */
import { describe, expect } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as SingleFlight from "./SingleFlight.ts"

const options: SingleFlight.Options = { concurrency: 2, waiting: 2, perSource: 3, sharing: 2 }

/** Requests whose responses the test controls. `begun`: the keys of started requests, in order. */
const world = Effect.gen(function* () {
  const flights = yield* SingleFlight.make<string, never>(options)
  const begun: Array<string> = []
  const answers = new Map<string, Deferred.Deferred<string>>()
  const ask = (key: string, source: string) =>
    Effect.gen(function* () {
      const answer = answers.get(key) ?? (yield* Deferred.make<string>())
      answers.set(key, answer)
      const question = Effect.suspend(() => {
        begun.push(key)
        return Deferred.await(answer)
      })
      const asked = yield* Effect.result(flights.ask(key, source, question))
      yield* Effect.yieldNow
      return asked
    })
  const answer = (key: string) =>
    Effect.gen(function* () {
      const deferred = answers.get(key)
      if (deferred !== undefined) yield* Deferred.succeed(deferred, `answer of ${key}`)
      for (let turn = 0; turn < 10; turn++) yield* Effect.yieldNow
    })
  const isTaken = (key: string, source: string) => Effect.map(ask(key, source), Result.isSuccess)
  return { answer, ask, begun, flights, isTaken }
})

describe("SingleFlight", () => {
  effect("runs a few requests at a time, and the others in order", () =>
    Effect.gen(function* () {
      const { answer, begun, isTaken } = yield* world
      for (const [at, key] of ["a", "b", "c", "d"].entries()) expect(yield* isTaken(key, `source ${at}`)).toBe(true)
      expect(begun).toEqual(["a", "b"])
      yield* answer("b")
      expect(begun).toEqual(["a", "b", "c"])
      yield* answer("a")
      expect(begun).toEqual(["a", "b", "c", "d"])
    }).pipe(Effect.scoped)
  )

  effect("rejects requests while too many wait", () =>
    Effect.gen(function* () {
      const { answer, flights, isTaken } = yield* world
      for (const [at, key] of ["a", "b", "c", "d"].entries()) yield* isTaken(key, `source ${at}`)
      expect(flights.refuses("e", "another")).toBe(true)
      expect(yield* isTaken("e", "another")).toBe(false)
      yield* answer("a")
      expect(flights.refuses("e", "another")).toBe(false)
      expect(yield* isTaken("e", "another")).toBe(true)
    }).pipe(Effect.scoped)
  )

  effect("limits the requests of each source", () =>
    Effect.gen(function* () {
      const { answer, isTaken } = yield* world
      for (const key of ["a", "b", "c"]) expect(yield* isTaken(key, "one")).toBe(true)
      expect(yield* isTaken("d", "one")).toBe(false)
      expect(yield* isTaken("d", "other")).toBe(true)
      yield* answer("a")
      expect(yield* isTaken("e", "one")).toBe(true)
    }).pipe(Effect.scoped)
  )

  effect("shares a request between a few callers with the same key, and repeats it later", () =>
    Effect.gen(function* () {
      const { answer, ask, begun, flights } = yield* world
      const first = Result.getOrThrow(yield* ask("a", "one"))
      expect(flights.refuses("a", "two")).toBe(false)
      const second = Result.getOrThrow(yield* ask("a", "two"))
      expect(flights.refuses("a", "three")).toBe(true)
      expect(Result.flip(yield* ask("a", "three"))).toEqual(Result.succeed(SingleFlight.crowded))
      expect(begun).toEqual(["a"])
      yield* answer("a")
      expect([yield* first, yield* second]).toEqual(["answer of a", "answer of a"])
      expect(Result.isSuccess(yield* ask("a", "three"))).toBe(true)
      expect(begun).toEqual(["a", "a"])
    }).pipe(Effect.scoped)
  )
})
