/** Reads objects again that did not fit into the cache, when they fit. Without such objects it sends no request and sets no timer. */
import * as Effect from "effect/Effect"
import type * as Client from "../client/Client.ts"
import { parseKey } from "../resource/KubernetesObject.ts"
import * as Resource from "../resource/Resource.ts"
import type { Handle } from "./Informer.ts"
import type { Shares } from "./Shares.ts"

/** How often to look for objects that fit. */
const interval = "10 seconds"

/** The most objects of a kind that are read in a row. */
const mostReads = 100

/** Never ends. An object that cannot be read waits for the next turn. */
export const run = (
  client: Pick<Client.Client["Service"], "get">,
  shares: Shares,
  handles: () => Iterable<Handle>
): Effect.Effect<never> =>
  Effect.gen(function* () {
    yield* shares.crowded
    yield* Effect.sleep(interval)
    for (const { fitting, informer, restore } of handles()) {
      const wire = Resource.make({ ...informer.resource, decode: undefined })
      let reads = 0
      for (const key of fitting()) {
        if (++reads > mostReads) break
        yield* Effect.ignore(Effect.map(client.get(wire, parseKey(key)), restore))
      }
    }
  }).pipe(Effect.forever)
