/**
 * Executes the actions of `Reflector.step`: requests, delays and connections.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import type { ApiError } from "../client/ApiError.ts"
import * as Disconnect from "../client/Disconnect.ts"
import * as Time from "../resource/Time.ts"
import type { ListerWatcher } from "./ListerWatcher.ts"
import * as Reflector from "./Reflector.ts"

/** Receives the actions. All functions are synchronous and must not throw. */
export interface Sink {
  readonly edit: (edit: Reflector.Edit) => void
  /** Counts a resumed watch, or a list after the first one. */
  readonly counted: (what: "Restarted" | "Relisted", reason: Reflector.Reason) => void
  /** The server sent an event, a bookmark or a list, or ended a watch in order. */
  readonly heard: () => void
  /** Called after each step. The watcher runs the returned Effect, a log line, before the next action. */
  readonly moved: (state: Reflector.State) => Effect.Effect<void> | undefined
}

/** Objects per page: about 2 ms of parsing, so that other work runs in between. The client asks for fewer if they are large. */
const pageSize = 500

/** The smallest page. Ten of the largest objects that etcd stores, of 1.5 MB, arrive within 30 seconds at 4 Mbit/s. */
const smallestPage = 10

/** An answer that arrives sooner, in ms, is followed by a page of twice the size. */
const quickMillis = 5000

/** The size of the next page after an answer, or after none in time: large objects over a slow connection need small pages. */
const sizeAfter = (size: number, error: ApiError | undefined, millis: number): number => {
  if (error !== undefined) return Disconnect.isLate(error) ? Math.max(smallestPage, Math.floor(size / 2)) : size
  return millis < quickMillis ? Math.min(pageSize, 2 * size) : size
}

/** Whether the server sent a list, an event or the end of a watch. An accepted watch and an error do not count. */
const isNews = (input: Reflector.Input): boolean =>
  input._tag === "Listed" ||
  input._tag === "Ended" ||
  (input._tag === "Received" && input.events.some(({ type }) => type !== "ERROR"))

type Next = Extract<Reflector.Action, { readonly _tag: "Ask" | "Read" | "Wait" }>

/**
 * Keeps `sink` in step with `source` until interrupted, which closes the connection. Jitter adds up to half to each delay, so that
 * clients do not reconnect at the same moment.
 *
 * The watcher runs one Effect for each chunk that arrives, and none for each event.
 *
 * @param isOptional whether the copy of a kind that the server does not serve is empty; default false
 */
export const run = (source: ListerWatcher, sink: Sink, isOptional?: () => boolean): Effect.Effect<never> =>
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    let state = Reflector.initial
    let report: Effect.Effect<void> | undefined
    let size = pageSize

    const advance = (input: Reflector.Input): Next => {
      if (isNews(input)) sink.heard()
      const [to, actions] = Reflector.step(state, input, isOptional?.())
      let next: Next | undefined
      for (const action of actions) {
        if (action._tag === "Restarted" || action._tag === "Relisted") sink.counted(action._tag, action.reason)
        else if (action._tag === "Ask" || action._tag === "Read" || action._tag === "Wait") next = action
        else sink.edit(action)
      }
      if (next === undefined) throw new Error(`a reflector that is ${state.phase._tag} cannot take ${input._tag}`)
      state = to
      report = sink.moved(to)
      return next
    }

    const failed = (error: ApiError): Reflector.Input => ({ _tag: "Failed", error })

    const connected = Effect.fnUntraced(function* (resourceVersion: string) {
      const opening = yield* Effect.result(source.watch({ resourceVersion }))
      if (opening._tag === "Failure") return advance(failed(opening.failure))
      const openedAt = Time.monotonic(clock)
      const lived = () => Time.monotonic(clock) - openedAt
      const happened = Effect.match(opening.success.next, {
        onSuccess: (events): Reflector.Input => ({ _tag: "Received", events, livedMillis: lived() }),
        onFailure: (end): Reflector.Input => {
          switch (end._tag) {
            case "Ended":
              return { _tag: "Ended", livedMillis: lived() }
            case "Idle":
              return { _tag: "Idle" }
            default:
              return failed(end)
          }
        }
      })
      let next = advance({ _tag: "Opened" })
      while (next._tag === "Read") {
        if (report !== undefined) yield* report
        next = advance(yield* happened)
      }
      return next
    }, Effect.scoped)

    let next = advance({ _tag: "Elapsed" })
    while (true) {
      if (report !== undefined) yield* report
      if (next._tag === "Wait") {
        yield* clock.sleep(Duration.millis(next.millis * (1 + (yield* Random.next) / 2)))
        next = advance({ _tag: "Elapsed" })
      } else if (next._tag === "Ask" && next.request._tag === "List") {
        const askedAt = Time.monotonic(clock)
        const page = yield* Effect.result(source.page({ limit: size, continue: next.request.continue }))
        size = sizeAfter(size, page._tag === "Failure" ? page.failure : undefined, Time.monotonic(clock) - askedAt)
        next = advance(page._tag === "Failure" ? failed(page.failure) : { _tag: "Listed", page: page.success })
      } else if (next._tag === "Ask" && next.request._tag === "Resume") {
        next = yield* connected(next.request.resourceVersion)
      } else return yield* Effect.die(new Error("a watch was to be read after it was closed"))
    }
  })
