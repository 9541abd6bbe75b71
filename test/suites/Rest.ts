/**
 * When managers have nothing left to do, by their own state: their caches hold what the API server holds, no key waits or runs, and
 * no request is on the way. Then nothing happens until something else changes, so that no test has to watch for a while.
 */
import * as Client from "@homeostat/runtime/client/Client"
import type { Runner } from "@homeostat/runtime/controller/Runner"
import { keyString } from "@homeostat/runtime/resource/KubernetesObject"
import { eventually, type NotSo } from "@homeostat/testkit/Eventually"
import { Clock, Duration, Effect, Option } from "effect"

/** A manager whose state a test can see. */
export interface Visible {
  readonly runners: ReadonlyArray<Runner>
  /** Requests that it has sent and that are not answered yet, watches not counted. */
  readonly pending: () => number
}

/** What one cache and its API server do not agree about, a line for each object. */
const behind = (informer: Runner["informers"][number]) =>
  Effect.gen(function* () {
    const { labelSelector, namespaces, resource, store } = informer
    const places = namespaces.length === 0 ? [undefined] : namespaces
    const lists = yield* Effect.forEach(places, (namespace) => Client.list(resource, { namespace, labelSelector }))
    const live = new Map(
      lists.flatMap(({ items }) => items.map(({ metadata }) => [keyString(metadata), metadata.resourceVersion]))
    )
    return [...new Set([...live.keys(), ...store.keys()])].flatMap((key) => {
      const [there, here] = [live.get(key), store.get(key)?.metadata.resourceVersion]
      return there === here ? [] : [`${resource.kind} ${key} is at ${there}, and in the cache at ${here}`]
    })
  })

/** What the queue of a controller still has to do before then, in ms of the Clock. */
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

/** What is left to do. */
const left = ({ pending, runners }: Visible, later: Duration.DurationInput) =>
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
 * Waits until managers have nothing left to do. Fails after 40 seconds, and says what is left.
 *
 * @param options.later runs that are to come after this time do not count; by default every run does
 */
export const ofAll = (
  managers: ReadonlyArray<Visible>,
  { later = Duration.infinity }: { readonly later?: Duration.DurationInput | undefined } = {}
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

/** The same of one manager. */
export const of = (manager: Visible, options?: Parameters<typeof ofAll>[1]) => ofAll([manager], options)
