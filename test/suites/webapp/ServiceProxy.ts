/** The rules of kube-proxy for one Service: which pod gets the next connection. */
import type * as Client from "@homeostat/runtime/client/Client"
import { EndpointSlice } from "@homeostat/runtime/resource/BuiltIn"
import type { ObjectKey } from "@homeostat/runtime/resource/KubernetesObject"
import { follow } from "@homeostat/testkit/Follow"
import { Clock, Effect, Queue, Random, type Scope } from "effect"

/** The proxy of a Service. */
export interface ServiceProxy {
  /** Returns the `host:port` of a random pod that may get connections; undefined if no pod may. */
  readonly pick: Effect.Effect<string | undefined>
}

/** The milliseconds until a change of the EndpointSlices reaches the rules of all nodes. */
const propagation = 500

/** The pods that are ready, or else those that still serve while they terminate. */
const targetsOf = (slices: Iterable<EndpointSlice>, hostOf: (podIP: string) => string): ReadonlyArray<string> => {
  const all = [...slices].flatMap(({ endpoints = [], ports }) =>
    endpoints.flatMap(({ addresses, conditions }) =>
      (ports ?? []).flatMap(({ port }) =>
        addresses.map((address) => ({ conditions, target: `${hostOf(address)}:${port}` }))
      )
    )
  )
  const ready = all.filter(({ conditions }) => conditions?.ready !== false)
  const chosen = ready.length > 0 ? ready : all.filter(({ conditions }) => conditions?.serving === true)
  return chosen.map(({ target }) => target)
}

/**
 * Follows the EndpointSlices of a Service until the end of the scope.
 *
 * @param hostOf the address of this machine that stands for the address of a pod
 */
export const start = (
  { name, namespace }: ObjectKey,
  hostOf: (podIP: string) => string
): Effect.Effect<ServiceProxy, never, Client.Client | Scope.Scope> =>
  Effect.gen(function* () {
    const slices = new Map<string, EndpointSlice>()
    let targets: ReadonlyArray<string> = []
    const changes = yield* Queue.unbounded<{ readonly at: number; readonly targets: ReadonlyArray<string> }>()
    const changed = (change: () => void) =>
      Effect.gen(function* () {
        change()
        yield* Queue.offer(changes, { at: yield* Clock.currentTimeMillis, targets: targetsOf(slices.values(), hostOf) })
      })
    yield* follow(
      EndpointSlice,
      { namespace, labelSelector: `kubernetes.io/service-name=${name}` },
      {
        seen: (slice) => changed(() => slices.set(slice.metadata.name, slice)),
        gone: (slice) => changed(() => slices.delete(slice.metadata.name))
      }
    ).pipe(Effect.forkScoped)
    yield* Effect.gen(function* () {
      const change = yield* Queue.take(changes)
      const spent = (yield* Clock.currentTimeMillis) - change.at
      yield* Effect.sleep(Math.max(0, propagation - spent))
      targets = change.targets
    }).pipe(Effect.forever, Effect.forkScoped)
    return {
      pick: Effect.suspend(() =>
        Effect.map(Random.nextIntBetween(0, Math.max(1, targets.length), { halfOpen: true }), (at) => targets[at])
      )
    }
  })
