import { describe, expect, test } from "bun:test"
import * as Seed from "@homeostat/testkit/Seed.fixture"
import { effect } from "@homeostat/testkit/Test"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Queue from "effect/Queue"
import * as TestClock from "effect/testing/TestClock"
import * as FastCheck from "fast-check"
import { capture } from "../controller/World.fixture.ts"
import * as WallClock from "../resource/WallClock.fixture.ts"
import * as Client from "./Client.ts"
import * as Scripted from "./Scripted.fixture.ts"
import { answer, ConfigMap, configMap, failure } from "./Scripted.fixture.ts"
import * as Watch from "./Watch.ts"

const request = { method: "GET", path: "/api/v1/configmaps" }

const frame = (type: string, object: unknown): string => `${JSON.stringify({ type, object })}\n`

const bookmark = (resourceVersion: string, annotations?: Record<string, string>) =>
  frame("BOOKMARK", {
    kind: "ConfigMap",
    apiVersion: "v1",
    metadata: { resourceVersion, ...(annotations !== undefined && { annotations }) }
  })

const managedFields = [{ manager: "kubectl", fieldsV1: { "f:data": {} } }]

const managed = (name: string, data: Record<string, string> = {}) => {
  const object = configMap(name, { data })
  return { ...object, metadata: { ...object.metadata, managedFields } }
}

/** Possible output of a server: every kind of event, characters of two, three and four bytes, empty lines and a CRLF. */
const stream =
  frame("ADDED", managed("first", { text: "é ✓ 𝄞 \n{}" })) +
  "\n" +
  frame("MODIFIED", managed("first")).replace("\n", "\r\n") +
  bookmark("8") +
  frame("DELETED", managed("first")) +
  bookmark("9", { "k8s.io/initial-events-end": "true" }) +
  frame("ERROR", { kind: "Status", code: 410, reason: "Expired", message: "too old resource version: 5 (9)" })

const lengthOf = (type: string) => stream.split("\n").find((line) => line.includes(type))?.length

const first = (data: Record<string, string> = {}) => configMap("first", { data })

const events = [
  { type: "ADDED", object: first({ text: "é ✓ 𝄞 \n{}" }), length: lengthOf("ADDED") },
  // With the carriage return.
  { type: "MODIFIED", object: first(), length: lengthOf("MODIFIED"), managedFields },
  { type: "BOOKMARK", resourceVersion: "8", initialEventsEnd: false },
  { type: "DELETED", object: first(), length: lengthOf("DELETED") },
  { type: "BOOKMARK", resourceVersion: "9", initialEventsEnd: true },
  {
    type: "ERROR",
    error: expect.objectContaining({
      _tag: "Expired",
      code: 410,
      message: "GET /api/v1/configmaps: too old resource version: 5 (9)"
    })
  }
]

const parse = (chunks: ReadonlyArray<Uint8Array>): ReadonlyArray<Watch.Event> => {
  const parser = Watch.parser(request)
  return chunks.flatMap((chunk) => parser.push(chunk))
}

