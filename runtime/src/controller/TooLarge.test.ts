import { describe, expect } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import { ConfigMap } from "../resource/BuiltIn.ts"
import * as Owned from "./Owned.ts"
import * as Result from "./Result.ts"
import { counted, pass, run, settle, story, Widget, widget, withWorld } from "./World.fixture.ts"

const labels = Object.fromEntries(Array.from({ length: 3000 }, (_, at) => [`label-${at}`, "x".repeat(60)]))
const large = { annotations: { note: "x".repeat(250_000) }, labels }
const name = "example.com/clean"

describe("An object that is too large for the cache", () => {
  effect(
    "is not reconciled and shows that in its conditions, until it is smaller",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        const { names, reconcile } = counted(() => Effect.succeed(Result.done))
        server.put(Widget, { ...widget("a"), metadata: { name: "a", ...large } })
        server.put(Widget, widget("b"))
        yield* run({ reconcile })
        yield* pass("1 minute")
        expect(names()).toEqual(["b"])
        const message = "Widget default/a is too large to be reconciled: it takes more than 524288 bytes in the cache"
        expect(server.get(Widget, "a")?.status?.conditions).toMatchObject([
          { type: "Ready", status: "False", reason: "TooLarge", message: expect.stringContaining(message) },
          { type: "Stalled", status: "True", reason: "TooLarge", message: expect.stringContaining(message) }
        ])
        expect(server.events().map(({ note, reason }) => `${reason}: ${note}`)).toEqual([
          expect.stringContaining(`TooLarge: ${message}`)
        ])
        // The write of the conditions is an event, too.
        expect(attempts.filter(({ key }) => key === "default/a").length).toBeLessThan(4)
        expect(server.writes().filter(({ path }) => path.endsWith("/widgets/a/status"))).toHaveLength(1)

        server.put(Widget, { ...widget("a"), metadata: { name: "a", annotations: {}, labels: {} } })
        yield* pass("1 minute")
        expect(names()).toEqual(["b", "a", ...names().slice(2)])
        expect(server.get(Widget, "a")?.status?.conditions).toEqual([])
        expect(story(attempts).at(-1)).toBe("Done")
      })
    )
  )

  effect(
    "has its clean-up when it is deleted",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        const cleaned: Array<string> = []
        const cleanup = ({ metadata, spec }: typeof Widget.Type) =>
          Effect.sync(() => void cleaned.push(`${metadata.name} ${spec.size}`))
        server.put(Widget, { ...widget("a", 3), metadata: { name: "a", ...large, finalizers: [name] } })
        yield* run({ reconcile: () => Effect.succeed(Result.done), finalizer: { name, cleanup } })
        server.remove(Widget, "a")
        yield* settle
        yield* pass("1 second")
        expect(cleaned).toEqual(["a 3"])
        expect(server.get(Widget, "a")).toBeUndefined()
      })
    )
  )
})

describe("An object that does not fit into a full cache", () => {
  const annotations = { note: "x".repeat(40_000) }

  effect(
    "shows that in its conditions, until it fits",
    withWorld(
      ({ server }) =>
        Effect.gen(function* () {
          const { names, reconcile } = counted(() => Effect.succeed(Result.done))
          server.put(Widget, { ...widget("own"), metadata: { name: "own", namespace: "other" } })
          for (let at = 0; at < 3; at++)
            server.put(Widget, { ...widget(`${at}`), metadata: { name: `${at}`, annotations } })
          yield* run({ reconcile })
          yield* pass("1 minute")
          const shown = () => [0, 1, 2].map((at) => server.get(Widget, `${at}`)?.status?.conditions?.[0])
          const reported = shown().flatMap((condition) => condition ?? [])
          expect(reported).toHaveLength(1)
          expect(reported[0]).toMatchObject({
            type: "Ready",
            reason: "TooLarge",
            message: expect.stringMatching(
              /^Widget default\/\d is too large to be reconciled: it takes 4\d{4} bytes, the cache is full, and namespace default takes most of it \(.*--cache-memory\)/
            )
          })
          expect(names()).toContain("own")
          const held = shown().findIndex((condition) => condition !== undefined)
          for (const at of [0, 1, 2]) if (at !== held) server.remove(Widget, `${at}`)
          yield* pass("1 minute")
          expect(shown()[held]).toBeUndefined()
          expect(names().at(-1)).toBe(`${held}`)
        }),
      { memory: 100_000 }
    )
  )
})

describe("A child that is too large for the cache", () => {
  const message =
    "ConfigMap default/a is too large for a child: it takes more than 524288 bytes in the cache, so each reconcile would read it from the API server (shorten its values, labels and annotations)"
  const report = [
    { type: "Ready", status: "False", reason: "TooLarge", message },
    { type: "Stalled", status: "True", reason: "TooLarge", message }
  ]
  const text = "x".repeat(600_000)
  const makes = (data: { readonly [key: string]: string }) => ({
    owns: [ConfigMap],
    ...counted((_, owner) => {
      const large = Owned.child(ConfigMap, { metadata: { name: owner.metadata.name }, data })
      const other = Owned.child(ConfigMap, { metadata: { name: "other" }, data: { size: `${owner.spec.size}` } })
      return Effect.as(Owned.all(owner, [large, other]), Result.done)
    })
  })

  for (const [what, patch] of [
    ["by its values", { data: { theirs: text } }],
    ["by its metadata", { metadata: { labels }, data: { theirs: text } }]
  ] as const) {
    effect(
      `${what} is reported on its owner, until it is smaller, and stays corrected`,
      withWorld(({ attempts, server }) =>
        Effect.gen(function* () {
          server.put(Widget, widget("a"))
          yield* run(makes({ ours: "1" }))
          expect(story(attempts).at(-1)).toBe("Done")
          server.change(ConfigMap, "a", patch)
          yield* pass("1 minute")
          expect(server.get(Widget, "a")?.status?.conditions).toMatchObject(report)
          expect(server.events().map(({ note, reason, type }) => [type, reason, note])).toContainEqual([
            "Warning",
            "TooLarge",
            message
          ])
          expect(attempts.at(-1)?.outcome).toMatchObject({ _tag: "Terminal", error: { message } })
          const before = attempts.length
          yield* pass("1 hour")
          expect(attempts).toHaveLength(before)

          server.change(Widget, "a", { spec: { size: 7 } })
          server.change(ConfigMap, "a", { data: { ours: "theirs" } })
          yield* pass("1 minute")
          expect(server.get(ConfigMap, "other")?.data).toEqual({ size: "7" })
          expect(server.get(ConfigMap, "a")?.data?.ours).toBe("1")
          expect(server.get(Widget, "a")?.status?.conditions).toMatchObject(report)

          server.change(ConfigMap, "a", { metadata: { labels: null }, data: { theirs: null } })
          yield* pass("1 minute")
          expect(server.get(Widget, "a")?.status?.conditions).toEqual([])
          expect(story(attempts).at(-1)).toBe("Done")
        })
      )
    )
  }

  effect(
    "by the intent is reported in the first attempt",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        yield* run(makes({ text }))
        expect(attempts[0]?.outcome).toMatchObject({ _tag: "Terminal", error: { message } })
        expect(server.get(Widget, "a")?.status?.conditions).toMatchObject(report)
        expect(server.get(ConfigMap, "a")?.data).toEqual({ text })
        yield* pass("1 hour")
        expect(attempts.length).toBeLessThan(5)
        expect(server.writes().filter(({ path }) => path.endsWith("/configmaps/a"))).toHaveLength(1)
      })
    )
  )
})
