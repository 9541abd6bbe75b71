/** Pods of the harness do what the function of the test returns, in virtual time. */
import { expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import { Event, Job, Pod } from "@homeostat/runtime/resource/BuiltIn"
import { eventually } from "@homeostat/testkit/Eventually"
import * as Harness from "@homeostat/testkit/Harness"
import type * as SimulatedPods from "@homeostat/testkit/kubelet/SimulatedPods"
import { effect } from "@homeostat/testkit/Test"
import { Clock, Duration, Effect } from "effect"
import { TestClock } from "effect/testing"

const key = { namespace: "default", name: "mover" }

const test = <A, E>(name: string, pods: SimulatedPods.Pods, body: Harness.Body<A, E>): void =>
  effect(name, () => Harness.run({ manager: Effect.void, kubelet: { pods } }, body))

const job = (spec: Partial<NonNullable<Job["spec"]>> = {}) =>
  Client.create(Job, {
    metadata: key,
    spec: {
      backoffLimit: 0,
      ...spec,
      template: { spec: { restartPolicy: "Never", containers: [{ name: "mover", image: "mover" }] } }
    }
  })

const pod = Effect.flatMap(Client.list(Pod, { namespace: key.namespace }), ({ items: [first] }) =>
  first === undefined ? Effect.die(new Error("no pod")) : Effect.succeed(first)
)

const state = ({ status }: Pod) => status?.containerStatuses?.[0]?.state

const hasEnded = (type: string) =>
  eventually(
    `the Job is ${type}`,
    Client.get(Job, key),
    ({ status }) => status?.conditions?.some((one) => one.type === type && one.status === "True") === true
  )

test(
  "a pod runs for the given time, and ends with the given code and message",
  () => ({ ends: { after: "90 minutes", exitCode: 3, message: '{"reason":"PartiallyFailed"}' } }),
  () =>
    Effect.gen(function* () {
      yield* job()
      yield* TestClock.adjust("91 minutes")
      yield* hasEnded("Failed")
      const { terminated } = state(yield* pod) ?? {}
      expect(terminated).toMatchObject({ exitCode: 3, reason: "Error", message: '{"reason":"PartiallyFailed"}' })
      const ran = Date.parse(terminated?.finishedAt ?? "") - Date.parse(terminated?.startedAt ?? "")
      expect(ran).toBe(Duration.toMillis("90 minutes"))
    })
)

let isThere = false
test(
  "a pod waits for its missing image with a reason",
  () =>
    isThere
      ? { ends: { after: "1 second", exitCode: 0 } }
      : { waits: { reason: "ImagePullBackOff", message: 'Back-off pulling image "mover"' } },
  () =>
    Effect.gen(function* () {
      yield* job()
      const waits = yield* eventually("the reason", pod, (seen) => state(seen)?.waiting?.reason === "ImagePullBackOff")
      expect([waits.status?.phase, state(waits)?.waiting?.message]).toEqual([
        "Pending",
        'Back-off pulling image "mover"'
      ])
      isThere = true
      yield* hasEnded("Complete")
    })
)

test(
  "a volume that cannot be mounted causes only an Event",
  () => ({ waits: { reason: "FailedMount", message: "MountVolume.SetUp failed: no such share" } }),
  () =>
    Effect.gen(function* () {
      yield* job()
      const { items } = yield* eventually("the Event", Client.list(Event, { namespace: key.namespace }), (all) =>
        all.items.some(({ reason }) => reason === "FailedMount")
      )
      expect(items.find(({ reason }) => reason === "FailedMount")?.note).toBe("MountVolume.SetUp failed: no such share")
      expect(state(yield* pod)?.waiting?.reason).toBe("ContainerCreating")
    })
)

test(
  "a stopped pod ends after the given time with the given code",
  () => ({ stopped: { after: "20 seconds", exitCode: 143, message: '{"reason":"Terminated"}' } }),
  () =>
    Effect.gen(function* () {
      yield* job({ activeDeadlineSeconds: 600 })
      yield* TestClock.adjust("610 seconds")
      yield* hasEnded("Failed")
      // The active deadline and the termination time of the pod.
      expect(Math.floor((yield* Clock.currentTimeMillis) / 1000)).toBe(620)
    })
)

test(
  "a pod that ignores SIGTERM is killed after its grace period",
  () => ({ stopped: { after: "1 hour", exitCode: 0 } }),
  () =>
    Effect.gen(function* () {
      yield* job()
      const running = yield* eventually("it runs", pod, ({ status }) => status?.phase === "Running")
      yield* Client.delete(Job, key, { propagation: "Orphan" })
      const { name } = running.metadata
      yield* Client.delete(Pod, { namespace: key.namespace, name }, { gracePeriodSeconds: 5 })
      yield* TestClock.adjust("4 seconds")
      expect(state(yield* pod)?.running).toBeDefined()
      yield* eventually("it is gone", Client.list(Pod, { namespace: key.namespace }), ({ items }) => items.length === 0)
    })
)

test(
  "the node evicts a pod after the given time",
  ({ metadata }) =>
    metadata.labels?.evicted === "false"
      ? undefined
      : { evicted: { after: "1 minute", message: "The node was low on resource: ephemeral-storage." } },
  () =>
    Effect.gen(function* () {
      yield* job()
      yield* TestClock.adjust("1 minute")
      yield* hasEnded("Failed")
      const { status } = yield* pod
      expect(status).toMatchObject({ phase: "Failed", reason: "Evicted" })
      expect(state(yield* pod)?.terminated?.exitCode).toBe(143)
    })
)

test(
  "a pod without instructions succeeds",
  () => undefined,
  () => Effect.andThen(job(), hasEnded("Complete"))
)
