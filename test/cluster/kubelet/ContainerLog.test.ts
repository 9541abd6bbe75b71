import { describe, expect, test } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import * as ContainerLog from "./ContainerLog.ts"

describe("The end of a log", () => {
  test.each([
    [undefined, "a\nb\nc\n"],
    [0, ""],
    [1, "c\n"],
    [2, "b\nc\n"],
    [9, "a\nb\nc\n"]
  ])("is so many lines: %p", (lines, end) => {
    expect(ContainerLog.tail("a\nb\nc\n", lines)).toBe(end)
  })

  test("may be an unfinished line", () => {
    expect(ContainerLog.tail("a\nb", 1)).toBe("b")
  })
})

effect("A log is followed to the end of the container", () =>
  Effect.gen(function* () {
    let log = "a\nb\n"
    let ended = false
    const next = ContainerLog.follow(
      Effect.sync(() => log),
      Effect.sync(() => ended),
      1
    )
    expect(yield* next).toBe("b\n")
    const waiting = yield* Effect.forkChild(next)
    yield* TestClock.adjust("1 second")
    log += "c\n"
    yield* TestClock.adjust("1 second")
    expect(yield* Fiber.join(waiting)).toBe("c\n")
    log += "d\n"
    ended = true
    expect([yield* next, yield* next]).toEqual(["d\n", undefined])
  })
)
