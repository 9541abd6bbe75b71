/**
 * The connection between a process and the API server in an exploration. It counts the requests and watch events, and injects the faults
 * of a schedule at their points.
 */
import type * as ApiError from "@homeostat/runtime/client/ApiError"
import * as Disconnect from "@homeostat/runtime/client/Disconnect"
import { infoOf, type Request } from "@homeostat/runtime/client/Request"
import type { Response, Streaming } from "@homeostat/runtime/client/Response"
import * as Transport from "@homeostat/runtime/client/Transport"
import { Reconciliation } from "@homeostat/runtime/controller/Reconciliation"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { type Asked, askedOf } from "../RequestMatch.ts"
import type { Fault, ForeignWrite, Planned, Point } from "./Fault.ts"
import * as Views from "./Views.ts"

/** The delay of a late event. */
export const lag = "20 seconds"

/** The duration of an outage, in milliseconds. The retries of one request end before it, and the retries of a reconcile become slow. */
const outage = 30_000

/** A counted request. */
export interface Sent {
  readonly asked: Asked
  readonly method: string
  readonly path: string
  readonly body: string | undefined
  /** The name of the process. */
  readonly process: string
  /** The identifier of the attempt; undefined outside of an attempt. */
  readonly attempt: string | undefined
  /** The send time in epoch milliseconds. */
  readonly at: number
  /** The status of the response, even of a lost response; undefined before the response. */
  status: number | undefined
  /** Whether the request changed the store. An accepted request may change nothing. */
  changed: boolean
  /** The objects whose last change had not reached the process: `configmaps default/shop`. */
  readonly stale: ReadonlyArray<string>
}

/** The process of a wire. */
export interface Owner {
  readonly name: string
  /** Whether the process has died. Its requests no longer reach the API server. */
  dead: boolean
  /** Whether the exploration of this world has ended. All requests then fail. */
  closed: boolean
  readonly suspend: () => void
}

/** The faults and counts of one world. */
export interface Director {
  /**
   * The requests of all processes since the last `arm`. Watches, lists of caches, Leases, Events and access reviews do not count.
   */
  readonly sent: ReadonlyArray<Sent>
  /** The number of events of each watch since the last `arm`. */
  readonly events: ReadonlyMap<string, number>
  /** Returns the requests and the numbers of watch events since the last fault or `arm`. */
  readonly sinceFault: () => Pick<Director, "events" | "sent">
  /** The faults that occurred, each at its real point. */
  readonly fired: () => ReadonlyArray<Planned>
  /** Resets the counts, and sets these faults. */
  readonly arm: (faults: ReadonlyArray<Planned>) => void
  /** Returns the number of late events that have not reached a living process. */
  readonly late: () => number
  /** Returns the end of the last outage, in epoch milliseconds; 0 without an outage. */
  readonly restored: () => number
  /** Ends the loss of events: the resourceVersion of the watch has expired. Returns whether a watch lost events. */
  readonly expire: () => boolean
  /** Returns the transport of a process. */
  readonly over: (owner: Owner, transport: Layer.Layer<Transport.Transport>) => Layer.Layer<Transport.Transport>
}

/** The callbacks of a world for faults. */
export interface Hooks {
  /** The delays of the watches. */
  readonly views: Views.Views
  /** Whether the cluster is a real one, which may reorder requests at different sites. */
  readonly isReal?: boolean | undefined
  /** Returns the time in epoch milliseconds. */
  readonly now: () => number
  /** Returns a new value after each change of the object of a request. */
  readonly revision: (sent: Sent) => Effect.Effect<number | string>
  /** Kills the process. */
  readonly crash: (owner: Owner) => void
  /** Suspends the process. */
  readonly suspended: (owner: Owner) => void
  /** Runs for each request of an attempt that a fault makes fail, with the identifier of the attempt. */
  readonly struck: (attempt: string) => void
  /** Makes a write of another client. */
  readonly foreign: (how: ForeignWrite, sent: Sent) => Effect.Effect<void>
  /** Whether the process no longer gets responses, because it sends requests in a loop without a pause. Runs for each request. */
  readonly isEndless: (owner: Owner) => boolean
  /** Runs before and after a write reaches the API server. */
  readonly write: (sent: Sent, when: "before" | "after") => Effect.Effect<void>
}

