import { expect, test } from "bun:test"
import { Effect } from "effect"
import * as Failure from "../model/Failure.ts"
import * as Step from "./Step.ts"

/** Builds a call that records its key and answers with the key in upper case. */
const caller = () => {
  const calls: Array<string> = []
  const ask = (key: string) =>
    Step.ask(key, () =>
      Effect.sync(() => {
        calls.push(key)
        return key.toUpperCase()
      })
    )
  return { ask, calls }
}

test("a step without calls runs once, and synchronously", () => {
  let runs = 0
  const result = Step.attempt(Step.make(), () => ++runs)
  expect([result, runs]).toEqual([1, 1])
})

test("a step runs again after each response, and makes each call once", async () => {
  const { ask, calls } = caller()
  let runs = 0
  const result = await Effect.runPromise(
    Step.run(Step.make(), () => {
      runs++
      return [ask("a"), ask("b"), ask("a")]
    })
  )
  expect(result).toEqual(["A", "B", "A"])
  expect(calls).toEqual(["a", "b"])
  expect(runs).toBe(3)
})

test("equal calls in two one-time parts are two calls", async () => {
  const { ask, calls } = caller()
  const body = () => [Step.once(() => ask("a")), Step.once(() => ask("a"))]
  expect(await Effect.runPromise(Step.run(Step.make(), body))).toEqual(["A", "A"])
  expect(calls).toEqual(["a", "a"])
})

test("a one-time part of a step is not repeated, whether it succeeds or fails", async () => {
  const { ask } = caller()
  const done: Array<string> = []
  const once = (name: string, fails = false) =>
    Step.once(() => {
      done.push(name)
      if (fails) throw Failure.badRequest(name)
      return `${name}${done.length}`
    })
  const body = () => {
    const first = once("first")
    const outer = Step.once(() => `${once("inner")} ${ask("a")}`)
    let refused = ""
    try {
      once("refused", true)
    } catch (error) {
      if (error instanceof Step.Pending) throw error
      refused = Step.failureOf(error).message
    }
    return [first, outer, refused, once("last"), ask("b")]
  }
  const result = await Effect.runPromise(Step.run(Step.make(), body))
  expect(result).toEqual(["first1", "inner2 A", "refused", "last4", "B"])
  expect(done).toEqual(["first", "inner", "refused", "last"])
})

test("steps that wait at the same time do not share anything", async () => {
  const { ask, calls } = caller()
  const one = Effect.suspend(() => Step.run(Step.make(), () => [Step.once(() => calls.length), ask("a")]))
  const results = await Effect.runPromise(Effect.all([one, one], { concurrency: "unbounded" }))
  expect(results.map(([, answer]) => answer)).toEqual(["A", "A"])
  expect(calls).toEqual(["a", "a"])
})

test("the code that catches Pending makes the call outside of a step", () => {
  expect(() => caller().ask("a")).toThrow(Step.Pending)
})

test("an unexpected error is an internal error", () => {
  expect(Step.failureOf(new Error("boom"))).toMatchObject({ code: 500, message: "Internal error occurred: boom" })
})
