/**
 * The clock of a program on a real cluster. The clock skips the waits of the program, such as a back-off of some seconds, as soon as its
 * connections are calm. The cluster itself uses real time.
 */
import * as Transport from "@homeostat/runtime/client/Transport"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Eventually from "../Eventually.ts"
import * as VirtualTime from "../VirtualTime.ts"
import type { Ground, Time } from "./Ground.ts"

/** The clock of a program on a real cluster. */
export interface RealTime extends Time, Pick<Ground, "instant" | "isRestless"> {
  /** The number of requests and events so far. */
  readonly activity: () => number
  /** Wraps a transport, so that the clock waits for its requests and events. */
  readonly over: (transport: Transport.Transport["Service"]) => Layer.Layer<Transport.Transport>
}

/**
 * The time in milliseconds without a request or event after which connections are calm. An event arrives some milliseconds after its
 * write.
 */
const calmMillis = 80

/** The time in milliseconds that fibers may take to send a request after a skip. */
const wakeMillis = 10

/** The maximum time of a response, in milliseconds. After that, the process counts as suspended or dead. */
const longestAnswer = 3000

/** The maximum time of consecutive requests without a calm, in milliseconds. */
const longestBusy = 15_000

/** Makes a clock that starts now. */
export const make = (): RealTime => {
  let calms = 0
  let isRestless = false
  let last = 0
  let activity = 0
  /** The send times of the requests without a response. */
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
  const { clock, pass, process } = VirtualTime.leaping({ calm })

  const timed = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.suspend(() => {
      // The key must be unique, because two requests may be sent at the same time.
      let since = now()
      while (pending.has(since)) since += 0.001
      pending.add(since)
      const ended = Effect.sync(() => {
        pending.delete(since)
        last = now()
      })
      return Effect.ensuring(Effect.andThen(note, effect), ended)
    })

  return {
    clock,
    pass,
    process,
    within: (effect) =>
      effect.pipe(Effect.provideService(Eventually.pace, pass), Effect.provideService(Clock.Clock, clock)),
    during: (effect) =>
      Effect.gen(function* () {
        const fiber = yield* Effect.forkChild(effect)
        while (!fiber.pollUnsafe()) yield* pass("100 millis")
        return yield* Fiber.join(fiber)
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
