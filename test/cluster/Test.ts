/**
 * Effects as tests of `bun test`: a scope per test, and either the TestClock (`effect`) or the real one (`live`).
 */
import { test } from "bun:test"
import { Effect, type Scope, TestContext } from "effect"

/**
 * A test in virtual time: nothing sleeps, `TestClock.adjust` moves the clock.
 *
 * @example
 * ```ts
 * import { expect } from "bun:test"
 * import { effect } from "@homeostat/testkit/Test"
 * import { Clock, Effect, TestClock } from "effect"
 *
 * effect("an hour passes at once", () =>
 *   Effect.gen(function* () {
 *     yield* TestClock.adjust("1 hour")
 *     expect(yield* Clock.currentTimeMillis).toBe(3_600_000)
 *   })
 * )
 * ```
 */
export const effect = <A, E>(
  name: string,
  body: () => Effect.Effect<A, E, Scope.Scope>,
  timeoutMillis?: number
): void =>
  test(
    name,
    () => body().pipe(Effect.scoped, Effect.provide(TestContext.TestContext), Effect.asVoid, Effect.runPromise),
    timeoutMillis
  )

/**
 * A test in real time, for what talks to other processes.
 *
 * @example
 * ```ts
 * import { live } from "@homeostat/testkit/Test"
 * import { Effect } from "effect"
 *
 * live("ten milliseconds take ten milliseconds", () => Effect.sleep("10 millis"))
 * ```
 */
export const live = <A, E>(name: string, body: () => Effect.Effect<A, E, Scope.Scope>, timeoutMillis?: number): void =>
  test(name, () => body().pipe(Effect.scoped, Effect.asVoid, Effect.runPromise), timeoutMillis)
