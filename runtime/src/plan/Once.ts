/** Effects that run once for each key, also if the request that needs the result first ends before. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

/** The results by key. */
export interface Once<A, E> {
  /** The result of the first effect with this key. */
  readonly run: (key: string, effect: Effect.Effect<A, E>) => Effect.Effect<A, E>
  /** The result of this key if the effect has begun. */
  readonly get: (key: string) => Effect.Effect<A, E> | undefined
}

/** No results. The effects run until the scope closes. */
export const make = <A, E>(): Effect.Effect<Once<A, E>, never, Scope.Scope> =>
  Effect.map(Effect.scope, (scope) => {
    const results = new Map<string, Deferred.Deferred<A, E>>()
    const get: Once<A, E>["get"] = (key) => {
      const known = results.get(key)
      return known && Deferred.await(known)
    }
    return {
      get,
      run: (key, effect) =>
        Effect.suspend(() => {
          const known = get(key)
          if (known !== undefined) return known
          const result = Deferred.makeUnsafe<A, E>()
          results.set(key, result)
          return Effect.andThen(Effect.forkIn(Deferred.into(effect, result), scope), Deferred.await(result))
        })
    }
  })
