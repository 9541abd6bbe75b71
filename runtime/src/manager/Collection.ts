/**
 * Collects garbage once after the first pass of a term. A first pass leaves more garbage than live objects. Bun's own collector
 * depends on the memory of the machine and would keep that garbage.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type { Runner } from "../controller/Runner.ts"

/** Fewer objects leave little garbage. */
const fewest = 1000

/** A collection stops the process for 5 ms per 1,000 objects. With more objects, it would delay probes and the Lease. */
const most = 50_000

/**
 * Collects within a second after all caches have synced and the queues are empty. In each later term it collects within a minute after
 * that.
 */
export const afterFirstPass = (
  runners: ReadonlyArray<Pick<Runner, "informers" | "queue">>,
  collect: () => void = () => Bun.gc(true)
): Effect.Effect<void, never, Scope.Scope> => {
  const informers = [...new Set(runners.flatMap((runner) => runner.informers))]
  const passed = new Set<unknown>()
  const look = Effect.sync(() => {
    const queues = runners.flatMap(({ queue }) => Option.toArray(queue()))
    if (passed.size > 0 && queues.every((queue) => passed.has(queue))) return
    const isBusy = queues.map((queue) => queue.snapshot()).some(({ processing, ready }) => ready + processing > 0)
    if (isBusy) return
    passed.clear()
    for (const queue of [undefined, ...queues]) passed.add(queue)
    const objects = informers.reduce((sum, { store }) => sum + store.size(), 0)
    if (objects >= fewest && objects <= most) collect()
  })
  // An optional kind that the API server does not serve never syncs.
  const filled = informers.map(({ isOptional, settled, synced }) => (isOptional() ? settled : synced))
  return Effect.all(filled, { discard: true }).pipe(
    Effect.andThen(
      Effect.forever(Effect.suspend(() => Effect.delay(look, passed.size === 0 ? "1 second" : "1 minute")))
    ),
    Effect.forkScoped,
    Effect.asVoid
  )
}
