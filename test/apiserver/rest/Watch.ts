/**
 * A watch: the existing objects, if the client requests them, and then each change of a selected object, as lines of JSON or frames of
 * protobuf. The step that makes a change adds it to the queue of each watch. A reader takes all queued changes at once.
 */
import { Clock, Effect, type Fiber } from "effect"
import type { Accepted } from "../codec/Negotiation.ts"
import * as Protobuf from "../codec/Protobuf.ts"
import * as Failure from "../model/Failure.ts"
import type { JsonObject } from "../model/Json.ts"
import * as Json from "../model/Json.ts"
import { allFromStorage, apiVersionOf } from "../model/Kind.ts"
import * as Step from "../storage/Step.ts"
import type { Change, Store } from "../storage/Store.ts"
import * as Query from "./Query.ts"
import type { Selection } from "./Selection.ts"
import * as View from "./View.ts"

/** A streamed body. */
export interface Streamed {
  /** The next part; undefined at the end. Supports only one reader. */
  readonly next: Effect.Effect<string | undefined>
  /** Ends the stream from the reader's side. */
  readonly close: Effect.Effect<void>
}

/** A request for a watch. */
export interface Request {
  readonly view: View.View
  readonly selection: Selection
  readonly options: Query.ListOptions
  /** The start time in milliseconds since 1970, and the duration if the client sets no timeout. */
  readonly now: number
  readonly defaultSeconds: number
  /** Calls the listener if the watch must end early. The returned function removes the listener. */
  readonly whenDropped: (listener: () => void) => () => void
}

/** The maximum number of queued frames. The server ends the watch of a slower client, which must start another watch. */
const mostFrames = 10_000

/** The milliseconds between the bookmarks of a watch that requests them. */
const bookmarkMillis = 60_000

/** The milliseconds from the last bookmark of a watch to its end. */
const lastBookmarkMillis = 2_000

/** The reader lets other fibers run first, so that writes in quick succession come in one part. */
const pause = Effect.repeat(Effect.yieldNow, { times: 2 })

/** The revision that the server must reach before the watch can begin. Throws a Failure (500) for an invalid one. */
export const required = (options: Query.ListOptions): number => {
  const revision = revisionOf(options) ?? 0
  return options.sendInitialEvents === true ? revision : 0
}

/** Opens a watch after the server has reached its revision. All watches of the store use the same `shared`. */
export const open = (store: Store, shared: Shared, request: Request): Streamed => {
  const { options, selection, view } = request
  const queue = new Queue()
  const from = revisionOf(options) ?? 0
  const push = (type: string, object: JsonObject, change?: Change): void =>
    queue.push(frameOf(view, shared, type, object, change))
  const pass = (change: Change): void => {
    // The server converts objects by webhooks when the client reads the events.
    if (view.kind.cached !== undefined) {
      queue.push((now, first) => {
        const event = eventOf(request, change)
        return event === undefined ? "" : lineOf(view, event.type, event.object, now, first)
      })
      return
    }
    const event = eventOf(request, change)
    if (event !== undefined) push(event.type, event.object, change)
  }

  if (options.sendInitialEvents === true) {
    const all = store.list(view.kind.storage, selection.namespace)
    const taken = () => allFromStorage(view.kind, all).filter((object) => selection.takes(object))
    if (view.kind.cached === undefined) for (const object of taken()) push("ADDED", object)
    else {
      queue.push((now, first) =>
        taken()
          .map((object, index) => lineOf(view, "ADDED", object, now, first && index === 0))
          .join("")
      )
    }
    if (options.allowWatchBookmarks) push("BOOKMARK", bookmark(request, store.revision, true))
  } else if (from > 0) {
    const missed = store.changes(view.kind.storage, from)
    if (missed === undefined)
      return failed(view.accepted, Failure.expired(`too old resource version: ${from} (${store.oldest})`))
    for (const change of missed) pass(change)
  }
  const unsubscribe = store.subscribe((change) => {
    if (change.revision <= from) return
    if (queue.size >= mostFrames) return end()
    pass(change)
  }, view.kind.storage)
  let timer: Fiber.Fiber<void> | undefined
  const end = (): void => {
    unsubscribe()
    unregister()
    timer?.interruptUnsafe()
    queue.end()
  }
  const unregister = request.whenDropped(end)

  const seconds = options.timeoutSeconds === undefined ? 0 : Math.max(0, options.timeoutSeconds)
  const endsAt = request.now + (seconds === 0 ? request.defaultSeconds : seconds) * 1000
  let bookmarkAt = options.allowWatchBookmarks ? nextBookmark(request.now, endsAt) : undefined

  /**
   * Wakes the reader after this many milliseconds. One fiber sleeps for all events until then, because a race for each event takes three
   * fibers.
   */
  const wakeAfter = (millis: number): Effect.Effect<void> =>
    Effect.suspend(() => {
      if (timer !== undefined) return Effect.void
      const wake = Effect.sync(() => {
        timer = undefined
        queue.interrupt()
      })
      return Effect.map(
        Effect.forkDetach(Effect.interruptible(Effect.andThen(Effect.sleep(millis), wake))),
        (fiber) => {
          timer = fiber
        }
      )
    })

  const next: Effect.Effect<string | undefined> = Effect.flatMap(Clock.currentTimeMillis, (now) => {
    if (now >= endsAt) end()
    else if (bookmarkAt !== undefined && now >= bookmarkAt) {
      bookmarkAt = nextBookmark(now, endsAt)
      push("BOOKMARK", bookmark(request, store.revision, false))
    }
    if (queue.size > 0) {
      if (view.kind.cached === undefined) return Effect.succeed(queue.take(now))
      const step = Step.run(Step.make(), () => queue.take(now))
      const taken = Effect.catch(step, (error) =>
        Effect.sync(() => {
          end()
          queue.clear()
          return errorOf(view.accepted, Step.failureOf(error))
        })
      )
      return Effect.flatMap(taken, (text) => (text === "" ? next : Effect.succeed(text)))
    }
    if (queue.ended) return Effect.succeed(undefined)
    const wait = Math.min(endsAt, bookmarkAt ?? endsAt) - now
    return Effect.andThen(Effect.andThen(wakeAfter(wait), queue.filled), Effect.andThen(pause, next))
  })
  return { next, close: Effect.sync(end) }
}

