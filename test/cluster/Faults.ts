/**
 * Faults between a client and the API server, as networks and busy servers cause them: delayed watches, conflicts, lost responses, 429,
 * 410 and broken connections.
 * Each fault is a rule for some requests. It applies a number of times, or by chance from a seed, so that a test takes the same course
 * each time.
 */
import * as Pcg from "@homeostat/apiserver/model/Pcg"
import type * as ApiError from "@homeostat/runtime/client/ApiError"
import * as Disconnect from "@homeostat/runtime/client/Disconnect"
import { infoOf, type Request } from "@homeostat/runtime/client/Request"
import type { Streaming } from "@homeostat/runtime/client/Response"
import * as Transport from "@homeostat/runtime/client/Transport"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { type Answered, responseOf, statusOf, streamingOf } from "./FaultyAnswer.ts"
import * as FaultyStream from "./FaultyStream.ts"
import { type Asked, askedOf, type Match, matches, type Verb } from "./RequestMatch.ts"

/** A fault. */
export type Fault =
  | ({ readonly _tag: "Answer"; readonly status: number } & Details)
  | { readonly _tag: "Refused" | "Lost" | "Held" | "Unanswered" }
  | { readonly _tag: "Delayed"; readonly least: number; readonly most: number }

/** The reason, the message and the delay of an error. */
export interface Details {
  /** Default: that of the API server for the status code. */
  readonly reason?: string | undefined
  /** Default: that of the API server for the reason, or the reason. */
  readonly message?: string | undefined
  /** The seconds after which the client may retry. Default: the API server sends no delay. */
  readonly retryAfter?: number | undefined
}

/**
 * The API server responds with an error of this HTTP status code, and does not execute the request.
 *
 * @example
 * ```ts
 * cluster.faults.on({ verb: "list", kind: BuiltIn.Secret }, Faults.answer(403))
 * cluster.faults.on({ verb: "patch" }, Faults.answer(422, { message: "the field is immutable" }), { times: 1 })
 * ```
 */
export const answer = (status: number, details: Details = {}): Fault => ({ _tag: "Answer", status, ...details })

/**
 * The API server rejects a write, because another client changed the object: 409.
 *
 * @example
 * ```ts
 * cluster.faults.on({ verb: "update", kind: Site }, Faults.conflict, { times: 2 })
 * ```
 */
export const conflict: Fault = answer(409)

/**
 * The API server has too many requests: 429. The client may retry after this time, which is rounded up to whole seconds.
 *
 * @example
 * ```ts
 * cluster.faults.on({ verb: "create" }, Faults.tooManyRequests("2 seconds"), { times: 1 })
 * ```
 */
export const tooManyRequests = (retryAfter: Duration.Input): Fault =>
  answer(429, { retryAfter: Math.ceil(Duration.toSeconds(retryAfter)) })

/**
 * The API server is not available: 503.
 *
 * @example
 * ```ts
 * cluster.faults.on({}, Faults.unavailable, { times: 10 })
 * ```
 */
export const unavailable: Fault = answer(503)

/**
 * The API server no longer has the resourceVersion from which a watch or a page continues: 410. A watch gets it as an event.
 *
 * @example
 * ```ts
 * cluster.faults.on({ verb: "watch", kind: Site }, Faults.expired, { times: 1 })
 * yield* cluster.faults.endWatches({ kind: Site })
 * ```
 */
export const expired: Fault = answer(410)

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
 * The API server executes the request, and the connection breaks before the response.
 *
 * @example
 * ```ts
 * cluster.faults.on({ verb: "create", kind: BuiltIn.ConfigMap }, Faults.lost, { times: 1 })
 * ```
 */
export const lost: Fault = { _tag: "Lost" }

/**
 * The request waits until the test removes the rule. Then the other rules apply to it, or it reaches the API server. A client may time
 * out before.
 *
 * @example
 * ```ts
 * const rule = cluster.faults.on({ verb: "list", kind: Site }, Faults.held)
 * rule.remove()
 * ```
 */
export const held: Fault = { _tag: "Held" }

/**
 * The API server executes the request, and the response waits until the test removes the rule. A client may time out before.
 *
 * @example
 * ```ts
 * const rule = cluster.faults.on({ verb: "create", kind: BuiltIn.ConfigMap }, Faults.unanswered, { times: 1 })
 * rule.remove()
 * ```
 */
export const unanswered: Fault = { _tag: "Unanswered" }

