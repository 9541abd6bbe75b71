/** Another manager that restores its value of a field after each change. */
import * as Client from "@homeostat/runtime/client/Client"
import type { KubernetesObject, ObjectKey } from "@homeostat/runtime/resource/KubernetesObject"
import type * as Resource from "@homeostat/runtime/resource/Resource"
import { Effect, type Scope } from "effect"

export interface Rival {
  readonly times: () => number
}

/** Watches an object until the Scope closes, and runs `take` after each event unless `wants` accepts the object. */
export const start = <A extends KubernetesObject>(
  kind: Resource.Resource<A, never>,
  { name, namespace }: ObjectKey,
  wants: (object: A) => boolean,
  take: Effect.Effect<unknown, unknown, Client.Client>
): Effect.Effect<Rival, unknown, Scope.Scope | Client.Client> =>
  Effect.gen(function* () {
    let times = 0
    const watch = yield* Client.watch(kind, { namespace, initialEvents: true })
    yield* Effect.gen(function* () {
      const objects = (yield* watch.next).flatMap((event) =>
        event.type === "ADDED" || event.type === "MODIFIED" ? [event.object] : []
      )
      const last = objects.findLast(({ metadata }) => metadata.name === name)
      if (last === undefined || wants(yield* Effect.fromResult(kind.decode(last)))) return
      // The delay keeps the machine idle between the writes.
      yield* Effect.sleep("100 millis")
      times++
      yield* take
    }).pipe(Effect.forever, Effect.forkScoped)
    return { times: () => times }
  })
