/** A certificate of a TLS port and its successors, for a port that renews its certificate without a restart. */
import * as Effect from "effect/Effect"

/** A certificate with its intermediates, and its private key; both PEM. */
export interface Pair {
  readonly certificate: string
  readonly key: string
}

/** A certificate and its successors. */
export interface Source {
  readonly first: Pair
  /** Waits for the next pair, which differs from this one. Never fails: errors are logged. */
  readonly after: (pair: Pair) => Effect.Effect<Pair>
}

/** Shows each later pair. */
export const follow = (source: Source, show: (pair: Pair) => Effect.Effect<void>): Effect.Effect<never> =>
  Effect.gen(function* () {
    let pair = source.first
    while (true) {
      pair = yield* source.after(pair)
      yield* show(pair)
    }
  })
