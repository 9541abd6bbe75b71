/**
 * Faults between a client and the API server, as networks and busy servers have them: delayed watches, conflicts, lost answers, 429, 410,
 * broken connections. Each fault is a rule for some requests, a number of times or by chance. Chance comes from a seed, so that a test
 * takes the same course each time.
 */
import type * as ApiError from "@homeostat/runtime/client/ApiError"
import * as Disconnect from "@homeostat/runtime/client/Disconnect"
import { infoOf, type Request } from "@homeostat/runtime/client/Request"
import type { Response, Streaming } from "@homeostat/runtime/client/Response"
import * as Transport from "@homeostat/runtime/client/Transport"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberId from "effect/FiberId"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import { PCGRandom } from "effect/Utils"
import { type Asked, askedOf, type Match, matches } from "./RequestMatch.ts"

/** A fault. */
export type Fault =
  | { readonly _tag: "Answer"; readonly status: number; readonly reason: string; readonly retryAfter?: number }
  | { readonly _tag: "Refused" | "Lost" | "Held" }
  | { readonly _tag: "Delayed"; readonly least: number; readonly most: number }

const answer = (status: number, reason: string, retryAfter?: number): Fault => ({
  _tag: "Answer",
  status,
  reason,
  ...(retryAfter === undefined ? {} : { retryAfter })
})

/**
 * The API server rejects a write, because another client changed the object: 409.
 *
 * @example
 * ```ts
 * cluster.faults.on({ verb: "update", kind: Site }, Faults.conflict, { times: 2 })
 * ```
 */
export const conflict: Fault = answer(409, "Conflict")

/**
 * The API server has too many requests: 429. The client may try again after a time, in whole seconds.
 *
 * @example
 * ```ts
 * cluster.faults.on({ verb: "create" }, Faults.tooManyRequests("2 seconds"), { times: 1 })
 * ```
 */
export const tooManyRequests = (retryAfter: Duration.DurationInput): Fault =>
  answer(429, "TooManyRequests", Math.ceil(Duration.toSeconds(retryAfter)))

/**
 * The API server is not available: 503.
 *
 * @example
 * ```ts
 * cluster.faults.on({}, Faults.unavailable, { times: 10 })
 * ```
 */
export const unavailable: Fault = answer(503, "ServiceUnavailable")

/**
 * The API server no longer has the resourceVersion from which a watch or a page continues: 410. A watch gets it as an event.
 *
 * @example
 * ```ts
 * cluster.faults.on({ verb: "watch", kind: Site }, Faults.expired, { times: 1 })
 * yield* cluster.faults.endWatches({ kind: Site })
 * ```
 */
export const expired: Fault = answer(410, "Expired")

/**
 * The connection is refused, so the API server does not get the request.
 *
 * @example
 * ```ts
 * cluster.faults.on({}, Faults.refused, { chance: 0.1 })
 * ```
 */
export const refused: Fault = { _tag: "Refused" }

/**
 * The API server does what the request says, and the connection breaks before the answer.
 *
 * @example
 * ```ts
 * cluster.faults.on({ verb: "create", kind: BuiltIn.ConfigMap }, Faults.lost, { times: 1 })
 * ```
 */
export const lost: Fault = { _tag: "Lost" }

/**
 * The request waits until the rule is removed, and then reaches the API server. A client may give up before.
 *
 * @example
 * ```ts
 * const rule = cluster.faults.on({ verb: "list", kind: Site }, Faults.held)
 * rule.remove()
 * ```
 */
export const held: Fault = { _tag: "Held" }

/**
 * An answer, or each event of a watch, arrives later by a time between two limits. The events of one watch keep their order, so a long
 * delay holds back the events after it. The default of the upper limit is the lower one.
 *
 * @example
 * ```ts
 * cluster.faults.on({ verb: "watch", kind: BuiltIn.Deployment }, Faults.delayed("1 second", "5 seconds"))
 * ```
 */