/** A watch that sends an error and ends. */
export const failed = (accepted: Accepted, failure: Failure.Failure): Streamed => {
  let line: string | undefined = errorOf(accepted, failure)
  return {
    next: Effect.sync(() => {
      const text = line
      line = undefined
      return text
    }),
    close: Effect.void
  }
}

const errorOf = (accepted: Accepted, failure: Failure.Failure): string =>
  textOf(accepted, "ERROR", Failure.status(failure))

/** The encoded event. Protobuf is text with one Latin-1 character per byte. */
const textOf = ({ format }: Accepted, type: string, object: JsonObject): string =>
  format === "protobuf"
    ? Protobuf.encodeEvent(type, object).toString("latin1")
    : `${JSON.stringify({ type, object })}\n`

/**
 * A frame of a watch. A function encodes the frame when the client reads it. Tables need this, because they show ages and only the first
 * describes the columns. Objects that a webhook converts need it too, and the watch may not select such an object.
 */
type Frame = string | ((now: number, first: boolean) => string)

/** The queue of frames between the writer and the single reader. */
class Queue {
  private frames: Array<Frame> = []
  private wake: (() => void) | undefined
  /** True until the first read. */
  private first = true
  ended = false

  get size(): number {
    return this.frames.length
  }

  push(frame: Frame): void {
    if (this.ended) return
    this.frames.push(frame)
    this.wake?.()
  }

  end(): void {
    this.ended = true
    this.wake?.()
  }

  /** Wakes the reader, so that it checks the time. */
  interrupt(): void {
    this.wake?.()
  }

  /** Returns all frames as text. If one of them throws, the queue keeps all frames. */
  take(now: number): string {
    const { frames } = this
    const taken: Array<string> = []
    let { first } = this
    for (const frame of frames) {
      const text = typeof frame === "string" ? frame : frame(now, first)
      if (text !== "") first = false
      taken.push(text)
    }
    this.frames = []
    this.first = first
    return taken.join("")
  }

  clear(): void {
    this.frames = []
  }

  /** Succeeds if the queue has frames, has ended, or was interrupted. */
  readonly filled: Effect.Effect<void> = Effect.callback<void>((resume) => {
    const wake = () => {
      this.wake = undefined
      // The step that makes the change ends first.
      resume(Effect.yieldNow)
    }
    if (this.frames.length > 0 || this.ended) wake()
    else this.wake = wake
    return Effect.sync(() => {
      this.wake = undefined
    })
  })
}

const revisionOf = (options: Query.ListOptions): number | undefined =>
  Query.revision(options.resourceVersion, Failure.plain)

const nextBookmark = (now: number, endsAt: number): number | undefined => {
  const at = Math.min(now + bookmarkMillis, endsAt - lastBookmarkMillis)
  return at > now ? at : undefined
}

const bookmark = ({ view: { kind } }: Request, revision: number, initial: boolean): JsonObject => ({
  kind: kind.kind,
  apiVersion: apiVersionOf(kind),
  metadata: {
    resourceVersion: String(revision),
    ...(initial && { annotations: { "k8s.io/initial-events-end": "true" } })
  }
})

/** The event of a change for a watch. An object that is no longer selected is deleted; a newly selected one is added. */
const eventOf = (
  { selection, view: { kind } }: Request,
  { object, previous, revision, type }: Change
): { readonly type: Change["type"]; readonly object: JsonObject } | undefined => {
  if (selection.namespace !== undefined && Json.at(object, "metadata", "namespace") !== selection.namespace) {
    return undefined
  }
  const [now = object, before] = allFromStorage(kind, previous === undefined ? [object] : [object, previous])
  const wasTaken = before !== undefined && selection.takes(before)
  if (type === "DELETED") return wasTaken ? { type, object: now } : undefined
  if (selection.takes(now)) return { type: wasTaken ? "MODIFIED" : "ADDED", object: now }
  if (!wasTaken) return undefined
  const metadata = { ...Json.object(before.metadata), resourceVersion: String(revision) }
  return { type: "DELETED", object: { ...before, metadata } }
}

/** The frames of the last change. Watches with the same view share the same text. */
export interface Shared {
  change: Change | undefined
  readonly frames: Map<string, string>
}

/** The frames that the watches of a store share. */
export const shared = (): Shared => ({ change: undefined, frames: new Map() })

const lineOf = (view: View.View, type: string, object: JsonObject, now: number, first: boolean): string =>
  textOf(view.accepted, type, View.watched(view, object, now, first))

const frameOf = (
  view: View.View,
  shared: Shared,
  type: string,
  object: JsonObject,
  change: Change | undefined
): Frame => {
  const make = (now: number, first = false) => lineOf(view, type, object, now, first)
  const { accepted, kind } = view
  if (accepted.view === "Table") return make
  if (change === undefined) return make(0)
  if (shared.change !== change) {
    shared.change = change
    shared.frames.clear()
  }
  const key = `${type} ${apiVersionOf(kind)} ${kind.kind} ${accepted.view} ${accepted.version} ${accepted.format}`
  const found = shared.frames.get(key)
  if (found !== undefined) return found
  const made = make(0)
  shared.frames.set(key, made)
  return made
}