/**
 * A response, or each event of a watch, arrives later. The delay is between `least` and `most`; `most` defaults to `least`. The events of
 * one watch keep their order, so a long delay holds back the events after it.
 *
 * @example
 * ```ts
 * cluster.faults.on({ verb: "watch", kind: BuiltIn.Deployment }, Faults.delayed("1 second", "5 seconds"))
 * ```
 */
export const delayed = (least: Duration.Input, most: Duration.Input = least): Fault => ({
  _tag: "Delayed",
  least: Duration.toMillis(least),
  most: Duration.toMillis(most)
})

/** An active rule. */
export interface Rule {
  /** The number of requests, or of events of watches, that the rule has hit. */
  readonly hits: () => number
  /** Removes the rule. */
  readonly remove: () => void
}

/** The limits of a rule: a number of requests, or a probability. */
export interface Often {
  /** The number of requests. Default: no limit. */
  readonly times?: number | undefined
  /** The probability for each request, from 0 to 1. Default 1. */
  readonly chance?: number | undefined
}

/** A request of the client. */
export interface Recorded {
  readonly verb: Verb
  /** The path without the query: `/api/v1/namespaces/default/configmaps/page`. */
  readonly path: string
  readonly query: URLSearchParams
  /** Lower-case names. */
  readonly headers: { readonly [name: string]: string }
  /** The body as JSON, or its text if it is not JSON. `undefined` without a body. */
  readonly body: unknown
}

/** The faults of one client. */
export interface Faults {
  /** Adds a rule. The first matching rule applies to a request. Delays apply in addition to that rule, and add up. */
  readonly on: (match: Match, fault: Fault, often?: Often) => Rule
  /** Removes all rules. */
  readonly clear: () => void
  /**
   * The longest delay of all rules so far, in milliseconds.
   *
   * @internal
   */
  readonly longest: () => number
  /** Records the requests from now on, in their order, including those that a fault hits. The returned list grows with each request. */
  readonly record: (match?: Match) => ReadonlyArray<Recorded>
  /** The number of open watches. */
  readonly watches: (match?: Match) => number
  /** Ends the open watches without an error, as the API server does after some minutes. Clients resume them. Returns their number. */
  readonly endWatches: (match?: Match) => Effect.Effect<number>
  /** Breaks the connections of the open watches. Returns their number. */
  readonly breakWatches: (match?: Match) => Effect.Effect<number>
  /** The transport with these faults. */
  readonly over: (transport: Layer.Layer<Transport.Transport>) => Layer.Layer<Transport.Transport>
}

type Failure = ApiError.Transport | ApiError.Fenced

interface State extends Rule {
  readonly match: Match
  readonly fault: Fault
  readonly chance: number
  readonly removed: Deferred.Deferred<void>
  /** Returns true if the rule applies to a request, and counts that request. */
  readonly hit: (asked: Asked) => boolean
}

