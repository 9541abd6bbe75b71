/**
 * One watch connection: bytes in, events out, one Effect per chunk of bytes. What to do when it ends is for its driver, the
 * reflector.
 */
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { KubernetesObject } from "../resource/KubernetesObject.ts"
import * as Time from "../resource/Time.ts"
import * as ApiError from "./ApiError.ts"
import * as Disconnect from "./Disconnect.ts"
import type { Streaming } from "./Response.ts"

/**
 * The events of a watch. Objects are as on the wire, without `metadata.managedFields`.
 *
 * A BOOKMARK says that everything up to `resourceVersion` has been sent; with `initialEventsEnd`, that the initial state
 * is complete. After an ERROR the server closes; `Expired` means that the resourceVersion to resume from is gone.
 */
export type Event =
  | { readonly type: "ADDED" | "MODIFIED" | "DELETED"; readonly object: KubernetesObject }
  | { readonly type: "BOOKMARK"; readonly resourceVersion: string; readonly initialEventsEnd: boolean }
  | { readonly type: "ERROR"; readonly error: ApiError.Answered }

/** The server closed the stream in order, usually at `timeoutSeconds`. Go on from the last resourceVersion. */
export class Ended extends Data.TaggedError("Ended")<{ readonly message: string }> {}

/**
 * The server sent nothing for longer than a living connection is silent: the connection is half open, or the resourceVersion is one that
 * the server has not reached (an etcd restored from a backup). Resume once, and list when that is idle, too.
 */
export class Idle extends Data.TaggedError("Idle")<{ readonly message: string }> {}

/** An open watch. Closing the scope it was opened in closes it. */
export interface Connection {
  /**
   * All events of the bytes that have arrived, at least one. For one reader that reads on without pause, since HTTP/2 bodies
   * pile up in memory. Once interrupted, the connection is to be given up: events may be lost.
   */
  readonly next: Effect.Effect<ReadonlyArray<Event>, Ended | Idle | ApiError.Transport>
}

/**
 * How long a connection may be silent, in milliseconds, to a server that sends bookmarks. They come 60 to 61 s apart, so two of them
 * were missed, and half a minute on top.
 */
export const idleMillis = 150_000

/** How much longer than its `timeoutSeconds` a watch may be silent, in milliseconds, where the server has sent no bookmark yet. */
export const marginMillis = 30_000

/** How long a connection may be silent. */
export interface Silence {
  /** After how many seconds the server ends the watch. */
  readonly timeoutSeconds: number
  /** Whether the server has sent a bookmark for the kind. A server without a watch cache sends none. */
  readonly sendsBookmarks: () => boolean
  /** Runs with each bookmark. */
  readonly onBookmark: () => void
}

/** The annotation of the bookmark that ends the initial events. */
const initialEventsEnd = "k8s.io/initial-events-end"

interface Parser {
  /** The events whose lines end in these bytes. */
  readonly push: (bytes: Uint8Array) => ReadonlyArray<Event>
  /** Lines seen, empty ones included: a server may send those as a sign of life. */
  readonly lines: () => number
  /** Describes an event of an unknown type that was skipped since the last call; undefined if there was none. */
  readonly skipped: () => string | undefined
  /** Why nothing more can be read, after the events that came before. */
  readonly failure: () => ApiError.Transport | undefined
}

// The wire form of an event, as far as it is looked at. Trusted: the server made it, `toEvent` checks what it relies on.
interface Frame {
  readonly type?: string
  readonly object?: {
    readonly metadata?: {
      managedFields?: unknown
      readonly resourceVersion?: string
      readonly annotations?: { readonly [key: string]: string }
    }
  }
}

/** The event of a line; what the line is instead, if it is an event that cannot be used. Throws if it is not JSON. */
const toEvent = (request: ApiError.RequestInfo, line: string): Event | string => {
  const frame: Frame | null = JSON.parse(line)
  const object = frame?.object
  switch (frame?.type) {
    case "ADDED":
    case "MODIFIED":
    case "DELETED":
      if (object?.metadata === undefined) return `${frame.type} without an object`
      delete object.metadata.managedFields
      // The parsed frame is the event, so that nothing is allocated for it. An object of a watch has all of its metadata.
      return frame as Event
    case "BOOKMARK":
      return {
        type: "BOOKMARK",
        resourceVersion: object?.metadata?.resourceVersion ?? "",
        initialEventsEnd: object?.metadata?.annotations?.[initialEventsEnd] === "true"
      }
    case "ERROR":
      return {
        type: "ERROR",
        error: ApiError.fromStatus(request, ApiError.isStatus(object) ? object : { kind: "Status" }, 500)
      }
    default:
      return `type ${String(frame?.type).slice(0, 40)}`
  }
}

