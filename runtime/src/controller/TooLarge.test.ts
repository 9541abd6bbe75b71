import { describe, expect } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
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
