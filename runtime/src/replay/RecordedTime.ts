/**
 * The time of a replay. It begins at the start of the recorded attempt and stands still while the attempt works, also in a debugger.
 *
 * A response moves it to the time of the recorded response. A sleep ends when nothing else has happened for some milliseconds of the
 * machine, and moves the time to its end.
 */
import type * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Time from "../resource/Time.ts"

/** The time of a replay. */
export interface RecordedTime {
  readonly clock: Clock.Clock
  /** Moves the time forward to these milliseconds since 1970. Does nothing if it is later already. */
  readonly reach: (millis: number) => void
  /** Notes that the attempt works, so that its sleeps do not end yet. */
  readonly stir: () => void
}

/** How long nothing happens before the next sleep ends. */
const quiet = Duration.millis(20)

interface Sleeper {
  readonly until: number
  readonly wake: () => void
}

/** A time that begins at these milliseconds since 1970. Its sleeps end until the scope closes. */
export const make = (start: number): Effect.Effect<RecordedTime, never, Scope.Scope> =>
  Effect.gen(function* () {
    let now = start
    let stirs = 0
    const sleepers = new Set<Sleeper>()
    const reach = (millis: number): void => {
      now = Math.max(now, millis)
    }
    const stir = (): void => {
      stirs++
    }
    const read = (): number => {
      stir()
      return now
    }
    const nanos = (): bigint => BigInt(Math.round(read() * 1000)) * 1000n
    const clock: Clock.Clock = {
      currentTimeMillisUnsafe: read,
      currentTimeNanosUnsafe: nanos,
      currentTimeMillis: Effect.sync(read),
      currentTimeNanos: Effect.sync(nanos),
      monotonicTimeNanosUnsafe: nanos,
      monotonicTimeNanos: Effect.sync(nanos),
      sleep: (duration) =>
        Effect.callback((resume) => {
          stir()
          const sleeper = { until: now + Duration.toMillis(duration), wake: () => resume(Effect.void) }
          sleepers.add(sleeper)
          return Effect.sync(() => void sleepers.delete(sleeper))
        })
    }
    const wakeNext = (before: number): void => {
      const [first] = [...sleepers].sort((one, other) => one.until - other.until)
      if (before === stirs && first !== undefined && Number.isFinite(first.until)) {
        sleepers.delete(first)
        reach(first.until)
        stir()
        first.wake()
      }
    }
    yield* Effect.suspend(() => {
      const before = stirs
      return Effect.map(Time.machine.sleep(quiet), () => wakeNext(before))
    }).pipe(Effect.forever, Effect.forkScoped)
    return { clock, reach, stir }
  })
