/**
 * Effects outside of the cluster: requests to a cloud, a database or a repository. `homeostat plan` runs the reconciles of a program
 * without any effect. It cannot see such requests, so a controller marks them.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"

/**
 * Runs in place of an effect outside of the cluster, with the description of that effect. Default: none, so the effect itself runs.
 *
 * @internal
 */
export const Outside = Context.Reference("@homeostat/runtime/Outside", {
  defaultValue: (): ((what: string) => Effect.Effect<never>) | undefined => undefined
})

/**
 * Marks an effect outside of the cluster. In a plan it does not run: the attempt ends, and the rest of the plan of this object is unknown.
 *
 * @param what the effect in a few words, for the plan: `the bucket s3://shop`
 *
 * @example
 * ```ts
 * const createBucket = Effect.succeed("s3://site")
const bucket = yield* Outside.effect("the bucket of the site", createBucket)
bucket // => "s3://site"
 * ```
 */
export const effect = <A, E, R>(what: string, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.contextWith((context: Context.Context<R>) => Context.get(context, Outside)?.(what) ?? effect)