/** An outage leaves Leases out, so that the leader stays the same. */
const leases = "/apis/coordination.k8s.io/v1/leases"

const uncounted = new Set(["/api/v1/events", "/apis/events.k8s.io/v1/events", leases])

/** Whether the requests of a collection count. */
export const counts = ({ collection, verb }: Asked): boolean =>
  verb !== "watch" && !uncounted.has(collection) && !collection.includes("/selfsubject")

/** Whether the request is a write. */
export const writes = ({ asked: { verb } }: Sent): boolean => verb !== "get" && verb !== "list"

/** Returns the storage of a collection: `apps/deployments` for `/apis/apps/v1/deployments`. */
export const storageOf = (collection: string): string => {
  const parts = collection.split("/")
  return parts[1] === "api" ? `/${parts[3]}` : `${parts[2]}/${parts[4]}`
}

/** Returns a collection without the root of its path: `apps/v1/deployments`. */
export const resourceOf = (collection: string): string => collection.replace(/^\/(api\/v1|apis)\//, "")

const joined = (...parts: ReadonlyArray<string>): string => parts.filter((part) => part !== "").join("/")

/** Formats a request for messages: `PATCH apps/v1/deployments/default/shop`. */
export const textOf = ({ asked: { collection, name, namespace, subresource }, method }: Sent): string =>
  `${method} ${joined(resourceOf(collection), namespace, name, subresource)}`

/** Returns the kind of a request: `PATCH apps/v1/deployments`. */
export const siteOf = ({ asked: { collection, subresource }, method }: Sent): string =>
  `${method} ${joined(resourceOf(collection), subresource)}`

const reasons: { readonly [status: number]: readonly [reason: string, message: string] } = {
  403: ["Forbidden", "the request is forbidden: the exploration refuses it once"],
  409: ["Conflict", "the object has been modified; please apply your changes to the latest version and try again"],
  410: ["Expired", "too old resource version: 1 (2)"],
  422: [
    "Invalid",
    "the object is forbidden: ValidatingAdmissionPolicy 'exploration' with binding 'exploration' denied request: once"
  ],
  429: ["TooManyRequests", "too many requests, please try again later"],
  500: ["InternalError", "Internal error occurred: etcdserver: request timed out"],
  503: ["ServiceUnavailable", "the server is currently unable to handle the request"]
}

const statusOf = (code: number): object => {
  const [reason, message] = reasons[code] ?? ["", ""]
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message,
    reason,
    ...(code === 429 ? { details: { retryAfterSeconds: 1 } } : {}),
    code
  }
}

const answer = (status: number): Response => ({
  status,
  headers: {
    get: (name) =>
      ({ "content-type": "application/json", "retry-after": status === 429 ? "1" : null })[name.toLowerCase()] ?? null
  },
  body: JSON.stringify(statusOf(status))
})

const bookmark = new TextEncoder().encode('{"type":"BOOKMARK"')

/** Whether a part of a watch is a bookmark, which changes no object. */
const isBookmark = (part: Uint8Array): boolean => bookmark.every((byte, index) => part[index] === byte)

const expired = new TextEncoder().encode(`${JSON.stringify({ type: "ERROR", object: statusOf(410) })}\n`)

/** Returns a director that counts, but injects no faults. */
export const observing = ({ now, revision }: Pick<Hooks, "now" | "revision">): Director =>
  make({
    now,
    revision,
    views: Views.make(),
    crash: () => undefined,
    suspended: () => undefined,
    struck: () => undefined,
    foreign: () => Effect.void,
    isEndless: () => false,
    write: () => Effect.void
  })

