/**
 * Whether what the process reads is there, kind by kind, for whoever asks whether it is ready.
 *
 * A kind is ready when its copy was complete once, and neither a missing permission, nor a missing CRD, nor a watch that breaks
 * again and again keeps it from being current. An API server that is away, overloaded or failing does not count: a restart of the
 * manager would not help, and the copy goes on.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { Cache, type Informer } from "../cache/Cache.ts"
import * as Resource from "../resource/Resource.ts"
import { Health } from "./Health.ts"

/** What keeps a copy from being of use, in one line; nothing if it is. */
export const hindrance = (informer: Pick<Informer, "resource" | "state">): string | undefined => {
  const { cause, problem, synced } = informer.state()
  if (!synced) return problem ?? `the first list of ${Resource.nameOf(informer.resource)} is not complete yet`
  return cause?.kind === "denied" || cause?.kind === "missing" || cause?.isInStream === true ? problem : undefined
}

/** Several informers can follow one kind, by selector or projection. */
const named = (informers: ReadonlyArray<Informer>): ReadonlyMap<string, ReadonlyArray<Informer>> =>
  Map.groupBy(informers, ({ resource }) => Resource.nameOf(resource))

/** Registers a readiness check for each kind that is in the cache by now: `cache-webapps.apps.kubedojo.io`. */
export const register: Effect.Effect<void, never, Cache | Scope.Scope> = Effect.gen(function* () {
  const cache = yield* Cache
  const health = yield* Health
  for (const [name, informers] of named(cache.informers())) {
    yield* health.readiness(`cache-${name}`, () => informers.map(hindrance).find((each) => each !== undefined))
  }
})
