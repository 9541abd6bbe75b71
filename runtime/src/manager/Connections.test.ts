import { describe, expect, test } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import * as Controller from "../controller/Controller.ts"
import * as Result from "../controller/Result.ts"
import * as Runner from "../controller/Runner.ts"
import * as Trigger from "../controller/Trigger.ts"
import { Widget, withWorld } from "../controller/World.fixture.ts"
import { ConfigMap, CustomResourceDefinition } from "../resource/BuiltIn.ts"
import * as Connections from "./Connections.ts"

describe("The limit of concurrent requests", () => {
  const line = (workers: number, watches: number, planned: number, cap: number, fitting: number) =>
    `${workers} workers and ${watches} watches may want ${planned} requests at once, of which Bun allows ${cap}: set BUN_CONFIG_MAX_HTTP_REQUESTS=${fitting}`
  const cases: ReadonlyArray<readonly [string, number, number, string | undefined, string | undefined]> = [
    ["is sufficient for few workers", 16, 6, undefined, undefined],
    ["is sufficient up to 90 percent", 200, 22, undefined, undefined],
    ["is reported above 90 percent", 200, 23, undefined, line(200, 23, 231, 256, 512)],
    ["is the value of the variable", 200, 23, "1024", undefined],
    ["may be too low in the variable", 16, 6, "20", line(16, 6, 30, 20, 64)],
    ["is Bun's default if the variable is invalid", 200, 23, "many", line(200, 23, 231, 256, 512)]
  ]
  for (const [sentence, workers, watches, setting, expected] of cases) {
    test(sentence, () => expect(Connections.problem({ workers, watches }, setting)).toBe(expected))
  }
})

effect(
  "Connections.planOf counts each worker, and each watched kind once per namespace, or once",
  withWorld(() =>
    Effect.gen(function* () {
      const reconcile = () => Effect.succeed(Result.done)
      const one = Controller.make("one", { for: Widget, owns: [ConfigMap], concurrency: 3, reconcile })
      const watches = [Trigger.onMetadata(CustomResourceDefinition, { map: () => [] })]
      const two = Controller.make("two", { for: Widget, watches, concurrency: 4, reconcile })
      const runners = yield* Effect.all([Runner.prepare(one), Runner.prepare(two, { concurrency: 5 })])
      expect(Connections.planOf(runners, ["a", "b", "a"])).toEqual({ workers: 8, watches: 5 })
      expect(Connections.planOf(runners, [])).toEqual({ workers: 8, watches: 3 })
    })
  )
)
