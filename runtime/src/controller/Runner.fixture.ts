/** Runs one controller without a manager and an election, for tests. */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import type * as Scope from "effect/Scope"
import type * as Cache from "../cache/Cache.ts"
import * as Fence from "../client/Fence.ts"
import type { Controller } from "./Controller.ts"
import type { Reachability } from "./Reachability.ts"
import * as Runner from "./Runner.ts"

/** Prepares and runs a controller until the scope closes. The scope waits until the controller has drained. */
export const start = <R>(
  controller: Controller<R>,
  settings?: Runner.Settings
): Effect.Effect<Runner.Runner, never, R | Cache.Cache | Reachability | Scope.Scope> =>
  Effect.gen(function* () {
    const runner = yield* Runner.prepare(controller, settings)
    const stopping = yield* Latch.make(false)
    yield* Effect.acquireRelease(
      // The scope owns the fiber, because a child fiber would be interrupted at once with its parent.
      runner.lead(Fence.open, stopping.await).pipe(Effect.interruptible, Effect.forkScoped),
      (fiber) => Effect.andThen(stopping.open, Fiber.await(fiber))
    )
    return runner
  })
