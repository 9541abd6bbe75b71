/** Waiting for what a cluster comes to by itself, and making sure that something stays as it is. */
import { Clock, Data, Duration, Effect, Either, FiberRef } from "effect"

/**
 * How time passes between two looks: it is waited for, or, in virtual time, moved.
 *
 * @internal
 */
export const pace: FiberRef.FiberRef<(duration: Duration.DurationInput) => Effect.Effect<void>> = FiberRef.unsafeMake(
  (duration: Duration.DurationInput) => Effect.sleep(duration)
)

const pass = (duration: Duration.DurationInput): Effect.Effect<void> =>
  Effect.flatMap(FiberRef.get(pace), (move) => move(duration))

/** The awaited state did not come, or the expected state did not last. */
export class NotSo extends Data.TaggedError("NotSo")<{
  readonly description: string
  readonly after: Duration.Duration
  /** The last value or failure, as text. */
  readonly last: string
}> {
  override get message(): string {
    return `${this.description}: not so after ${Duration.format(this.after)}; the last seen was ${this.last}`
  }
}

const show = (value: unknown): string =>
  typeof value === "string" ? value : (JSON.stringify(value, presentable, 2) ?? String(value))

const presentable = (key: string, value: unknown): unknown =>
  key === "managedFields" ? undefined : typeof value === "bigint" ? String(value) : value

/**
 * Looks every 50 ms until what is seen is as wanted, and gives that. A look that fails only says "not yet": what is waited
 * for often is not there at first. The limit is long by default: what comes costs none of it, and a machine may be slow.
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
  timeout: Duration.DurationInput = "40 seconds"
): Effect.Effect<A, NotSo, R> =>
  Effect.suspend(() => {
    let last = "nothing"
    const until: Effect.Effect<A, never, R> = Effect.gen(function* () {
      while (true) {
        const seen = yield* Effect.either(look)
        if (Either.isRight(seen) && wanted(seen.right)) return seen.right
        last = Either.match(seen, {
          onLeft: (error) => (error instanceof Error ? error.message : show(error)),
          onRight: show
        })
        yield* pass("50 millis")
      }
    })
    return Effect.timeoutFail(until, {
      duration: timeout,
      onTimeout: () => new NotSo({ description, after: Duration.decode(timeout), last })
    })
  })

/**
 * Looks every 100 ms for that long whether what is seen still equals what was seen first, and gives that.
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
  duration: Duration.DurationInput = "2 seconds"
): Effect.Effect<A, E | NotSo, R> =>
  Effect.gen(function* () {
    const first = yield* look
    const started = yield* Clock.currentTimeMillis
    const wanted = show(first)
    while ((yield* Clock.currentTimeMillis) - started < Duration.toMillis(duration)) {
      yield* pass("100 millis")
      const last = show(yield* look)
      if (last === wanted) continue
      const passed = (yield* Clock.currentTimeMillis) - started
      return yield* new NotSo({ description, after: Duration.millis(passed), last: `${last}\ninstead of ${wanted}` })
    }
    return first
  })
