/**
 * Effects as tests of `bun test`: a scope per test, and either a virtual clock (`effect`) or the real one (`live`).
 */
import { test } from "bun:test"
import { Effect, type Scope } from "effect"
import * as VirtualTime from "./VirtualTime.ts"

/**
 * The default timeout of a test, in milliseconds of real time. The first test of a file also loads the modules of the cluster. On a slow
 * machine, that takes longer than Bun's default of 5 seconds.
 *
 * @internal
 */
export const timeoutMillis = 60_000

/**
 * Declares a test in virtual time: `TestClock.adjust`, `eventually` and `stays` move the clock. It fails after a minute of real time by
 * default.
 *
 * @example
 * ```ts
 * import { expect } from "bun:test"
 * import { effect } from "@homeostat/testkit/Test"
 * import { Clock, Effect } from "effect"
 * import { TestClock } from "effect/testing"
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
  limitMillis = timeoutMillis
): void => live(name, () => VirtualTime.make().within(Effect.scoped(body())), limitMillis)

/**
 * Declares a test in real time, for programs that communicate with other processes.
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
  test(
    name,
    async () => {
      await Effect.runPromise(Effect.scoped(body()))
    },
    timeoutMillis
  )
