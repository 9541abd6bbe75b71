/**
 * Effects as tests of `bun test`: a scope per test, and either the TestClock (`effect`) or the real one (`live`).
 */
import { test } from "bun:test"
import { Effect, type Scope, TestContext } from "effect"

/** A test in virtual time: nothing sleeps, `TestClock.adjust` moves the clock. */
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

/** A test in real time, for what talks to other processes. */
export const live = <A, E>(name: string, body: () => Effect.Effect<A, E, Scope.Scope>, timeoutMillis?: number): void =>
  test(name, () => body().pipe(Effect.scoped, Effect.asVoid, Effect.runPromise), timeoutMillis)