interface OpenWatch {
  readonly request: Request
  readonly end: (how: FaultyStream.Ending) => Effect.Effect<void>
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

const makeRecordings = () => {
  const all: Array<{ readonly match: Match; readonly requests: Array<Recorded> }> = []
  return {
    record: (match: Match): ReadonlyArray<Recorded> => {
      const requests: Array<Recorded> = []
      all.push({ match, requests })
      return requests
    },
    noting: ({ body, headers, path }: Request, asked: Asked): Effect.Effect<void> =>
      Effect.sync(() => {
        const query = new URLSearchParams(path.split("?", 2)[1] ?? "")
        const recorded = { verb: asked.verb, path: asked.path, query, headers, body: body && parsed(body) }
        for (const { match, requests } of all) if (matches(match, asked)) requests.push(recorded)
      })
  }
}
type Recordings = ReturnType<typeof makeRecordings>

/**
 * Makes the faults of one client, without any rule.
 *
 * @example
 * ```ts
 * const faults = Faults.make(7)
 * faults.on({ verb: ["update", "patch"] }, Faults.conflict, { chance: 0.2 })
 * ```
 */
export const make = (seed = 1): Faults => {
  const random = Pcg.make(seed)
  const rules = new Set<State>()
  let longest = 0
  let recordings: Recordings | undefined
  const watches = new Set<OpenWatch>()

  const on: Faults["on"] = (match, fault, { chance = 1, times = Number.POSITIVE_INFINITY } = {}) => {
    let hits = 0
    if (fault._tag === "Delayed") longest = Math.max(longest, fault.most)
    const removed = Deferred.makeUnsafe<void>()
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
        // The requests continue after the caller.
        Deferred.doneUnsafe(removed, Effect.yieldNow)
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

  /** The rule that applies to a request. */
  const hitOf = (asked: Asked): State | undefined => {
    for (const rule of rules) if (rule.fault._tag !== "Delayed" && rule.hit(asked)) return rule
    return undefined
  }

  const broken = (request: Request, server: string, code: string) =>
    Effect.fail(Disconnect.make(infoOf(request), server, code))

  /** The response of a rule, or the response to the request itself. */
  const decided = <A, R>(
    request: Request,
    server: string,
    asked: Asked,
    pass: Effect.Effect<A, Failure, R>,
    answered: Answered<A>
  ): Effect.Effect<A, Failure, R> => {
    const decide: Effect.Effect<A, Failure, R> = Effect.suspend(() => {
      const rule = hitOf(asked)
      return rule === undefined ? pass : faulty(rule)
    })
    const faulty = ({ fault, removed }: State): Effect.Effect<A, Failure, R> => {
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
          return Effect.andThen(pass, broken(request, server, "ECONNRESET"))
        case "Unanswered":
          return Effect.tap(pass, Transport.abortable(request, Deferred.await(removed)))
        default:
          return Effect.andThen(Transport.abortable(request, Deferred.await(removed)), decide)
      }
    }
    return recordings === undefined ? decide : Effect.andThen(recordings.noting(request, asked), decide)
  }

  const through = (transport: Transport.Transport["Service"]) => {
    const isPlain = (): boolean => rules.size === 0 && recordings === undefined
    const send = (request: Request) => (isPlain() ? transport.send(request) : faultySend(request))
    const faultySend = (request: Request) => {
      const asked = askedOf(request)
      const sent = Effect.suspend(() => transport.send(request))
      return decided(request, transport.server, asked, sent, responseOf).pipe(
        Effect.tap(() => {
          const lag = lagOf(asked)
          return lag === 0 ? Effect.void : Transport.abortable(request, Effect.sleep(lag))
        })
      )
    }
    const open = (request: Request) =>
      Effect.suspend(() => {
        const opened = Effect.flatMap(transport.open(request), (streaming) => watching(request, streaming))
        return isPlain() ? opened : decided(request, transport.server, askedOf(request), opened, streamingOf)
      })
    const watching = (request: Request, streaming: Streaming) =>
      Effect.gen(function* () {
        const scope = yield* Effect.scope
        const { end, next } = FaultyStream.make(request, transport.server, streaming, scope, () =>
          rules.size === 0 ? 0 : lagOf(askedOf(request))
        )
        const watch: OpenWatch = {
          request,
          end: (how) => {
            watches.delete(watch)
            return end(how)
          }
        }
        watches.add(watch)
        yield* Effect.addFinalizer(() => Effect.sync(() => watches.delete(watch)))
        return { ...streaming, next }
      })
    return Transport.Transport.of({ server: transport.server, send, open })
  }

  const openOf = (match: Match): ReadonlyArray<OpenWatch> =>
    [...watches].filter(({ request }) => matches(match, askedOf(request)))

  const each = (match: Match, how: FaultyStream.Ending): Effect.Effect<number> =>
    Effect.suspend(() => {
      const open = openOf(match)
      return Effect.as(
        Effect.forEach(open, ({ end }) => end(how)),
        open.length
      )
    })

  return {
    on,
    longest: () => longest,
    clear: () => {
      for (const rule of rules) rule.remove()
    },
    record: (match = {}) => {
      recordings ??= makeRecordings()
      return recordings.record(match)
    },
    watches: (match = {}) => openOf(match).length,
    endWatches: (match = {}) => each(match, "ended"),
    breakWatches: (match = {}) => each(match, "broken"),
    over: (transport) =>
      Layer.provide(Layer.effect(Transport.Transport, Effect.map(Transport.Transport, through)), transport)
  }
}

/** The probability and the delays of {@link chaos}. */
export interface Chaos {
  /** The probability of each fault for a request, from 0 to 1. Default 0.05. */
  readonly chance?: number | undefined
  /** The longest delay of a response and of an event. Default 1 second. */
  readonly lag?: Duration.Input | undefined
}

/**
 * Adds rules for every kind of fault by chance: delays, conflicts, 429, 503, refused connections, lost responses and expired watches.
 * Returns the rules.
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
