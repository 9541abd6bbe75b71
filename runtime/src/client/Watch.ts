/** One watch connection: bytes in, events out, one Effect per chunk of bytes. The reflector decides what to do after its end. */
import * as Clock from "effect/Clock"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { KubernetesObject, ManagedFieldsEntry } from "../resource/KubernetesObject.ts"
import * as Time from "../resource/Time.ts"
import * as ApiError from "./ApiError.ts"
import * as Disconnect from "./Disconnect.ts"
import { mostBytes } from "./Request.ts"
import type { Streaming } from "./Response.ts"

/**
 * The events of a watch. Objects are as on the wire, without `metadata.managedFields`.
 *
 * A BOOKMARK means that all events up to `resourceVersion` have been sent; with `initialEventsEnd`, that the initial state is
 * complete. After an ERROR the server closes the stream. `Expired` means that the watch cannot resume from its resourceVersion.
 */
export type Event =
  | {
      readonly type: "ADDED" | "MODIFIED" | "DELETED"
      readonly object: KubernetesObject
      /** The characters of the event. */
      readonly length?: number | undefined
      /** The field managers of a changed object. They live as long as the event: no store keeps them. */
      readonly managedFields?: ReadonlyArray<ManagedFieldsEntry> | undefined
    }
  | { readonly type: "BOOKMARK"; readonly resourceVersion: string; readonly initialEventsEnd: boolean }
  | { readonly type: "ERROR"; readonly error: ApiError.Answered }

/** The server closed the stream regularly, usually at `timeoutSeconds`. Resume from the last resourceVersion. */
export class Ended extends Data.TaggedError("Ended")<{ readonly message: string }> {}

/**
 * The server sent nothing for longer than a healthy connection is silent. Either the connection is half open, or the server has not
 * reached the resourceVersion (an etcd restored from a backup). Resume once, and list if that is idle too.
 */
export class Idle extends Data.TaggedError("Idle")<{ readonly message: string }> {}

/** An open watch. Closing its scope closes it. */
export interface Connection {
  /**
   * All events of the bytes that have arrived, at least one. For one reader without pauses, because HTTP/2 bodies are buffered in
   * memory. After an interruption, close the connection: events may be lost.
   */
  readonly next: Effect.Effect<ReadonlyArray<Event>, Ended | Idle | ApiError.Transport>
}

/**
 * How long a connection may be silent if the server sends bookmarks, in ms. They come 60 to 61 s apart, so this allows two missing
 * bookmarks and half a minute.
 */
export const idleMillis = 150_000

/** How long a watch may be silent beyond its `timeoutSeconds`, in ms, if the server sends no bookmarks for the kind. */
export const marginMillis = 30_000

/** The limits of silence on a connection. */
export interface Silence {
  /** After how many seconds the server ends the watch. */
  readonly timeoutSeconds: number
  /** Whether the server sends bookmarks for the kind. A server without a watch cache sends none. */
  readonly sendsBookmarks: () => boolean
  /** Called for each bookmark. */
  readonly onBookmark: () => void
  /** Called when the connection was silent for too long. */
  readonly onIdle: () => void
}

/** The annotation of the bookmark that ends the initial events. */
const initialEventsEnd = "k8s.io/initial-events-end"

interface Parser {
  /** The events of the lines that end in these bytes. */
  readonly push: (bytes: Uint8Array) => ReadonlyArray<Event>
  /** The number of lines, including empty ones, which a server may send as a heartbeat. */
  readonly lines: () => number
  /** Describes an event of an unknown type that was skipped since the last call; undefined if there was none. */
  readonly skipped: () => string | undefined
  /** The error after the last readable event. */
  readonly failure: () => ApiError.Transport | undefined
}

// The wire form of an event, with the fields in use. Trusted: the server made it, and `toEvent` checks the fields.
interface Frame {
  readonly type?: string
  length?: number
  managedFields?: unknown
  readonly object?: {
    readonly metadata?: {
      managedFields?: unknown
      readonly resourceVersion?: string
      readonly annotations?: { readonly [key: string]: string }
    }
  }
}

/** The event of a line, or a description if the event is not usable. Throws if the line is not JSON. */
const toEvent = (request: ApiError.RequestInfo, line: string): Event | string => {
  const frame: Frame | null = JSON.parse(line)
  const object = frame?.object
  switch (frame?.type) {
    case "ADDED":
    case "MODIFIED":
    case "DELETED":
      if (object?.metadata === undefined) return `${frame.type} without an object`
      if (frame.type === "MODIFIED") frame.managedFields = object.metadata.managedFields
      delete object.metadata.managedFields
      frame.length = line.length
      // The parsed frame is the event, which saves an allocation. Every object of a watch has metadata.
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
 * Splits bytes into lines and parses them as events. This is the simplest way, and as fast as removing managedFields from the text or
 * `Bun.JSONL`. Deleting managedFields saves a third of the live memory.
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
        if (rest.length > mostBytes) {
          failure = Disconnect.make(request, `a line of ${rest.length} characters`, "TOO_LARGE")
          rest = ""
        }
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
            // The line may contain a secret, so only its length is reported.
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
 * Reads a streaming response as a watch. It skips events of unknown types, as client-go does, and logs the first of a connection. The
 * watchdog is one sleeping fiber instead of a race per chunk.
 */
export const make = (
  request: ApiError.RequestInfo,
  streaming: Streaming,
  { onBookmark, onIdle, sendsBookmarks, timeoutSeconds }: Silence
): Effect.Effect<Connection, never, Scope.Scope> =>
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    const { failure, lines, push, skipped } = parser(request)
    const longest = Math.max(idleMillis, timeoutSeconds * 1000 + marginMillis)
    const silenceMillis = (): number => (sendsBookmarks() ? idleMillis : longest)
    let hasSkipped = false
    // Since when the reader waits for a line; undefined during its own pauses, which do not count as silence.
    let waitingSince: number | undefined
    /** The silence after which the watchdog closed the watch. */
    let idle: number | undefined

    const watchdog = Effect.gen(function* () {
      while (idle === undefined) {
        const silent = waitingSince === undefined ? 0 : Time.monotonic(clock) - waitingSince
        const limit = silenceMillis()
        const left = limit - silent
        if (left > 0) {
          // The first bookmark shortens the limit.
          yield* clock.sleep(Duration.millis(Math.ceil(Math.min(left, idleMillis))))
        } else {
          idle = limit
          onIdle()
          yield* streaming.abort
        }
      }
    })
    yield* Effect.forkScoped(watchdog)

    const info = `${request.method} ${request.path}`
    const goneIdle = Effect.suspend(
      () => new Idle({ message: `${info}: no event and no bookmark for ${(idle ?? 0) / 1000} s` })
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
      return warning === undefined ? given : Effect.andThen(warning, given)
    })

    const next: Connection["next"] = Effect.suspend(() => {
      const broken = failure()
      if (broken !== undefined) return Effect.fail(broken)
      if (idle !== undefined) return goneIdle
      waitingSince = Time.monotonic(clock)
      return Effect.matchCauseEffect(read, {
        onFailure: (cause) => (idle !== undefined ? goneIdle : Effect.failCause(cause)),
        onSuccess: (events) => {
          waitingSince = undefined
          return Effect.succeed(events)
        }
      })
    })
    return { next }
  })