/**
 * Lines from bytes that are cut anywhere, and events from lines. Splitting on newlines and parsing each line is the plainest
 * way and as fast in the end as cutting managedFields out of the text or `Bun.JSONL`; deleting managedFields saves
 * a third of the live memory.
 */
export const parser = (request: ApiError.RequestInfo): Parser => {
  const decoder = new TextDecoder()
  let rest = ""
  let lines = 0
  let failure: ApiError.Transport | undefined
  let skipped: string | undefined
  return {
    lines: () => lines,
    skipped: () => {
      const what = skipped
      skipped = undefined
      return what
    },
    failure: () => failure,
    push: (bytes) => {
      const events: Array<Event> = []
      const text = decoder.decode(bytes, { stream: true })
      let end = text.indexOf("\n")
      if (end < 0) {
        rest += text
        return events
      }
      let start = 0
      while (end >= 0 && failure === undefined) {
        const line = start === 0 ? rest + text.slice(0, end) : text.slice(start, end)
        lines++
        if (line !== "" && line !== "\r") {
          try {
            const event = toEvent(request, line)
            if (typeof event === "string") skipped = event
            else events.push(event)
          } catch {
            // The line may hold a secret, so only its length is reported.
            failure = Disconnect.make(request, `a line of ${line.length} characters`, "MALFORMED", "not JSON")
          }
        }
        start = end + 1
        end = text.indexOf("\n", start)
      }
      rest = text.slice(start)
      return events
    }
  }
}

/**
 * Reads a streaming answer as a watch. It skips events of unknown types, as client-go does, and logs the first of a connection. The
 * watchdog is one fiber that sleeps, not a race per chunk.
 */
export const make = (
  request: ApiError.RequestInfo,
  streaming: Streaming,
  { onBookmark, sendsBookmarks, timeoutSeconds }: Silence
): Effect.Effect<Connection, never, Scope.Scope> =>
  Effect.gen(function* () {
    const clock = yield* Effect.clock
    const { failure, lines, push, skipped } = parser(request)
    const longest = Math.max(idleMillis, timeoutSeconds * 1000 + marginMillis)
    const silenceMillis = (): number => (sendsBookmarks() ? idleMillis : longest)
    let hasSkipped = false
    // Since when the reader waits for a line; undefined while it does not wait: its own pauses are not the server's.
    let waitingSince: number | undefined
    let idle = false

    const watchdog = Effect.gen(function* () {
      while (!idle) {
        const silent = waitingSince === undefined ? 0 : Time.monotonic(clock) - waitingSince
        const left = silenceMillis() - silent
        if (left > 0) {
          // The first bookmark makes the limit shorter.
          yield* clock.sleep(Duration.millis(Math.ceil(Math.min(left, idleMillis))))
        } else {
          idle = true
          yield* streaming.abort
        }
      }
    })
    yield* Effect.forkScoped(watchdog)

    const info = `${request.method} ${request.path}`
    const goneIdle = Effect.suspend(
      () => new Idle({ message: `${info}: no event and no bookmark for ${silenceMillis() / 1000} s` })
    )

    const noticed = (events: ReadonlyArray<Event>): Effect.Effect<void> | undefined => {
      if (events.some(({ type }) => type === "BOOKMARK")) onBookmark()
      const what = skipped()
      if (what === undefined || hasSkipped) return undefined
      hasSkipped = true
      return Effect.logWarning(`${info}: skipped an unknown watch event: ${what}`)
    }

    const goOn = (before: number): Connection["next"] =>
      Effect.suspend(() => {
        const broken = failure()
        if (broken !== undefined) return Effect.fail(broken)
        if (lines() > before) waitingSince = Time.monotonic(clock)
        return read
      })

    const read: Connection["next"] = Effect.flatMap(streaming.next, (bytes) => {
      if (bytes === undefined) return new Ended({ message: `${info}: the server ended the watch` })
      const before = lines()
      const events = push(bytes)
      const warning = noticed(events)
      const given = events.length > 0 ? Effect.succeed(events) : goOn(before)
      return warning === undefined ? given : Effect.zipRight(warning, given)
    })

    const next: Connection["next"] = Effect.suspend(() => {
      const broken = failure()
      if (broken !== undefined) return Effect.fail(broken)
      if (idle) return goneIdle
      waitingSince = Time.monotonic(clock)
      return Effect.matchCauseEffect(read, {
        onFailure: (cause) => (idle ? goneIdle : Effect.failCause(cause)),
        onSuccess: (events) => {
          waitingSince = undefined
          return Effect.succeed(events)
        }
      })
    })
    return { next }
  })