describe("Watch parsing", () => {
  const bytes = new TextEncoder().encode(stream)

  test("one chunk returns all events", () => {
    const parsed = parse([bytes])
    expect<ReadonlyArray<unknown>>(parsed).toEqual(events)
    expect(JSON.stringify(parsed.map((event) => ("object" in event ? event.object : event)))).not.toContain(
      "managedFields"
    )
  })

  test("any single split returns the same events", () => {
    for (let i = 0; i <= bytes.length; i++) {
      expect<ReadonlyArray<unknown>>(parse([bytes.slice(0, i), bytes.slice(i)])).toEqual(events)
    }
  })

  test("any splits, down to single bytes, return the same events", () => {
    expect<ReadonlyArray<unknown>>(parse(Array.from(bytes, (byte) => Uint8Array.of(byte)))).toEqual(events)
    const place = FastCheck.nat(bytes.length)
    // Two cuts close to each other give a chunk of zero to two bytes.
    const places = FastCheck.array(FastCheck.tuple(place, FastCheck.option(FastCheck.nat(2))), {
      size: "max",
      maxLength: 60
    })
    FastCheck.assert(
      FastCheck.property(places, (cuts) => {
        const all = cuts.flatMap(([at, further]) =>
          further === null ? [at] : [at, Math.min(at + further, bytes.length)]
        )
        const ends = [...all, 0, bytes.length].sort((one, other) => one - other)
        const chunks = ends.slice(1).map((end, index) => bytes.slice(ends[index], end))
        expect<ReadonlyArray<unknown>>(parse(chunks)).toEqual(events)
      }),
      { numRuns: 200, seed: Seed.current() }
    )
  })

  test("a line that is not JSON ends the watch with an error that does not quote the line", () => {
    const parser = Watch.parser(request)
    const given = parser.push(new TextEncoder().encode(`${bookmark("8")}{"data":{"password":\n${bookmark("9")}`))
    expect(given).toHaveLength(1)
    expect(parser.failure()).toMatchObject({ _tag: "Transport", code: "MALFORMED" })
    expect(parser.failure()?.message).toContain("a line of 20 characters")
    expect(parser.failure()?.message).not.toContain("password")
  })

  test.each([
    ['{"type":"ADDED"}', "ADDED without an object"],
    ['{"type":"ADDED","object":{}}', "ADDED without an object"],
    ['{"type":"NEW","object":{"metadata":{}}}', "type NEW"],
    ["7", "type undefined"],
    ["null", "type undefined"]
  ])("%p is an unknown event, which is skipped", (line, what) => {
    const parser = Watch.parser(request)
    const given = parser.push(new TextEncoder().encode(`${bookmark("8")}${line}\n${bookmark("9")}`))
    expect(given).toHaveLength(2)
    expect([parser.skipped(), parser.skipped(), parser.failure()]).toEqual([what, undefined, undefined])
  })

  test("an ERROR without a Status is a server error", () => {
    expect(parse([new TextEncoder().encode(frame("ERROR", {}))])).toMatchObject([
      { type: "ERROR", error: { _tag: "ServerError" } }
    ])
  })
})

const open = (options: Parameters<typeof Client.watch>[1] = {}) => Client.watch(ConfigMap, options)

