/**
 * The waiting workers in order. A worker that is *signaled* fetches a key when its fiber runs. So an interrupted fiber never gets a key,
 * and the worker gets the best key of that moment. A later worker cannot take the key of a signaled one.
 */
import * as Effect from "effect/Effect"

/** See the top of this file. */
export interface Waiters<out A> {
  /** Fetches now or waits in line. To be run uninterruptibly; only the waiting can be interrupted. */
  readonly take: Effect.Effect<A>
  /** Calls as many workers as there are keys. Synchronous, and cheap if no worker waits. */
  readonly signal: () => void
}

/** A worker that waits or has been signaled. */
interface Waiter {
  signaled: boolean
  readonly signal: () => void
}

/**
 * An empty line. `available` counts what can be fetched; `fetch` fetches, and may return undefined only when nothing is
 * available.
 */
export const make = <A>(available: () => number, fetch: () => A | undefined): Waiters<A> => {
  const line = new Set<Waiter>()
  /** Waiters that were signaled and have not fetched yet; they no longer wait. */
  let signaled = 0

  const signal = (): void => {
    for (const waiter of line) {
      if (available() <= signaled) return
      line.delete(waiter)
      waiter.signaled = true
      signaled++
      waiter.signal()
    }
  }

  const fetchOrWait = (): Effect.Effect<A> => {
    const fetched = fetch()
    return fetched === undefined ? wait : Effect.succeed(fetched)
  }

  const wait: Effect.Effect<A> = Effect.suspend(() => {
    let waiter: Waiter | undefined
    const turn = Effect.async<void>((resume) => {
      waiter = { signaled: false, signal: () => resume(Effect.void) }
      line.add(waiter)
      // Something may be there already: a fiber can be made to yield between looking and lining up. But signaled at once,
      // it would run before those that are signaled and wait for their fibers' turn; they signal it when they have fetched.
      if (signaled === 0) signal()
    })
    return Effect.matchCauseEffect(Effect.interruptible(turn), {
      onFailure: (cause) => {
        if (waiter?.signaled === true) {
          signaled--
          signal()
        } else if (waiter !== undefined) line.delete(waiter)
        return Effect.failCause(cause)
      },
      onSuccess: () => {
        signaled--
        const mine = fetchOrWait()
        signal()
        return mine
      }
    })
  })

  return { take: Effect.suspend(() => (signaled > 0 ? wait : fetchOrWait())), signal }
}