export const delayed = (least: Duration.DurationInput, most: Duration.DurationInput = least): Fault => ({
  _tag: "Delayed",
  least: Duration.toMillis(least),
  most: Duration.toMillis(most)
})

/** A fault that is in force. */
export interface Rule {
  /** How many requests, or events of watches, it has hit. */
  readonly hits: () => number
  /** Ends it. */
  readonly remove: () => void
}

/** How often a rule applies. */
export interface Often {
  /** The number of requests. Default: no limit. */
  readonly times?: number | undefined
  /** The probability for each request, from 0 to 1. Default 1. */
  readonly chance?: number | undefined
}

/** The faults of one client. */
export interface Faults {
  /** Adds a rule. The first rule that applies to a request decides, besides delays, which add up with another fault. */
  readonly on: (match: Match, fault: Fault, often?: Often) => Rule
  /** Removes all rules. */
  readonly clear: () => void
  /** Ends the open watches as the API server does after some minutes: without an error. Clients resume them. Returns their number. */
  readonly endWatches: (match?: Match) => Effect.Effect<number>
  /** Breaks the connections of the open watches. Returns their number. */
  readonly breakWatches: (match?: Match) => Effect.Effect<number>
  /** The transport with these faults. */
  readonly over: (transport: Layer.Layer<Transport.Transport>) => Layer.Layer<Transport.Transport>
}

type Failure = ApiError.Transport | ApiError.Fenced

/** The body of an answer that is an error. */
const statusOf = ({ reason, retryAfter, status }: Extract<Fault, { _tag: "Answer" }>, asked: Asked): string =>
  JSON.stringify({
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message: messages[reason]?.(asked) ?? reason,
    reason,
    ...(retryAfter === undefined ? {} : { details: { retryAfterSeconds: retryAfter } }),
    code: status
  })

/** The messages of the API server. */
const messages: { readonly [reason: string]: (asked: Asked) => string } = {
  Conflict: ({ collection, name }) =>
    `Operation cannot be fulfilled on ${collection.split("/").at(-1)} "${name}": the object has been modified; please apply your changes to the latest version and try again`,
  TooManyRequests: () => "too many requests, please try again later",
  ServiceUnavailable: () => "the server is currently unable to handle the request",
  Expired: ({ verb }) =>
    verb === "watch"
      ? "too old resource version: 1 (2)"
      : "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter."
}

interface State extends Rule {
  readonly match: Match
  readonly fault: Fault
  readonly chance: number
  readonly removed: Deferred.Deferred<void>
  /** Counts a request, if the rule applies to it. */
  readonly hit: (asked: Asked) => boolean
}

type Ending = "ended" | "broken"

/** Bytes of a stream; `undefined` at its end. */
type Part = Exit.Exit<Uint8Array | undefined, ApiError.Transport>

interface OpenWatch {
  readonly asked: Asked
  readonly end: (how: Ending) => Effect.Effect<void>
}

const encoder = new TextEncoder()

/**
 * No faults yet.
 *
 * @example
 * ```ts
 * const faults = Faults.make(7)
 * faults.on({ verb: ["update", "patch"] }, Faults.conflict, { chance: 0.2 })
 * ```
 */
