/**
 * The waiting workers in order. A *signaled* worker fetches a key when its fiber runs. So an interrupted fiber never gets a key, and a
 * worker gets the key with the highest priority of that moment. A later worker cannot take the key of a signaled one.
 */
import * as Effect from "effect/Effect"

/** The waiting workers of one queue. */
export interface Waiters<out A> {
  /** Fetches a key, or waits for one. Run it in an uninterruptible region; only the wait can be interrupted. */
  readonly take: Effect.Effect<A>
  /** Signals as many workers as there are keys. Synchronous, and cheap if no worker waits. */
  readonly signal: () => void
}

/** A worker that waits or has been signaled. */
interface Waiter {
  signaled: boolean
  readonly signal: () => void
}

/**
 * Without workers.
 *
 * @param available the number of keys
 * @param fetch returns a key; undefined only if `available` is 0
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
    const turn = Effect.callback<void>((resume) => {
      // Later, because `signal` is called in synchronous code, which must not run an attempt. A turn of the event loop would limit two
      // workers, which hand over to each other, to one attempt in each turn.
      waiter = { signaled: false, signal: () => queueMicrotask(() => resume(Effect.void)) }
      line.add(waiter)
      // The scheduler may have run another fiber since the fetch, so a key may be available. Signaled workers come first: each of them
      // signals the next one after its fetch.
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
