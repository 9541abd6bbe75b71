/** For the tests: one controller at work, without a manager and an election. */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import type * as Cache from "../cache/Cache.ts"
import * as Fence from "../client/Fence.ts"
import type { Controller } from "./Controller.ts"
import type { Reachability } from "./Reachability.ts"
import * as Runner from "./Runner.ts"

/** Prepares a controller and lets it work until the scope closes, which waits until it is drained. */
export const start = <R>(
  controller: Controller<R>,
  settings?: Runner.Settings
): Effect.Effect<Runner.Runner, never, R | Cache.Cache | Reachability | Scope.Scope> =>
  Effect.gen(function* () {
    const runner = yield* Runner.prepare(controller, settings)
    const stopping = yield* Effect.makeLatch(false)
    yield* Effect.acquireRelease(
      // A fiber of the scope and no child of this one: children are interrupted with their parent, at once.
      runner.lead(Fence.open, stopping.await).pipe(Effect.interruptible, Effect.forkScoped),
      (fiber) => Effect.zipRight(stopping.open, Fiber.await(fiber))
    )
    return runner
  })
