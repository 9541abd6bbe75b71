/** A cluster that starts with a saved state continues its pods at the times in their status. */
import { expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import { Event, Pod } from "@homeostat/runtime/resource/BuiltIn"
import * as EmbeddedCluster from "@homeostat/testkit/EmbeddedCluster"
import { live } from "@homeostat/testkit/Test"
import * as VirtualTime from "@homeostat/testkit/VirtualTime"
import { Effect, Exit, Scope } from "effect"
import { TestClock } from "effect/testing"

type PodSpec = NonNullable<Pod["spec"]>

const httpGet = { port: 80 }

interface Case {
  readonly container?: Partial<PodSpec["containers"][number]>
  readonly spec?: Partial<PodSpec>
  readonly annotations?: { readonly [name: string]: string }
}

/**
 * The rows of `kubectl get pods` at these times, and the reasons of the Events. The cluster stops at one of the times, and starts after so
 * many seconds.
 */
const course = (
  { annotations = {}, container = {}, spec = {} }: Case,
  times: ReadonlyArray<number>,
  restart: number | undefined,
  down = 0
) => {
  const time = VirtualTime.make()
  return time.within(
    Effect.scoped(
      Effect.gen(function* () {
        const first = yield* Scope.make()
        let cluster = yield* Scope.provide(EmbeddedCluster.make({ seed: 1 }), first)
        const metadata = { namespace: "default", name: "web", annotations }
        const containers = [{ name: "main", image: "web", ...container }]
        yield* Effect.provide(Client.create(Pod, { metadata, spec: { ...spec, containers } }), cluster.client)
        const rows: Array<string> = []
        let passed = 0
        for (const at of times) {
          yield* TestClock.adjust(`${at - passed} seconds`)
          passed = at
          const { items } = yield* Effect.provide(Client.list(Pod, { namespace: "default" }), cluster.client)
          for (const { status } of items) {
            const [{ ready, restartCount, state = {} } = { ready: false, restartCount: 0 }] =
              status?.containerStatuses ?? []
            rows.push(`${at} s: ${status?.reason ?? status?.phase} ${Object.keys(state)} ${ready} ${restartCount}`)
          }
          if (at !== restart) continue
          const saved = JSON.parse(JSON.stringify(cluster.server.saved()))
          yield* time.during(Scope.close(first, Exit.void))
          yield* TestClock.adjust(`${down} seconds`)
          passed += down
          cluster = yield* EmbeddedCluster.make({ seed: 1, saved })
        }
        const { items } = yield* Effect.provide(Client.list(Event, { namespace: "default" }), cluster.client)
        return { rows, reasons: items.map(({ reason }) => reason).sort() }
      })
    )
  )
}

const continues = (name: string, pod: Case, times: ReadonlyArray<number>, restart: number, last: string): void =>
  live(name, () =>
    Effect.gen(function* () {
      const alone = yield* course(pod, times, undefined)
      expect(yield* course(pod, times, restart)).toEqual(alone)
      expect(alone.rows.at(-1)).toBe(last)
    })
  )

continues(
  "a restarted cluster counts activeDeadlineSeconds from the start of the pod",
  { spec: { activeDeadlineSeconds: 60 } },
  [50, 55, 65],
  50,
  "65 s: DeadlineExceeded terminated false 0"
)

continues(
  "a restarted cluster evicts a pod at the same time",
  { annotations: { "envtest/evict": "" }, container: { readinessProbe: { httpGet, initialDelaySeconds: 60 } } },
  [0.3, 0.7],
  0.3,
  "0.7 s: Evicted terminated false 0"
)

continues(
  "a restarted cluster counts initialDelaySeconds from the start of the container",
  { container: { readinessProbe: { httpGet, initialDelaySeconds: 60 } } },
  [50, 58, 62],
  50,
  "62 s: Running running true 0"
)

continues(
  "a restarted cluster counts initialDelaySeconds of a startup probe from the start of the container",
  { container: { startupProbe: { httpGet, initialDelaySeconds: 20, periodSeconds: 60 } } },
  [10, 15, 22],
  10,
  "22 s: Running running true 0"
)

continues(
  "a restarted cluster counts the back-off from the end of the container, and counts its restart",
  { annotations: { "envtest/crash-loop": "3" } },
  [30, 50, 65, 71.5, 76],
  50,
  "76 s: Running waiting false 4"
)

live("a container whose back-off ends while the cluster is stopped starts at once", () =>
  Effect.gen(function* () {
    const crashes = { annotations: { "envtest/crash-loop": "3" } }
    const { rows } = yield* course(crashes, [50, 110.2, 111], 50, 60)
    expect(rows).toEqual([
      "50 s: Running waiting false 3",
      "110.2 s: Running running true 4",
      "111 s: Running waiting false 4"
    ])
  })
)