describe("Watch", () => {
  effect("returns all events of a chunk at once, and waits for the rest of a line", () =>
    Effect.gen(function* () {
      const server = yield* Scripted.make(() => "silence")
      yield* Effect.gen(function* () {
        const watch = yield* open()
        const line = frame("ADDED", configMap("b"))
        yield* Queue.offer(server.bytes, frame("ADDED", configMap("a")) + bookmark("8") + line.slice(0, 20))
        expect(yield* watch.next).toHaveLength(2)
        yield* Queue.offerAll(server.bytes, [line.slice(20, 40), line.slice(40)])
        expect<ReadonlyArray<unknown>>(yield* watch.next).toMatchObject([{ type: "ADDED", object: configMap("b") }])
      }).pipe(Effect.provide(Scripted.client(server)))
    })
  )

  effect("ends with Ended if the server closes the stream, even within a line", () =>
    Effect.gen(function* () {
      const server = yield* Scripted.make(() => "silence")
      yield* Effect.gen(function* () {
        const watch = yield* open()
        yield* Queue.offerAll(server.bytes, ['{"type":"ADD', undefined])
        expect(yield* Effect.flip(watch.next)).toMatchObject({
          _tag: "Ended",
          message: "GET /api/v1/configmaps: the server ended the watch"
        })
      }).pipe(Effect.provide(Scripted.client(server)))
    })
  )

  /** The milliseconds until a watch ends as idle, after these lines. */
  const idleAfter = (
    bytes: Queue.Enqueue<string | undefined>,
    options: { readonly timeoutSeconds: number },
    lines = ""
  ) =>
    Effect.gen(function* () {
      const watch = yield* open(options)
      const began = yield* Clock.currentTimeMillis
      if (lines !== "") yield* Queue.offer(bytes, lines)
      const fiber = yield* Effect.forkChild(
        Effect.zip(
          Effect.flip(Effect.forever(watch.next)),
          Effect.map(Clock.currentTimeMillis, (now) => now - began)
        )
      )
      yield* TestClock.adjust("1 hour")
      return yield* Fiber.join(fiber)
    })

  effect("ends with Idle after 150 seconds without a line if the server sends bookmarks", () =>
    Effect.gen(function* () {
      const server = yield* Scripted.make(() => "silence")
      yield* Effect.gen(function* () {
        const [first, millis] = yield* idleAfter(server.bytes, { timeoutSeconds: 400 }, bookmark("8"))
        expect(first).toMatchObject({
          _tag: "Idle",
          message: "GET /api/v1/configmaps: no event and no bookmark for 150 s"
        })
        expect(millis).toBe(150_000)
        expect(server.aborted()).toBe(1)
        // The next watch of the kind knows that the server sends bookmarks.
        expect((yield* idleAfter(server.bytes, { timeoutSeconds: 400 }))[1]).toBe(150_000)
      }).pipe(Effect.provide(Scripted.client(server)))
    })
  )

  effect(
    "of a server without bookmarks ends once, and later watches may be silent until 30 seconds after their end",
    () =>
      Effect.gen(function* () {
        const server = yield* Scripted.make(() => "silence")
        yield* Effect.gen(function* () {
          const event = frame("ADDED", configMap("a"))
          expect((yield* idleAfter(server.bytes, { timeoutSeconds: 400 }, event))[1]).toBe(150_000)
          expect((yield* idleAfter(server.bytes, { timeoutSeconds: 400 }, event))[1]).toBe(430_000)
          // A bookmark shows that the server sends bookmarks after all.
          expect((yield* idleAfter(server.bytes, { timeoutSeconds: 400 }, bookmark("8")))[1]).toBe(150_000)
        }).pipe(Effect.provide(Scripted.client(server)))
      })
  )

  effect("skips events of an unknown type, with one line in the log per connection", () => {
    const lines: Array<string> = []
    return Effect.gen(function* () {
      const server = yield* Scripted.make(() => "silence")
      yield* Effect.gen(function* () {
        const watch = yield* open()
        const unknown = frame("SYNC", { metadata: { resourceVersion: "9" } })
        yield* Queue.offerAll(server.bytes, [unknown + bookmark("8"), unknown + bookmark("9")])
        expect(yield* watch.next).toMatchObject([{ resourceVersion: "8" }])
        expect(yield* watch.next).toMatchObject([{ resourceVersion: "9" }])
        expect(lines).toEqual(["WARN GET /api/v1/configmaps: skipped an unknown watch event: type SYNC"])
      }).pipe(Effect.provide(Scripted.client(server)))
    }).pipe(Effect.provide(capture(lines)))
  })

  effect("stays open with a bookmark or an empty line", () =>
    Effect.gen(function* () {
      const server = yield* Scripted.make(() => "silence")
      yield* Effect.gen(function* () {
        const watch = yield* open()
        const fiber = yield* Effect.forkChild(
          Effect.zip(Effect.flip(Effect.forever(watch.next)), Clock.currentTimeMillis)
        )
        yield* TestClock.adjust("100 seconds")
        yield* Queue.offer(server.bytes, bookmark("8"))
        yield* TestClock.adjust("100 seconds")
        yield* Queue.offer(server.bytes, "\n")
        yield* TestClock.adjust("10 minutes")
        expect(yield* Fiber.join(fiber)).toMatchObject([{ _tag: "Idle" }, 350_000])
      }).pipe(Effect.provide(Scripted.client(server)))
    })
  )

  for (const [way, millis] of WallClock.ways) {
    effect(`measures silence independent of a wall clock that is set ${way} by an hour`, () =>
      Effect.gen(function* () {
        const server = yield* Scripted.make(() => "silence")
        const wall = yield* WallClock.make
        yield* Effect.gen(function* () {
          const watch = yield* Effect.provideService(open(), Clock.Clock, wall.clock)
          const fiber = yield* Effect.forkChild(Effect.flip(Effect.forever(watch.next)))
          yield* TestClock.adjust("100 seconds")
          yield* Queue.offer(server.bytes, bookmark("8"))
          yield* TestClock.adjust("1 second")
          wall.set(millis)
          yield* TestClock.adjust("148999 millis")
          expect(fiber.pollUnsafe()).toBeUndefined()
          yield* TestClock.adjust("1 millis")
          expect(fiber.pollUnsafe()).toBeDefined()
          expect(yield* Fiber.join(fiber)).toMatchObject({ _tag: "Idle" })
        }).pipe(Effect.provide(Scripted.client(server)))
      })
    )
  }

  effect("does not count the pauses of a busy reader as silence", () =>
    Effect.gen(function* () {
      const server = yield* Scripted.make(() => "silence")
      yield* Effect.gen(function* () {
        const watch = yield* open()
        yield* Queue.offer(server.bytes, bookmark("8"))
        yield* watch.next
        yield* TestClock.adjust("1 hour")
        yield* Queue.offer(server.bytes, bookmark("9"))
        expect(yield* watch.next).toHaveLength(1)
      }).pipe(Effect.provide(Scripted.client(server)))
    })
  )

  effect("closes its request with its scope", () =>
    Effect.gen(function* () {
      const server = yield* Scripted.make(() => "silence")
      yield* Effect.scoped(open()).pipe(
        Effect.tap(() => Effect.sync(() => expect(server.aborted()).toBe(1))),
        Effect.provide(Scripted.client(server))
      )
    })
  )

  effect("fails with the error of a rejection, and is not retried", () =>
    Effect.gen(function* () {
      const server = yield* Scripted.make(() => "silence", failure(403, "Forbidden"))
      const error = yield* Effect.flip(open()).pipe(Effect.provide(Scripted.client(server)))
      expect(error).toMatchObject({ _tag: "Forbidden", message: "GET /api/v1/configmaps: because Forbidden" })
      expect(server.requests).toHaveLength(1)
    })
  )

  effect("fails with a Transport error if the headers take 30 seconds; events may take any time", () =>
    Effect.gen(function* () {
      const silent = yield* Scripted.make(() => "silence", "silence")
      const fiber = yield* Effect.forkChild(
        Effect.flip(Effect.scoped(open())).pipe(Effect.provide(Scripted.client(silent)))
      )
      yield* TestClock.adjust("30 seconds")
      expect(yield* Fiber.join(fiber)).toMatchObject({ _tag: "Transport", code: "DEADLINE" })

      const server = yield* Scripted.make(() => "silence")
      yield* Effect.gen(function* () {
        const watch = yield* open()
        const waiting = yield* Effect.forkChild(watch.next)
        yield* TestClock.adjust("2 minutes")
        yield* Queue.offer(server.bytes, bookmark("8"))
        expect(yield* Fiber.join(waiting)).toHaveLength(1)
      }).pipe(Effect.provide(Scripted.client(server)))
    })
  )

  const query = (options: Parameters<typeof Client.watch>[1]) =>
    Effect.gen(function* () {
      const server = yield* Scripted.make(() => "silence", answer(200, ""))
      yield* open(options).pipe(Effect.provide(Scripted.client(server)))
      return server.requests.map(({ headers, path }) => ({
        encoding: headers["accept-encoding"],
        query: Object.fromEntries(new URL(path, "https://server").searchParams)
      }))[0]
    })

  effect("requests the initial state in one stream, with compression", () =>
    Effect.gen(function* () {
      expect(yield* query({ initialEvents: true, labelSelector: "a=b", timeoutSeconds: 300 })).toEqual({
        encoding: "gzip",
        query: {
          watch: "true",
          allowWatchBookmarks: "true",
          labelSelector: "a=b",
          sendInitialEvents: "true",
          resourceVersionMatch: "NotOlderThan",
          timeoutSeconds: "300"
        }
      })
    })
  )

  effect("resumes from a resourceVersion, for five to ten minutes at random", () =>
    Effect.gen(function* () {
      const queries = yield* Effect.all(Array.from({ length: 20 }, () => query({ resourceVersion: "7" })))
      const seconds = queries.map((each) => Number(each?.query.timeoutSeconds))
      expect(queries[0]?.query).toMatchObject({ watch: "true", allowWatchBookmarks: "true", resourceVersion: "7" })
      expect(seconds.every((each) => each >= 300 && each <= 600)).toBe(true)
      expect(new Set(seconds).size).toBeGreaterThan(5)
    })
  )
})
