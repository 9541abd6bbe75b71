import { expect } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as TestClock from "effect/testing/TestClock"
import * as OwnWrites from "../controller/OwnWrites.ts"
import type { Runner } from "../controller/Runner.ts"
import * as Sources from "../controller/Sources.ts"
import type { TriggerEvent } from "../controller/Trigger.ts"
import * as CpuUse from "../queue/CpuUse.ts"
import * as WorkQueue from "../queue/WorkQueue.ts"
import * as Endings from "./Endings.ts"
import * as Rest from "./Rest.ts"

const trigger: TriggerEvent = { kind: "startup", at: 0 }

effect(
  "A plan waits for work that begins shortly after the queue was empty, for maps, and for delays of triggers",
  () =>
    Effect.gen(function* () {
      const queue = yield* WorkQueue.make<TriggerEvent>()
      const intake = Sources.nothing()
      const runner: Runner = {
        controller: "widget",
        hangs: () => false,
        informers: [],
        concurrency: 1,
        started: Effect.void,
        queue: () => Option.some(queue),
        intake,
        writes: OwnWrites.make(),
        use: CpuUse.make(),
        lastLoop: () => undefined
      }
      queue.add("default/one", trigger)
      const reached = yield* Effect.forkChild(Rest.make(Endings.make()).reached([runner]))
      const isReached = Effect.andThen(
        TestClock.adjust("8 millis"),
        Effect.sync(() => reached.pollUnsafe() !== undefined)
      )
      expect(yield* isReached).toBe(false)
      yield* queue.take
      expect(yield* isReached).toBe(false)
      queue.done("default/one")
      expect(yield* isReached).toBe(false)
      queue.add("default/two", trigger)
      expect(yield* isReached).toBe(false)
      yield* queue.take
      queue.done("default/two")
      expect(yield* isReached).toBe(false)
      intake.isMapping = true
      yield* TestClock.adjust("1 second")
      expect(yield* isReached).toBe(false)
      intake.isMapping = false
      intake.dueAt = (yield* Clock.currentTimeMillis) + 1000
      yield* TestClock.adjust("990 millis")
      expect(yield* isReached).toBe(false)
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(reached)
    })
)
