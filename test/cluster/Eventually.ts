/** Waits for a state of the cluster, or checks that a state does not change. */
import { Clock, Context, Data, Duration, Effect, Result } from "effect"

/**
 * How time passes between two reads: by a sleep, or in virtual time by moving the clock.
 *
 * @internal
 */
export const pace = Context.Reference<(duration: Duration.Input) => Effect.Effect<void>>("@homeostat/testkit/pace", {
  defaultValue: () => Effect.sleep
})

const pass = (duration: Duration.Input): Effect.Effect<void> => Effect.flatMap(pace, (move) => move(duration))

/**
 * Describes the attempts of the controllers, for the message of a failure after the last value.
 *
 * @internal
 */
export const attempts = Context.Reference<(seen: unknown, now: number) => string>("@homeostat/testkit/attempts", {
  defaultValue: () => () => ""
})

/** `eventually` did not see the awaited state, or `stays` saw a change. */
export class NotSo extends Data.TaggedError("NotSo")<{
  readonly description: string
  readonly after: Duration.Duration
  /** The last value or failure, as text. */
  readonly last: string
  /** The last attempts of the controllers for the object. Empty outside of a Harness. */
  readonly attempts: string
}> {
  constructor(fields: Pick<NotSo, "description" | "after" | "last" | "attempts">) {
    super(fields)
    // `bun test` prints the enumerable properties of an error after its message. The message already contains these properties.
    for (const name of Object.keys(fields)) Object.defineProperty(this, name, { enumerable: false })
  }
  override get message(): string {
    const { after, attempts, description, last } = this
    const seen = `${description}: not so after ${Duration.format(after)}; the last seen was ${last}`
    return attempts === "" ? seen : `${seen}\n\n${attempts}`
  }
}

/**
 * Throws for arguments in another order, because `bun test` does not check types, and Effect's own message names neither the function nor
 * the argument.
 */
const check = (call: string, description: unknown, look: unknown, ...wanted: ReadonlyArray<unknown>): void => {
  const wrong =
    typeof description !== "string"
      ? "first argument is not a description"
      : !Effect.isEffect(look)
        ? "second argument is not an Effect"
        : wanted.some((each) => typeof each !== "function")
          ? "third argument is not a function"
          : undefined
  if (wrong !== undefined) throw new TypeError(`the ${wrong}: call ${call}`)
}

const show = (value: unknown): string =>
  typeof value === "string" ? value : (JSON.stringify(value, presentable, 2) ?? String(value))

const showError = (error: unknown): string => (error instanceof Error ? error.message : show(error))

const presentable = (key: string, value: unknown): unknown =>
  key === "managedFields" ? undefined : typeof value === "bigint" ? String(value) : value

/**
 * Reads every 50 ms until the value matches, and returns that value. A failed read counts as "not yet", because the object often does not
 * exist at first.
 * Fails with `NotSo` after the timeout. The default is 40 seconds, because a machine can be slow, and a passing test does not wait longer
 * than it needs.
 *
 * @example
 * ```ts
 * yield* eventually("the Deployment is ready", Client.get(BuiltIn.Deployment, { namespace: "default", name: "web" }), ({ status }) => status?.readyReplicas === 1)
 * ```
 */
export const eventually = <A, E, R>(
  description: string,
  look: Effect.Effect<A, E, R>,
  wanted: (value: A) => boolean,
  timeout: Duration.Input = "40 seconds"
): Effect.Effect<A, NotSo, R> => {
  check("eventually(description, look, wanted)", description, look, wanted)
  return Effect.gen(function* () {
    const describe = yield* attempts
    const clock = yield* Clock.Clock
    let last: Result.Result<A, E> | undefined
    const until: Effect.Effect<A, never, R> = Effect.gen(function* () {
      while (true) {
        const seen = yield* Effect.result(look)
        if (Result.isSuccess(seen) && wanted(seen.success)) return seen.success
        last = seen
        yield* pass("50 millis")
      }
    })
    return yield* Effect.timeoutOrElse(until, {
      duration: timeout,
      orElse: () =>
        Effect.fail(
          new NotSo({
            description,
            after: Duration.fromInputUnsafe(timeout),
            last: last === undefined ? "nothing" : Result.match(last, { onFailure: showError, onSuccess: show }),
            attempts: describe(last === undefined ? undefined : Result.merge(last), clock.currentTimeMillisUnsafe())
          })
        )
    })
  })
}

/**
 * Reads every 100 ms for the duration, and compares each value with the first one. Returns the first value. Fails with `NotSo` for a
 * different value.
 *
 * @example
 * ```ts
 * const web = Client.get(BuiltIn.ConfigMap, { namespace: "default", name: "page" })
 * yield* stays("nothing changes the page", web, "2 seconds")
 * ```
 */
export const stays = <A, E, R>(
  description: string,
  look: Effect.Effect<A, E, R>,
  duration: Duration.Input = "2 seconds"
): Effect.Effect<A, E | NotSo, R> => {
  check("stays(description, look, duration)", description, look)
  return Effect.gen(function* () {
    const first = yield* look
    const started = yield* Clock.currentTimeMillis
    const wanted = show(first)
    while ((yield* Clock.currentTimeMillis) - started < Duration.toMillis(duration)) {
      yield* pass("100 millis")
      const seen = yield* look
      const last = show(seen)
      if (last === wanted) continue
      const now = yield* Clock.currentTimeMillis
      return yield* new NotSo({
        description,
        after: Duration.millis(now - started),
        last: `${last}\ninstead of ${wanted}`,
        attempts: (yield* attempts)(seen, now)
      })
    }
    return first
  })
}
