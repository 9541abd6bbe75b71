/**
 * Waits until managers are idle: their caches match the API server, no key waits or runs, and no request is in progress. An idle manager
 * does nothing until another change, so a test need not watch it for a while.
 */
import { isUnserved } from "@homeostat/runtime/client/ApiError"
import * as Client from "@homeostat/runtime/client/Client"
import type { Runner } from "@homeostat/runtime/controller/Runner"
import { keyString } from "@homeostat/runtime/resource/KubernetesObject"
import { eventually, type NotSo } from "@homeostat/testkit/Eventually"
import { Clock, Duration, Effect, Option } from "effect"

/** A manager with the state that these functions need. */
export interface Visible {
  readonly runners: ReadonlyArray<Runner>
  /** The number of requests without a response, without watches. */
  readonly pending: () => number
}

/** The objects of a cache that differ from the API server, one line each. */
const behind = (informer: Runner["informers"][number]) =>
  Effect.gen(function* () {
    const { labelSelector, namespaces, resource, store } = informer
    const places = namespaces.length === 0 ? [undefined] : namespaces
    const lists = yield* Effect.forEach(places, (namespace) =>
      // A kind that is not served has no objects, and is optional for a controller that runs.
      Effect.catchIf(
        Client.list(resource, { namespace, labelSelector }),
        (error) => error._tag === "NotFound" && isUnserved(error),
        () => Effect.succeed({ items: [] })
      )
    )
    const live = new Map(
      lists.flatMap(({ items }) => items.map(({ metadata }) => [keyString(metadata), metadata.resourceVersion]))
    )
    return [...new Set([...live.keys(), ...store.keys()])].flatMap((key) => {
      const [there, here] = [live.get(key), store.get(key)?.metadata.resourceVersion]
      return there === here ? [] : [`${resource.kind} ${key} is at ${there}, and in the cache at ${here}`]
    })
  })

/** The work in the queue of a controller that is due before the time `before`, in milliseconds of the Clock. */
const queued = ({ controller, informers, queue }: Runner, before: number): ReadonlyArray<string> =>
  Option.match(queue(), {
    onNone: () => [],
    onSome: ({ position, snapshot }) => {
      const { delayed, processing, ready } = snapshot()
      const later = [...(informers[0]?.store.keys() ?? [])].filter((key) => {
        const at = position(key)
        return at._tag === "Delayed" && at.until >= before
      })
      return ready + processing + delayed === later.length
        ? []
        : [`${controller} has ${ready} ready, ${processing} in progress, ${delayed - later.length} delayed`]
    }
  })

/** The pending work of a manager, one line each. */
const left = ({ pending, runners }: Visible, later: Duration.Input) =>
  Effect.gen(function* () {
    const caches = yield* Effect.forEach(new Set(runners.flatMap(({ informers }) => informers)), behind)
    const before = (yield* Clock.currentTimeMillis) + Duration.toMillis(later)
    return [
      ...caches.flat(),
      ...runners.flatMap((runner) => queued(runner, before)),
      ...(pending() === 0 ? [] : [`${pending()} requests are on the way`])
    ]
  })

/**
 * Waits until the managers are idle. Fails after 40 seconds with the pending work.
 *
 * @param options.later ignores runs that are due after this duration. By default every run counts.
 */
export const ofAll = (
  managers: ReadonlyArray<Visible>,
  { later = Duration.infinity }: { readonly later?: Duration.Input | undefined } = {}
): Effect.Effect<void, NotSo, Client.Client> =>
  Effect.asVoid(
    eventually(
      "that the managers have nothing to do",
      Effect.map(
        Effect.forEach(managers, (manager) => left(manager, later)),
        (all) => all.flat()
      ),
      ({ length }) => length === 0
    )
  )

/** Waits until one manager is idle. Fails after 40 seconds with the pending work. */
export const of = (manager: Visible, options?: Parameters<typeof ofAll>[1]) => ofAll([manager], options)
