/**
 * Time for a program on a real cluster. The clock leaps over the waits of the program, such as a back-off of some seconds, as soon as
 * its connections are calm. The cluster itself keeps the real time.
 */
import * as Transport from "@homeostat/runtime/client/Transport"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Eventually from "../Eventually.ts"
import * as VirtualTime from "../VirtualTime.ts"
import type { Ground, Time } from "./Ground.ts"

/** The time of a program on a real cluster. */
export interface RealTime extends Time, Pick<Ground, "instant" | "isRestless"> {
  /** The number of requests and events so far. */
  readonly activity: () => number
  /** A transport whose requests and events the time waits for. */
  readonly over: (transport: Transport.Transport["Type"]) => Layer.Layer<Transport.Transport>
}

/** How long connections without a new request or event are calm, in milliseconds: an event arrives some milliseconds after its write. */
const calmMillis = 80

/** How long the fibers that a leap has woken may take to send a request, in milliseconds. */
const wakeMillis = 10

/** How long an answer takes at most, in milliseconds. After that, its process is suspended or dead. */
const longestAnswer = 3000

/** How long requests may follow each other without a calm, in milliseconds. */
const longestBusy = 15_000

/** Time that begins now. */
export const make = (): RealTime => {
  let calms = 0
  let isRestless = false
  let last = 0
  let activity = 0
  /** When the requests without an answer were sent. */
  const pending = new Set<number>()
  const now = () => performance.now()
  const note = Effect.sync(() => {
    last = now()
    activity++
  })
  const calm = Effect.promise(async () => {
    const began = now()
    const isBusy = (at: number): boolean =>
      at - began < wakeMillis || at - last < calmMillis || [...pending].some((since) => at - since < longestAnswer)
    while (isBusy(now()) && !isRestless) {
      await Bun.sleep(5)
      isRestless = now() - began > longestBusy
    }
    calms++
  })
  const { clock, pass, process } = VirtualTime.leaping(calm)

  const timed = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.suspend(() => {
      // Two requests may be sent at the same time.
      let since = now()
      while (pending.has(since)) since += 0.001
      pending.add(since)
      const ended = Effect.sync(() => {
        pending.delete(since)
        last = now()
      })
      return Effect.ensuring(Effect.zipRight(note, effect), ended)
    })

  return {
    clock,
    pass,
    process,
    within: (effect) => effect.pipe(Effect.locally(Eventually.pace, pass), Effect.withClock(clock)),
    during: (effect) =>
      Effect.gen(function* () {
        const fiber = yield* Effect.fork(effect)
        while (!fiber.unsafePoll()) yield* pass("100 millis")
        return yield* fiber
      }),
    instant: () => calms,
    isRestless: () => isRestless,
    activity: () => activity,
    over: (next) =>
      Layer.succeed(
        Transport.Transport,
        Transport.Transport.of({
          server: next.server,
          send: (request) => timed(next.send(request)),
          open: (request) =>
            Effect.map(timed(next.open(request)), (streaming) => ({
              ...streaming,
              next: Effect.tap(streaming.next, note)
            }))
        })
      )
  }
}
