/** A reason for which a controller takes no object, while others go on. */
import type * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"

/** The gate before the workers of a controller. */
export interface Hold {
  readonly isHeld: () => boolean
  /** Waits until the workers may go on. */
  readonly over: Effect.Effect<void>
  /** Closes or opens the gate. */
  readonly set: (isHeld: boolean) => void
}

/** A gate. */
export const make = (isHeld: boolean): Hold => {
  const latch = Latch.makeUnsafe(!isHeld)
  let held = isHeld
  return {
    isHeld: () => held,
    over: latch.await,
    set: (isHeld) => {
      held = isHeld
      if (isHeld) latch.closeUnsafe()
      else latch.openUnsafe()
    }
  }
}
