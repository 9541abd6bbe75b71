/**
 * The readiness of the caches, one check per kind.
 *
 * A kind is ready after its first complete list, unless the cache cannot follow the cluster: a permission or the CRD is missing, or the
 * watch keeps breaking. An unavailable or overloaded API server does not count: a restart of the manager would not help, and the cached
 * objects stay usable.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { Cache, type Informer } from "../cache/Cache.ts"
import * as Resource from "../resource/Resource.ts"
import { Health } from "./Health.ts"

/** Why a cache is not usable, in one line; undefined if it is. */
export const hindrance = (informer: Pick<Informer, "resource" | "state">): string | undefined => {
  const { cause, problem, synced } = informer.state()
  if (!synced) return problem ?? `the first list of ${Resource.nameOf(informer.resource)} is not complete yet`
  return cause?.kind === "denied" || cause?.kind === "missing" || cause?.isInStream === true ? problem : undefined
}

/** Several informers can follow one kind, with different selectors or projections. */
const named = (informers: ReadonlyArray<Informer>): ReadonlyMap<string, ReadonlyArray<Informer>> =>
  Map.groupBy(informers, ({ resource }) => Resource.nameOf(resource))

/** Registers a readiness check for each cached kind: `cache-webapps.apps.kubedojo.io`. */
export const register: Effect.Effect<void, never, Cache | Scope.Scope> = Effect.gen(function* () {
  const cache = yield* Cache
  const health = yield* Health
  for (const [name, informers] of named(cache.informers())) {
    yield* health.readiness(`cache-${name}`, () => informers.map(hindrance).find((each) => each !== undefined))
  }
})