export const make = (seed = 1): Faults => {
  const random = new PCGRandom(seed)
  const rules = new Set<State>()
  const watches = new Set<OpenWatch>()

  const on: Faults["on"] = (match, fault, { chance = 1, times = Number.POSITIVE_INFINITY } = {}) => {
    let hits = 0
    const removed = Deferred.unsafeMake<void>(FiberId.none)
    const rule: State = {
      match,
      fault,
      chance,
      removed,
      hits: () => hits,
      hit: (asked) => {
        if (hits >= times || !matches(match, asked)) return false
        if (chance < 1 && random.number() >= chance) return false
        hits++
        return true
      },
      remove: () => {
        rules.delete(rule)
        Deferred.unsafeDone(removed, Effect.void)
      }
    }
    rules.add(rule)
    return rule
  }

  const delayOf = ({ least, most }: { readonly least: number; readonly most: number }): number =>
    least === most ? least : least + random.number() * (most - least)

  /** The delay of a request or event in ms; 0 without one. */
  const lagOf = (asked: Asked): number => {
    let lag = 0
    for (const rule of rules) if (rule.fault._tag === "Delayed" && rule.hit(asked)) lag += delayOf(rule.fault)
    return lag
  }

  /** The rule that decides about a request. */
  const hitOf = (asked: Asked): State | undefined => {
    for (const rule of rules) if (rule.fault._tag !== "Delayed" && rule.hit(asked)) return rule
    return undefined
  }

  const broken = (request: Request, server: string, code: string) =>
    Effect.fail(Disconnect.make(infoOf(request), server, code))

  /** The answer of a rule, or the request itself. */
  const decided = <A, R>(
    request: Request,
    server: string,
    asked: Asked,
    pass: Effect.Effect<A, Failure, R>,
    answered: (status: number, body: string, headers: { readonly [name: string]: string }) => A
  ): Effect.Effect<A, Failure, R> =>
    Effect.suspend(() => {
      const rule = hitOf(asked)
      if (rule === undefined) return pass
      const { fault } = rule
      switch (fault._tag) {
        case "Answer":
          return Effect.succeed(
            answered(fault.status, statusOf(fault, asked), {
              "content-type": "application/json",
              ...(fault.retryAfter === undefined ? {} : { "retry-after": String(fault.retryAfter) })
            })
          )
        case "Refused":
          return broken(request, server, "ECONNREFUSED")
        case "Lost":
          return Effect.zipRight(pass, broken(request, server, "ECONNRESET"))
        default:
          return Effect.zipRight(Transport.abortable(request, Deferred.await(rule.removed)), pass)
      }
    })

  const headersOf = (headers: { readonly [name: string]: string }) => ({
    get: (name: string) => headers[name.toLowerCase()] ?? null
  })

  const through = (transport: Transport.Transport["Type"]) => {
    const send = (request: Request) => {
      if (rules.size === 0) return transport.send(request)
      const asked = askedOf(request)
      return decided(
        request,
        transport.server,
        asked,
        transport.send(request),
        (status, body, headers): Response => ({
          status,
          body,
          headers: headersOf(headers)
        })
      ).pipe(
        Effect.tap(() => {
          const lag = lagOf(asked)
          return lag === 0 ? Effect.void : Transport.abortable(request, Effect.sleep(lag))
        })
      )
    }
    const open = (request: Request) => {
      const asked = askedOf(request)
      const opened = Effect.flatMap(transport.open(request), (streaming) => lagging(request, asked, streaming))
      return decided(request, transport.server, asked, opened, (status, body, headers): Streaming => {
        const isEvent = status === 410
        let text: string | undefined = isEvent
          ? `${JSON.stringify({ type: "ERROR", object: JSON.parse(body) })}\n`
          : body
        return {
          status: isEvent ? 200 : status,
          headers: headersOf(headers),
          next: Effect.sync(() => {
            const part = text === undefined ? undefined : encoder.encode(text)
            text = undefined
            return part
          }),
          abort: Effect.void
        }
      })
    }
    /** The stream, with the events of a watch at their time. Without a delay it is read directly, which costs less. */
    const lagging = (request: Request, asked: Asked, streaming: Streaming) =>
      Effect.gen(function* () {
        const scope = yield* Effect.scope
        let how: Ending | undefined
        const ended = Effect.suspend(() =>
          how === "ended" ? Effect.succeed(undefined) : broken(request, transport.server, "ECONNRESET")
        )
        /** The events that have arrived, once one of them was late. */
        let parts: Queue.Queue<{ readonly part: Part; readonly due: number }> | undefined
        let due = 0
        const arrive = (queue: NonNullable<typeof parts>, part: Part, lag: number) =>
          Effect.map(Clock.currentTimeMillis, (now) => {
            due = Math.max(due, now + lag)
            return Queue.unsafeOffer(queue, { part, due })
          })
        const pump = (queue: NonNullable<typeof parts>) =>
          Effect.gen(function* () {
            while (true) {
              const part = yield* Effect.exit(streaming.next)
              const isLast = Exit.isFailure(part) || part.value === undefined
              yield* arrive(queue, part, isLast ? 0 : lagOf(asked))
              if (isLast) return
            }
          })
        const late = (queue: NonNullable<typeof parts>) =>
          Effect.gen(function* () {
            const { due, part } = yield* Queue.take(queue)
            const wait = due - (yield* Clock.currentTimeMillis)
            if (wait > 0) yield* Effect.sleep(wait)
            return how === undefined ? yield* part : yield* ended
          })
        const next = Effect.suspend(() => {
          if (how !== undefined) return ended
          if (parts !== undefined) return Transport.abortable(request, late(parts))
          return Effect.matchEffect(streaming.next, {
            onFailure: (error) => (how === undefined ? Effect.fail(error) : ended),
            onSuccess: (part) => {
              if (how !== undefined) return ended
              const lag = part === undefined ? 0 : lagOf(asked)
              if (lag === 0) return Effect.succeed(part)
              return Effect.gen(function* () {
                const queue = yield* Queue.unbounded<{ readonly part: Part; readonly due: number }>()
                parts = queue
                yield* arrive(queue, Exit.succeed(part), lag)
                yield* Effect.forkIn(pump(queue), scope)
                return yield* Transport.abortable(request, late(queue))
              })
            }
          })
        })
        const watch: OpenWatch = {
          asked,
          end: (ending) =>
            Effect.suspend(() => {
              watches.delete(watch)
              how = ending
              return streaming.abort
            })
        }
        watches.add(watch)
        yield* Effect.addFinalizer(() => Effect.sync(() => watches.delete(watch)))
        return { ...streaming, next }
      })
    return Transport.Transport.of({ server: transport.server, send, open })
  }

  const each = (match: Match, how: Ending): Effect.Effect<number> =>
    Effect.suspend(() => {
      const chosen = [...watches].filter(({ asked }) => matches(match, asked))
      return Effect.as(
        Effect.forEach(chosen, ({ end }) => end(how)),
        chosen.length
      )
    })

  return {
    on,
    clear: () => {
      for (const rule of rules) rule.remove()
    },
    endWatches: (match = {}) => each(match, "ended"),
    breakWatches: (match = {}) => each(match, "broken"),
    over: (transport) =>
      Layer.map(transport, (context) =>
        Context.make(Transport.Transport, through(Context.get(context, Transport.Transport)))
      )
  }
}

/** How much trouble {@link chaos} makes. */
export interface Chaos {
  /** The probability of each fault for a request, from 0 to 1. Default 0.05. */
  readonly chance?: number | undefined
  /** The longest delay of an answer and of an event. Default 1 second. */
  readonly lag?: Duration.DurationInput | undefined
}

/**
 * Adds faults of every kind by chance: delays, conflicts, 429, 503, refused connections, lost answers and expired watches. Returns the
 * rules.
 *
 * @example
 * ```ts
 * Faults.chaos(cluster.faults, { chance: 0.1, lag: "5 seconds" })
 * ```
 */
export const chaos = (
  { on }: Faults,
  { chance = 0.05, lag = "1 second" }: Chaos = {}
): readonly [Rule, ...ReadonlyArray<Rule>] => [
  on({}, delayed(0, lag)),
  on({ verb: ["update", "patch"] }, conflict, { chance }),
  on({ verb: ["create", "update", "patch", "delete"] }, lost, { chance }),
  on({ verb: ["list", "watch"] }, expired, { chance }),
  ...[tooManyRequests("1 second"), unavailable, refused].map((fault) => on({}, fault, { chance }))
]
