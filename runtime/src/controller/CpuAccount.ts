/**
 * Charges the CPU time of attempts to their namespaces. The scheduler reports each switch to another fiber: the time until the next switch,
 * or until the event loop has its turn, is that of the fiber. The fibers of a worker and of its attempt share the account of the worker. With
 * another scheduler, as in a test with virtual time, nothing is charged.
 *
 * @internal
 */
import * as Context from "effect/Context"
import type { CpuUse } from "../queue/CpuUse.ts"

/** The account of a worker. Times are monotonic milliseconds of the machine. */
export class CpuAccount {
  /** The namespace of the attempt in progress. */
  private namespace: string | undefined = undefined

  constructor(private readonly use: CpuUse) {}

  /** An attempt begins. */
  begin(namespace: string | undefined, at: number): void {
    if (running === this) since = at
    this.namespace = namespace
  }

  /** The attempt has ended. */
  end(now: () => number): void {
    if (running === this) charge(now())
    this.namespace = undefined
  }

  /** Adds CPU time that a fiber with this account used until `at`. */
  add(millis: number, at: number): void {
    if (this.namespace !== undefined) this.use.spend(this.namespace, millis, at)
  }
}

/** The account of a fiber. */
export const Account = Context.Reference("@homeostat/runtime/CpuAccount", {
  defaultValue: (): CpuAccount | undefined => undefined
})

/** The account of the fiber that runs: one for the process, because it has one thread. */
let running: CpuAccount | undefined
let since = 0

const charge = (at: number): void => {
  running?.add(at - since, at)
  since = at
}

/** A fiber with this context continues. Returns whether it has an account. */
export const switchTo = (context: Context.Context<never>, now: () => number): boolean => {
  const next = Context.getOrUndefined(context, Account)
  if (next !== running) {
    charge(now())
    running = next
  }
  return next !== undefined
}

/** No fiber runs. */
export const rest = (now: () => number): void => {
  if (running === undefined) return
  charge(now())
  running = undefined
}
