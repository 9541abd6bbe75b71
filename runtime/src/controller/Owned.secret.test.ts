import { describe, expect } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import { Secret } from "../resource/BuiltIn.ts"
import * as Owned from "./Owned.ts"
import * as Result from "./Result.ts"
import { counted, pass, run, settle, Widget, widget, withWorld } from "./World.fixture.ts"

const base64 = (text: string) => Buffer.from(text).toString("base64")

describe("The stringData of a Secret", () => {
  effect(
    "is applied as its data, and corrected when another manager changes it",
    withWorld(({ logs, server }) =>
      Effect.gen(function* () {
        const data = () => server.get(Secret, "a")?.data
        const { reconcile } = counted((_, owner) =>
          Effect.as(
            Owned.apply(owner, Secret, {
              metadata: { name: "a" },
              data: { user: base64("me"), both: base64("data") },
              stringData: { password: "good", both: "text" }
            }),
            Result.done
          )
        )
        server.put(Widget, widget("a"))
        yield* run({ reconcile, owns: [Secret] })
        const wanted = { user: base64("me"), password: base64("good"), both: base64("text") }
        expect(data()).toEqual(wanted)

        server.change(Secret, "a", { data: { password: base64("evil") } })
        yield* settle
        expect(data()).toEqual(wanted)

        const before = server.writes().length
        server.change(Widget, "a", { metadata: { labels: { touched: "yes" } } })
        yield* pass("1 minute")
        expect(
          server
            .writes()
            .slice(before)
            .filter(({ path }) => path.includes("secrets"))
        ).toEqual([])
        expect(logs.filter((line) => !line.startsWith("INFO"))).toEqual([])
      })
    )
  )
})
