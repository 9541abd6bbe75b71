/**
 * The one Effect that carries out what `Reflector.step` decides: requests, delays, and the life of a connection.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import type { ApiError } from "../client/ApiError.ts"
import * as Time from "../resource/Time.ts"
import * as Reflector from "./Reflector.ts"
import type { Source } from "./Source.ts"

/** What is kept in step. All but `report` is synchronous and must not throw. */
export interface Sink {
  readonly edit: (edit: Reflector.Edit) => void
  /** A watch was resumed, or the kind was listed again. */
  readonly counted: (what: "Restarted" | "Relisted", reason: Reflector.Reason) => void
  /** The server sent an event, a bookmark or a list, or ended a watch in order. */
  readonly heard: () => void
  /** After each step. An effect that it returns is run before anything else: it is for telling people. */
  readonly moved: (state: Reflector.State) => Effect.Effect<void> | undefined
}

/** Objects per page: some 2 ms of parsing each, so that other work gets its turn in between. */
const pageSize = 500

/** Whether the server says something about the kind. That it accepts a watch says nothing, and neither does an error. */
const isWord = (input: Reflector.Input): boolean =>
  input._tag === "Listed" ||
  input._tag === "Ended" ||
  (input._tag === "Told" && input.events.some(({ type }) => type !== "ERROR"))

type Next = Extract<Reflector.Action, { readonly _tag: "Ask" | "Read" | "Wait" }>

/**
 * Keeps `sink` in step with `source`, for ever: it ends by interruption only, which closes the connection. Delays are
 * lengthened by up to half, so that many clients do not come back in one moment.
 *
 * Bytes, store and subscribers are plain synchronous code: one Effect for each chunk that arrives, none for each event.
 */
export const run = (source: Source, sink: Sink, strategy?: Reflector.State["strategy"]): Effect.Effect<never> =>
  Effect.gen(function* () {
    const clock = yield* Effect.clock
    let state = Reflector.initial(strategy)
    let report: Effect.Effect<void> | undefined

    const advance = (input: Reflector.Input): Next => {
      if (isWord(input)) sink.heard()
      const [to, actions] = Reflector.step(state, input)
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

    const connected = Effect.fnUntraced(function* (request: Reflector.Request) {
      const opening = yield* Effect.either(
        source.watch({
          resourceVersion: request._tag === "Resume" ? request.resourceVersion : undefined,
          initialEvents: request._tag === "Stream"
        })
      )
      if (opening._tag === "Left") return advance(failed(opening.left))
      const openedAt = Time.monotonic(clock)
      const happened = Effect.match(opening.right.next, {
        onSuccess: (events): Reflector.Input => ({ _tag: "Told", events }),
        onFailure: (end): Reflector.Input => {
          switch (end._tag) {
            case "Ended":
              return { _tag: "Ended", livedMillis: Time.monotonic(clock) - openedAt }
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
        const page = yield* Effect.either(source.page({ limit: pageSize, continue: next.request.continue }))
        next = advance(page._tag === "Left" ? failed(page.left) : { _tag: "Listed", page: page.right })
      } else if (next._tag === "Ask") {
        next = yield* connected(next.request)
      } else return yield* Effect.dieMessage("a watch was to be read after it was closed")
    }
  })
