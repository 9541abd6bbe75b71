/** The fibers of a replay: which of its requests follow each other, and which are concurrent. */
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as FiberRef from "effect/FiberRef"

/** The place of a fiber: the numbers of the forks that lead to it. */
type Path = ReadonlyArray<number>

/** The moment of a request: its fiber, and the number of forks before it. */
export interface Moment {
  readonly path: Path
  readonly forks: number
}

/** The fibers under one effect. */
export interface Lineage {
  /** Follows the forks of an effect. */
  readonly within: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /** The present moment of a fiber. */
  readonly momentOf: (fiber: Fiber.RuntimeFiber<unknown, unknown>) => Moment
}

/** No fibers. */
export const make = (): Lineage => {
  let forks = 0
  const path = FiberRef.unsafeMake<Path>([], { fork: (parent) => [...parent, ++forks], join: (parent) => parent })
  return {
    within: (effect) => Effect.locally(effect, path, [0]),
    momentOf: (fiber) => ({ path: fiber.getFiberRef(path), forks })
  }
}

/**
 * Whether a moment waits for an earlier one: in the same fiber, in a fiber that waits for the other, or in one that was forked after the other.
 * Otherwise both are concurrent, and their order is by chance.
 */
export const follows = (later: Moment, earlier: Moment): boolean => {
  const at = later.path.findIndex((fork, index) => fork !== earlier.path[index])
  // The fiber of the later moment is the same, or has forked the other one.
  if (at === -1) return true
  return (later.path[at] ?? 0) > earlier.forks
}
