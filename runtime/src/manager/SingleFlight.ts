/**
 * Questions that many may ask at once: one request for each key, a few requests at a time, and a bounded number that wait, in the
 * order in which they came. A question that finds no room is refused at once, so that a flood costs neither memory nor time.
 */
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import type * as Scope from "effect/Scope"

/** There is no room for a question: ask again later. Without a stack, which costs more than all else in a flood. */
export class Crowded extends Data.TaggedClass("Crowded")<object> {}

/** The refusal. */
export const crowded = new Crowded()

/** How many questions there may be. */
export interface Options {
  /** Requests that are under way at a time. */
  readonly concurrency: number
  /** Questions that wait for that. */
  readonly waiting: number
  /** Questions of one source, waiting and under way, so that one source leaves room for others. */
  readonly perSource: number
  /** Callers that share one question. */
  readonly sharing: number
}

/** Answers questions. */
export interface SingleFlight<A, E> {
  /** Whether there is no room for a question now. */
  readonly refuses: (key: string, source: string) => boolean
  /**
   * Begins a question, or joins the callers with the same key, and gives what waits for the answer. A caller that does not wait for
   * it does not interrupt the question.
   *
   * @param source where it comes from, such as an IP address
   */
  readonly ask: (
    key: string,
    source: string,
    question: Effect.Effect<A, E>
  ) => Effect.Effect<Effect.Effect<A, E>, Crowded>
}

interface Flight<A, E> {
  readonly key: string
  readonly source: string
  readonly question: Effect.Effect<A, E>
  readonly answer: Deferred.Deferred<A, E>
  callers: number
}

/** One that runs its questions in the scope. */
export const make = <A, E>(options: Options): Effect.Effect<SingleFlight<A, E>, never, Scope.Scope> =>
  Effect.map(Effect.scope, (scope) => {
    const flights = new Map<string, Flight<A, E>>()
    const waiting: Array<Flight<A, E>> = []
    let underWay = 0

    const start = (flight: Flight<A, E>): Effect.Effect<void> =>
      Effect.suspend(() => {
        underWay++
        return Effect.intoDeferred(flight.question, flight.answer).pipe(
          Effect.zipRight(
            Effect.suspend(() => {
              flights.delete(flight.key)
              underWay--
              const next = waiting.shift()
              return next === undefined ? Effect.void : start(next)
            })
          ),
          Effect.forkIn(scope)
        )
      })

    const refuses = (key: string, source: string): boolean => {
      const shared = flights.get(key)
      if (shared !== undefined) return shared.callers >= options.sharing
      if (underWay >= options.concurrency && waiting.length >= options.waiting) return true
      let ofSource = 0
      for (const flight of flights.values()) if (flight.source === source) ofSource++
      return ofSource >= options.perSource
    }

    return {
      refuses,
      ask: (key, source, question) =>
        Effect.suspend((): Effect.Effect<Effect.Effect<A, E>, Crowded> => {
          if (refuses(key, source)) return Effect.fail(crowded)
          const shared = flights.get(key)
          if (shared !== undefined) {
            shared.callers++
            return Effect.succeed(Deferred.await(shared.answer))
          }
          const flight = { key, source, question, answer: Deferred.unsafeMake<A, E>(FiberId.none), callers: 1 }
          flights.set(key, flight)
          if (underWay < options.concurrency) return Effect.as(start(flight), Deferred.await(flight.answer))
          waiting.push(flight)
          return Effect.succeed(Deferred.await(flight.answer))
        })
    }
  })
