import { expect } from "bun:test"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import { effect } from "../Test.ts"
import * as Probes from "./Probes.ts"

effect("The probes of a container that continues keep their times", () =>
  Effect.gen(function* () {
    const times: Array<number> = []
    const readinessProbe = { httpGet: { port: 80 }, initialDelaySeconds: 20, periodSeconds: 30, failureThreshold: 5 }
    const look = () =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        times.push(now / 1000)
        return "not yet"
      })
    const listener = { started: Effect.void, ready: () => Effect.void, unhealthy: () => Effect.void }
    const health = { started: true, ready: false }
    yield* TestClock.adjust("55 seconds")
    yield* Effect.forkChild(Probes.run({ name: "main", readinessProbe }, 0, health, look, Effect.void, listener))
    yield* TestClock.adjust("1 minute")
    expect(times).toEqual([80, 110])
  })
)
