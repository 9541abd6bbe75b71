import { describe, expect } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Random from "effect/Random"
import * as TestClock from "effect/testing/TestClock"
import type * as Watch from "../client/Watch.ts"
import { fixed } from "../resource/Random.fixture.ts"
import * as WallClock from "../resource/WallClock.fixture.ts"
import type * as Reflector from "./Reflector.ts"
import { ended, idle, late, refusal, scripted, unreachable, web } from "./Scripted.fixture.ts"
import * as Watcher from "./Watcher.ts"

/** A driver on a scripted server that records its edits and reports. Default: without jitter. */
const driven = (options: { readonly jitter?: number } = {}) =>
  Effect.gen(function* () {
    const server = yield* scripted
    const edits: Array<string> = []
    const reports: Array<string> = []
    let last: Reflector.State | undefined
    let heard = 0
    const sink: Watcher.Sink = {
      edit: (edit) => {
        switch (edit._tag) {
          case "Stage":
            edits.push(`stage ${edit.objects.map(({ metadata }) => metadata.name).join(" ")}`)
            break
          case "Commit":
          case "Apply":
            edits.push(`${edit._tag.toLowerCase()} ${edit.resourceVersion}`)
            break
          default:
            edits.push(edit._tag.toLowerCase())
        }
      },
      counted: (what, reason) => edits.push(`${what.toLowerCase()}:${reason}`),
      heard: () => void heard++,
      moved: (state) => {
        const known = last?.problem
        last = state
        if (known === state.problem) return undefined
        return Effect.sync(() => reports.push(state.problem?.kind ?? "recovered"))
      }
    }
    const fiber = yield* Effect.forkScoped(
      Effect.provideService(Watcher.run(server.source, sink), Random.Random, fixed(options.jitter ?? 0))
    )
    const watch = Effect.flatMap(server.asked, (asked) =>
      asked._tag === "watch" ? Effect.succeed(asked) : Effect.die(new Error("a page was asked for"))
    )
    const page = Effect.flatMap(server.asked, (asked) =>
      asked._tag === "page" ? Effect.succeed(asked) : Effect.die(new Error("a watch was asked for"))
    )
    return {
      ...server,
      fiber,
      reports,
      /** The number of messages from the server. */
      heard: () => heard,
      /** The edits of the cached objects since the last call. */
      edits: () => edits.splice(0),
      watch,
      page,
      /** Responds to a list with no objects at resourceVersion "10", and accepts the following watch. */
      syncEmpty: Effect.gen(function* () {
        yield* (yield* page).answer({ items: [], resourceVersion: "10" })
        const asked = yield* watch
        expect(asked.from).toBe("10")
        const happen = yield* asked.accept
        yield* Effect.yieldNow
        return happen
      })
    }
  })

const added = (name: string, rv: string): Watch.Event => ({ type: "ADDED", object: web({ name, rv }) })

