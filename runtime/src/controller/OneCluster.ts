/**
 * Children and a status belong to the cluster of the owner. With the Client of another cluster, a write would go there, and would be compared
 * with the cache of this one.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Cache from "../cache/Cache.ts"
import { Undeclared } from "../cache/Undeclared.ts"
import * as Client from "../client/Client.ts"
import { keyString, type ObjectKey } from "../resource/KubernetesObject.ts"
import type * as Resource from "../resource/Resource.ts"

/**
 * The defect of a write by a Client that is not the one of the Cache; undefined without one. Plain code, because each write asks.
 *
 * @param what the write, such as `Owned.apply of`
 */
export const refused = (
  services: Context.Context<never>,
  what: string,
  kind: Resource.Any,
  key: ObjectKey
): Effect.Effect<never> | undefined => {
  const found = services as Context.Context<Cache.Cache | Client.Client>
  if (Context.get(found, Cache.Cache).sees(Context.get(found, Client.Client))) return undefined
  return Effect.die(
    new Undeclared({
      message: `${what} ${kind.kind} ${keyString(key)} uses a Client whose writes the Cache does not see: that of another cluster (write there with Client.apply)`
    })
  )
}
