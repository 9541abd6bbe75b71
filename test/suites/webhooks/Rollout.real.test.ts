/** A rolling update of the replicas under load, on a real and on the embedded API server. */
import { describe, expect } from "bun:test"
import * as Eventually from "@homeostat/testkit/Eventually"
import * as Shared from "@homeostat/testkit/Shared"
import { Effect, Fiber } from "effect"
import * as Load from "./Load.ts"
import * as Scene from "./Scene.ts"

describe.concurrent.each([
  ["a real", Shared.real],
  ["the embedded", Shared.embedded]
] as const)("Replicas with webhooks, on %s API server,", (_, on) => {
  on(
    "are replaced five times under load without a failed call",
    (cluster) =>
      Effect.gen(function* () {
        const namespace = yield* cluster.namespace("rollout")
        const service = yield* Load.service([])
        const start = Effect.gen(function* () {
          const port = yield* Scene.freePort
          const program = yield* Scene.replica(cluster, port, [`--webhook-url=https://127.0.0.1:${service.port}`])
          return { port, program }
        })
        let old = yield* start
        service.route([old.port])
        yield* Scene.ready(old.program)
        yield* Eventually.eventually(
          "the webhooks are in force",
          Load.answer(cluster, namespace),
          (text) => text === "denied"
        )
        let calls = 0
        const failures: Array<unknown> = []
        const call = Effect.gen(function* () {
          const outcome = yield* Effect.catch(Load.answer(cluster, namespace), Effect.succeed)
          calls++
          if (outcome !== "denied") failures.push(outcome)
        })
        const load = yield* Effect.forkScoped(
          Effect.all(
            Array.from({ length: 6 }, () => Effect.forever(call)),
            { concurrency: "unbounded", discard: true }
          )
        )
        for (let update = 0; update < 5; update++) {
          const fresh = yield* start
          yield* Scene.ready(fresh.program)
          service.route([fresh.port])
          // The hook of the Deployment before the signal takes longer.
          yield* Effect.sleep("1 second")
          yield* old.program.signal("SIGTERM")
          expect(yield* old.program.ended("30 seconds")).toMatchObject({ code: 0 })
          expect({ update, failures }).toEqual({ update, failures: [] })
          old = fresh
        }
        yield* Fiber.interrupt(load)
        expect(failures).toEqual([])
        // The number depends on the machine.
        expect(calls).toBeGreaterThan(100)
      }),
    { alone: true, timeoutMillis: 300_000 }
  )
})