describe("Watcher", () => {
  effect("lists in pages, and then watches from the resourceVersion of the list", () =>
    Effect.gen(function* () {
      const { edits, open, page, watch } = yield* driven()
      const first = yield* page
      expect(first.continue).toBeUndefined()
      yield* first.answer({ items: [web({ name: "a", rv: "1" })], resourceVersion: "20", continue: "next" })
      const second = yield* page
      expect(second.continue).toBe("next")
      yield* second.answer({ items: [web({ name: "b", rv: "2" })], resourceVersion: "20" })
      const asked = yield* watch
      expect(asked.from).toBe("20")
      const happen = yield* asked.accept
      yield* happen([added("c", "21")])
      yield* happen([added("d", "22")])
      yield* TestClock.adjust("1 millis")
      expect(edits()).toEqual(["begin", "stage a", "stage b", "commit 20", "apply 21", "apply 22"])
      expect(open()).toBe(1)
    })
  )

  effect("restarts the list if its continue token has expired", () =>
    Effect.gen(function* () {
      const { edits, page, watch } = yield* driven()
      yield* (yield* page).answer({ items: [web({ name: "a", rv: "1" })], resourceVersion: "20", continue: "next" })
      yield* (yield* page).refuse(refusal(410, "Expired"))
      const again = yield* page
      expect(again.continue).toBeUndefined()
      yield* again.answer({ items: [web({ name: "b", rv: "22" })], resourceVersion: "30" })
      expect((yield* watch).from).toBe("30")
      expect(edits()).toEqual(["begin", "stage a", "relisted:expired", "begin", "stage b", "commit 30"])
    })
  )

  effect("retries a failed page, and keeps the pages before it", () =>
    Effect.gen(function* () {
      const { edits, page, watch } = yield* driven()
      yield* (yield* page).answer({ items: [web({ name: "a", rv: "1" })], resourceVersion: "20", continue: "next" })
      yield* (yield* page).refuse(unreachable)
      yield* TestClock.adjust("200 millis")
      const again = yield* page
      expect(again.continue).toBe("next")
      yield* again.answer({ items: [web({ name: "b", rv: "2" })], resourceVersion: "20" })
      expect((yield* watch).from).toBe("20")
      expect(edits()).toEqual(["begin", "stage a", "stage b", "commit 20"])
    })
  )

  effect("halves a page that does not arrive in time, and doubles it again after quick answers", () =>
    Effect.gen(function* () {
      const { page } = yield* driven()
      /** Answers the next page after this time, and returns its size. */
      const size = (millis: number, isLate = false) =>
        Effect.gen(function* () {
          const { answer, limit, refuse } = yield* page
          yield* TestClock.adjust(millis)
          yield* isLate ? refuse(late) : answer({ items: [], resourceVersion: "20", continue: "next" })
          yield* TestClock.adjust("3 seconds")
          return limit
        })
      const sizes = (count: number, millis: number, isLate = false) =>
        Effect.all(Array.from({ length: count }, () => size(millis, isLate)))
      expect(yield* sizes(8, 30_000, true)).toEqual([500, 250, 125, 62, 31, 15, 10, 10])
      expect(yield* sizes(2, 6000)).toEqual([10, 10])
      expect(yield* sizes(8, 1000)).toEqual([10, 20, 40, 80, 160, 320, 500, 500])
    })
  )

  effect("reports each sign of life of the server, including bookmarks", () =>
    Effect.gen(function* () {
      const { heard, syncEmpty, watch } = yield* driven()
      expect(heard()).toBe(0)
      const happen = yield* syncEmpty
      const before = heard()
      yield* happen([{ type: "BOOKMARK", resourceVersion: "10", initialEventsEnd: false }])
      yield* TestClock.adjust("1 millis")
      expect(heard() - before).toBe(1)
      yield* happen(unreachable)
      yield* TestClock.adjust("1 minute")
      yield* (yield* watch).refuse(unreachable)
      yield* TestClock.adjust("1 millis")
      expect(heard() - before).toBe(1)
    })
  )

  effect("opens the next watch where the last one ended, and only one at a time", () =>
    Effect.gen(function* () {
      const { edits, open, syncEmpty, watch } = yield* driven()
      const happen = yield* syncEmpty
      yield* happen([added("a", "11")])
      yield* TestClock.adjust("5 minutes")
      yield* happen(ended)
      const resumed = yield* watch
      expect(resumed.from).toBe("11")
      expect(open()).toBe(0)
      yield* resumed.accept
      yield* TestClock.adjust("1 millis")
      expect(open()).toBe(1)
      expect(edits()).toEqual(["begin", "commit 10", "apply 11", "restarted:ended"])
    })
  )

  effect("backs off after a broken connection, and resumes the watch without a list", () =>
    Effect.gen(function* () {
      const { edits, pending, reports, syncEmpty, watch } = yield* driven()
      const happen = yield* syncEmpty
      yield* happen(unreachable)
      yield* TestClock.adjust("199 millis")
      expect(yield* pending).toBe(0)
      yield* TestClock.adjust("1 millis")
      yield* (yield* watch).refuse(unreachable)
      yield* TestClock.adjust("399 millis")
      expect(yield* pending).toBe(0)
      yield* TestClock.adjust("1 millis")
      const resumed = yield* watch
      expect(resumed.from).toBe("10")
      yield* resumed.accept
      yield* TestClock.adjust("1 millis")
      expect(edits()).toEqual(["begin", "commit 10", "restarted:broken"])
      expect(reports).toEqual(["unreachable", "recovered"])
    })
  )

  effect("adds jitter of up to half of a delay", () =>
    Effect.gen(function* () {
      const { page, pending } = yield* driven({ jitter: 1 })
      yield* (yield* page).refuse(refusal(429, "TooManyRequests", 2))
      yield* TestClock.adjust("2999 millis")
      expect(yield* pending).toBe(0)
      yield* TestClock.adjust("1 millis")
      expect(yield* pending).toBe(1)
    })
  )

  effect("lists again when its resourceVersion has expired, before or during the watch", () =>
    Effect.gen(function* () {
      const { edits, page, syncEmpty, watch } = yield* driven()
      const happen = yield* syncEmpty
      yield* happen([added("a", "11"), { type: "ERROR", error: refusal(410, "Expired") }])
      const again = yield* syncEmpty
      yield* again([added("b", "12")])
      yield* TestClock.adjust("1 minutes")
      yield* again(ended)
      yield* (yield* watch).refuse(refusal(410, "Expired"))
      expect((yield* page).continue).toBeUndefined()
      expect(edits()).toEqual([
        "begin",
        "commit 10",
        "apply 11",
        "relisted:expired",
        "begin",
        "commit 10",
        "apply 12",
        "restarted:ended",
        "relisted:expired",
        "begin"
      ])
    })
  )

  effect("backs off after a watch that ended within a second", () =>
    Effect.gen(function* () {
      const { pending, syncEmpty } = yield* driven()
      const happen = yield* syncEmpty
      yield* happen(ended)
      yield* TestClock.adjust("199 millis")
      expect(yield* pending).toBe(0)
      yield* TestClock.adjust("1 millis")
      expect(yield* pending).toBe(1)
    })
  )

  effect("measures the duration of a watch independent of the wall clock", () =>
    Effect.gen(function* () {
      const wall = yield* WallClock.make
      const { pending, syncEmpty, watch } = yield* Effect.provideService(driven(), Clock.Clock, wall.clock)
      const short = yield* syncEmpty
      wall.set(3_600_000)
      yield* TestClock.adjust("999 millis")
      yield* short(ended)
      yield* TestClock.adjust("199 millis")
      expect(yield* pending).toBe(0)
      yield* TestClock.adjust("1 millis")
      const long = yield* (yield* watch).accept
      wall.set(0)
      yield* TestClock.adjust("1 second")
      yield* long(ended)
      yield* TestClock.adjust(0)
      expect(yield* pending).toBe(1)
    })
  )

  effect("resumes after an idle watch, and lists again after the second one", () =>
    Effect.gen(function* () {
      const { page, syncEmpty, watch } = yield* driven()
      const happen = yield* syncEmpty
      yield* happen(idle)
      const resumed = yield* watch
      expect(resumed.from).toBe("10")
      const again = yield* resumed.accept
      yield* again(idle)
      expect((yield* page).continue).toBeUndefined()
    })
  )

  effect("reports each problem and the recovery", () =>
    Effect.gen(function* () {
      const { page, reports, syncEmpty } = yield* driven()
      yield* (yield* page).refuse(refusal(403, "Forbidden"))
      yield* TestClock.adjust("200 millis")
      yield* (yield* page).refuse(refusal(403, "Forbidden"))
      expect(reports).toEqual(["denied"])
      yield* TestClock.adjust("400 millis")
      yield* syncEmpty
      expect(reports).toEqual(["denied", "denied", "recovered"])
    })
  )

  effect("closes its watch when it is interrupted", () =>
    Effect.gen(function* () {
      const { fiber, open, syncEmpty } = yield* driven()
      yield* syncEmpty
      expect(open()).toBe(1)
      yield* Fiber.interrupt(fiber)
      expect(open()).toBe(0)
    })
  )
})
