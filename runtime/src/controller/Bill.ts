/**
 * Measures the CPU time of attempts. The scheduler says which fiber continues, and the time until another one continues, or until the
 * event loop has its turn, is that of the fiber. The fibers of a worker and of its attempt have the worker's bill. With another scheduler,
 * as in a test with virtual time, nothing is measured.
 *
 * @internal
 */
import * as Context from "effect/Context"
import type { CpuUse } from "../queue/CpuUse.ts"

/** The bill of a worker. Times are monotonic milliseconds of the machine. */
export class Bill {
  /** The namespace of the attempt in progress. */
  private namespace: string | undefined = undefined

  constructor(private readonly use: CpuUse) {}

  /** An attempt begins. */
  begin(namespace: string | undefined, at: number): void {
    if (paying === this) since = at
    this.namespace = namespace
  }

  /** The attempt has ended. */
  end(now: () => number): void {
    if (paying === this) pay(now())
    this.namespace = undefined
  }

  /** Enters CPU time that a fiber with this bill used until `at`. */
  enter(millis: number, at: number): void {
    if (this.namespace !== undefined) this.use.spend(this.namespace, millis, at)
  }
}

/** The bill of a fiber. */
export const Billed = Context.Reference("@homeostat/runtime/Billed", {
  defaultValue: (): Bill | undefined => undefined
})

/** The bill of the fiber that runs: one for the process, because it has one thread. */
let paying: Bill | undefined
let since = 0

const pay = (at: number): void => {
  paying?.enter(at - since, at)
  since = at
}

/** A fiber with this context continues. Returns whether it has a bill. */
export const turnTo = (context: Context.Context<never>, now: () => number): boolean => {
  const next = Context.getOrUndefined(context, Billed)
  if (next !== paying) {
    pay(now())
    paying = next
  }
  return next !== undefined
}

/** No fiber runs. */
export const rest = (now: () => number): void => {
  if (paying === undefined) return
  pay(now())
  paying = undefined
}