/** Makes a director without faults. */
export const make = (hooks: Hooks): Director => {
  let sent: Array<Sent> = []
  let events = new Map<string, number>()
  let faults: ReadonlyArray<Planned> = []
  let isArmed = false
  let fired: Array<Planned> = []
  /** The counts at the last fault. */
  let base = { requests: 0, events: new Map<string, number>() }
  /** The ends of the watches that missed events. */
  const missing: Array<Deferred.Deferred<void>> = []
  const late = new Set<{ readonly owner: Owner }>()
  let restored = 0
  const outageLeft = (): number => Math.max(0, restored - hooks.now())

  const due = (matches: (planned: Planned) => boolean): Fault | undefined => {
    const planned = faults[fired.length]
    if (planned === undefined || !matches(planned)) return undefined
    const entry = sent.at(-1)
    const isAtEntry = planned.point._tag === "Request" && entry !== undefined
    const place = isAtEntry ? { text: textOf(entry), site: siteOf(entry) } : {}
    fired.push({ ...planned, point: { ...planned.point, ...place } })
    rebase()
    return planned.fault
  }

  const broken = (request: Request, code: string): Effect.Effect<never, ApiError.Transport> =>
    Effect.fail(Disconnect.make(infoOf(request), "memory", code))

  /** Moves the points of the next fault behind the requests and events so far. */
  const rebase = (): void => {
    base = { requests: sent.length, events: new Map(events) }
  }

  const refused = (entry: Sent, status: number): Effect.Effect<Response> => {
    entry.status = status
    if (entry.attempt !== undefined) hooks.struck(entry.attempt)
    return Effect.succeed(answer(status))
  }

  /** Fails a request in an outage. The points of the next fault count from the end of the outage. */
  const unavailable = (entry: Sent): Effect.Effect<Response> => {
    rebase()
    return refused(entry, 503)
  }

  const faulty = (
    owner: Owner,
    request: Request,
    entry: Sent,
    pass: Effect.Effect<Response, ApiError.Transport | ApiError.Fenced>
  ): Effect.Effect<Response, ApiError.Transport | ApiError.Fenced> => {
    const index = sent.length - 1 - base.requests
    const site = siteOf(entry)
    const isDue = ({ at, nth, site: planned }: Extract<Point, { _tag: "Request" }>): boolean =>
      hooks.isReal === true && nth !== undefined
        ? planned === site && nth === sent.slice(base.requests, -1).filter((one) => siteOf(one) === site).length
        : at === index
    const fault = due(({ point }) => point._tag === "Request" && isDue(point))
    switch (fault?._tag) {
      case "Crash": {
        const crash = Effect.suspend(() => {
          hooks.crash(owner)
          return Transport.abortable(request, Effect.never)
        })
        return fault.when === "before" ? crash : Effect.andThen(pass, crash)
      }
      case "LostAnswer":
        if (entry.attempt !== undefined) hooks.struck(entry.attempt)
        return Effect.andThen(pass, broken(request, "ECONNRESET"))
      case "Refused":
        return refused(entry, fault.status)
      case "Outage":
        restored = hooks.now() + outage
        return unavailable(entry)
      case "ForeignWrite":
        return Effect.andThen(hooks.foreign(fault.how, entry), pass)
      case "SecondLeader":
        return Effect.tap(pass, () =>
          Effect.sync(() => {
            owner.suspend()
            hooks.suspended(owner)
          })
        )
      default:
        return pass
    }
  }

  const through = (owner: Owner, next: Transport.Transport["Service"]): Transport.Transport["Service"] => {
    const send = (request: Request) =>
      Effect.withFiber<Response, ApiError.Transport | ApiError.Fenced>((fiber) => {
        if (owner.closed) return broken(request, "ECONNREFUSED")
        if (owner.dead) return Transport.abortable(request, Effect.never)
        const asked = askedOf(request)
        const attempt = Context.getOrUndefined(fiber.context, Reconciliation)?.id
        const isCached = asked.verb === "list" && attempt === undefined
        const isOut = outageLeft() > 0 && asked.collection !== leases
        if (!isArmed || !counts(asked) || isCached) return isOut ? broken(request, "ECONNREFUSED") : next.send(request)
        const { body, method, path } = request
        const at = hooks.now()
        const { name: process } = owner
        const stale = hooks.views.stale(process)
        const entry: Sent = {
          asked,
          method,
          path,
          body,
          process,
          attempt,
          at,
          stale,
          status: undefined,
          changed: false
        }
        sent.push(entry)
        if (hooks.isEndless(owner)) return Transport.abortable(request, Effect.never)
        if (isOut) return unavailable(entry)
        const isWrite = writes(entry)
        const answered = Effect.tap(next.send(request), ({ status }) =>
          Effect.sync(() => {
            entry.status = status
          })
        )
        const written = Effect.gen(function* () {
          // The request counts as sent, even if its process aborts it from now on.
          yield* Effect.uninterruptible(hooks.write(entry, "before"))
          const revision = yield* hooks.revision(entry)
          const response = yield* answered
          entry.changed = response.status < 300 && (yield* hooks.revision(entry)) !== revision
          if (entry.changed && typeof revision === "number")
            hooks.views.wrote(process, storageOf(asked.collection), revision)
          yield* hooks.write(entry, "after")
          return response
        })
        return faulty(owner, request, entry, isWrite ? written : answered)
      })
    const open = (request: Request) =>
      Effect.suspend(() => {
        if (owner.closed || owner.dead || outageLeft() > 0) return broken(request, "ECONNREFUSED")
        const { collection: watch, verb } = askedOf(request)
        return verb === "watch" && !uncounted.has(watch)
          ? Effect.map(next.open(request), (streaming) => counted(owner, request, watch, streaming))
          : next.open(request)
      })
    const counted = (owner: Owner, request: Request, watch: string, streaming: Streaming): Streaming => {
      const view = hooks.views.opened(owner.name, storageOf(watch), request.path)
      const arriving = Effect.tap(held(owner, request, watch, streaming), (part) =>
        Effect.sync(() => {
          if (part !== undefined) view.arrived(part)
        })
      )
      return { ...streaming, next: arriving }
    }
    const held = (owner: Owner, request: Request, watch: string, streaming: Streaming): Streaming["next"] =>
      Effect.flatMap(streaming.next, (part) => {
        if (owner.closed) return broken(request, "ECONNREFUSED")
        if (!isArmed || part === undefined || isBookmark(part)) return Effect.succeed(part)
        const at = events.get(watch) ?? 0
        events.set(watch, at + 1)
        const delayed = (delay: Duration.Input) => {
          const event = { owner }
          late.add(event)
          const arrived = Effect.sync(() => late.delete(event))
          return Transport.abortable(request, Effect.ensuring(Effect.delay(Effect.succeed(part), delay), arrived))
        }
        const left = outageLeft()
        if (left > 0) {
          rebase()
          return delayed(left)
        }
        const fault = due(
          ({ point }) =>
            point._tag === "Event" && point.watch === watch && point.at === at - (base.events.get(watch) ?? 0)
        )
        if (fault?._tag === "Lag") return delayed(lag)
        if (fault?._tag !== "Missed") return Effect.succeed(part)
        const end = Deferred.makeUnsafe<void>()
        missing.push(end)
        return Transport.abortable(request, Effect.as(Deferred.await(end), expired))
      })
    return Transport.Transport.of({ server: next.server, send, open })
  }

  return {
    get sent() {
      return sent
    },
    get events() {
      return events
    },
    sinceFault: () => ({
      sent: sent.slice(base.requests),
      events: new Map(Array.from(events, ([watch, count]) => [watch, count - (base.events.get(watch) ?? 0)]))
    }),
    fired: () => fired,
    restored: () => restored,
    late: () => [...late].filter(({ owner }) => !owner.dead).length,
    arm: (planned) => {
      isArmed = true
      faults = planned
      fired = []
      sent = []
      events = new Map()
      restored = 0
      rebase()
    },
    expire: () => {
      const ends = missing.splice(0)
      for (const end of ends) Deferred.doneUnsafe(end, Effect.yieldNow)
      return ends.length > 0
    },
    over: (owner, transport) =>
      Layer.provide(
        Layer.effect(
          Transport.Transport,
          Effect.map(Transport.Transport, (next) => through(owner, next))
        ),
        transport
      )
  }
}
