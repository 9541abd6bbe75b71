/**
 * The waiting workers in order. A worker that is *called* fetches a key when its fiber runs. So an interrupted fiber never gets a key,
 * and the worker gets the best key of that moment. A later worker cannot take the key of a called one.
 */
import * as Effect from "effect/Effect"

/** See the top of this file. */
export interface Waiters<out A> {
  /** Fetches now or waits in line. To be run uninterruptibly; only the waiting can be interrupted. */
  readonly take: Effect.Effect<A>
  /** Calls as many workers as there are keys. Synchronous, and cheap if no worker waits. */
  readonly call: () => void
}

/** A worker that waits or has been called. */
interface Waiter {
  called: boolean
  readonly call: () => void
}

/**
 * An empty line. `available` counts what can be fetched; `fetch` fetches, and may return undefined only when nothing is
 * available.
 */
export const make = <A>(available: () => number, fetch: () => A | undefined): Waiters<A> => {
  const line = new Set<Waiter>()
  /** Waiters that were called and have not fetched yet; they no longer wait. */
  let called = 0

  const call = (): void => {
    for (const waiter of line) {
      if (available() <= called) return
      line.delete(waiter)
      waiter.called = true
      called++
      waiter.call()
    }
  }

  const fetchOrWait = (): Effect.Effect<A> => {
    const fetched = fetch()
    return fetched === undefined ? wait : Effect.succeed(fetched)
  }

  const wait: Effect.Effect<A> = Effect.suspend(() => {
    let waiter: Waiter | undefined
    const turn = Effect.async<void>((resume) => {
      waiter = { called: false, call: () => resume(Effect.void) }
      line.add(waiter)
      // Something may be there already: a fiber can be made to yield between looking and lining up. But called at once,
      // it would run before those that are called and wait for their fibers' turn; they call it when they have fetched.
      if (called === 0) call()
    })
    return Effect.matchCauseEffect(Effect.interruptible(turn), {
      onFailure: (cause) => {
        if (waiter?.called === true) {
          called--
          call()
        } else if (waiter !== undefined) line.delete(waiter)
        return Effect.failCause(cause)
      },
      onSuccess: () => {
        called--
        const mine = fetchOrWait()
        call()
        return mine
      }
    })
  })

  return { take: Effect.suspend(() => (called > 0 ? wait : fetchOrWait())), call }
}
