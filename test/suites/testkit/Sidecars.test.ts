/** Native sidecars in the harness: init containers with `restartPolicy: Always`. */
import { expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import { Event, Job, Pod } from "@homeostat/runtime/resource/BuiltIn"
import { eventually } from "@homeostat/testkit/Eventually"
import * as Harness from "@homeostat/testkit/Harness"
import type * as SimulatedPods from "@homeostat/testkit/kubelet/SimulatedPods"
import { effect } from "@homeostat/testkit/Test"
import { Effect } from "effect"
import { TestClock } from "effect/testing"

const key = { namespace: "default", name: "web" }

const test = <A, E>(name: string, pods: SimulatedPods.Pods, body: Harness.Body<A, E>): void =>
  effect(name, () => Harness.run({ manager: Effect.void, kubelet: { pods } }, body))

type PodSpec = NonNullable<Pod["spec"]>

const proxy = { name: "proxy", image: "proxy", restartPolicy: "Always" }
const setup = { name: "setup", image: "setup" }
const main = { name: "main", image: "web" }

const create = (spec: Partial<PodSpec> = {}) =>
  Client.create(Pod, { metadata: key, spec: { containers: [main], initContainers: [proxy, setup], ...spec } })

const pod = Client.get(Pod, key)

const isReady = ({ status }: Pod) =>
  status?.conditions?.some(({ status, type }) => type === "Ready" && status === "True") === true

const statusOf = (name: string) =>
  Effect.map(pod, ({ status }) =>
    [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].find((one) => one.name === name)
  )

/** The cells READY, STATUS and RESTARTS of `kubectl get pods`. */
const row = ({ server }: Harness.Cluster) =>
  Effect.map(
    server.handle({
      method: "GET",
      path: `/api/v1/namespaces/default/pods/${key.name}`,
      headers: { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" },
      body: undefined
    }),
    (answer) => JSON.parse(String(answer.body)).rows[0].cells.slice(1, 4)
  )

test(
  "a sidecar runs beside the containers, and counts as one of them",
  () => undefined,
  (cluster) =>
    Effect.gen(function* () {
      yield* create()
      yield* eventually("it is ready", pod, isReady)
      expect(yield* statusOf("proxy")).toMatchObject({ started: true, ready: true, state: { running: {} } })
      expect((yield* statusOf("setup"))?.state?.terminated?.reason).toBe("Completed")
      expect(yield* row(cluster)).toEqual(["2/2", "Running", "0"])
    })
)

test(
  "the next container starts after the startup probe of the sidecar",
  () => undefined,
  () =>
    Effect.gen(function* () {
      const startupProbe = { httpGet: { port: 80 }, initialDelaySeconds: 20 }
      yield* create({ initContainers: [{ ...proxy, startupProbe }, setup] })
      yield* TestClock.adjust("15 seconds")
      expect(yield* statusOf("proxy")).toMatchObject({ started: false, ready: false, state: { running: {} } })
      expect((yield* statusOf("setup"))?.state?.waiting?.reason).toBe("PodInitializing")
      expect((yield* pod).status?.phase).toBe("Pending")
      yield* TestClock.adjust("10 seconds")
      expect(isReady(yield* pod)).toBe(true)
    })
)

test(
  "a sidecar that exits restarts, while the containers run",
  () => ({ containers: { proxy: { ends: { after: "1 minute", exitCode: 0 } } } }),
  () =>
    Effect.gen(function* () {
      yield* create({ restartPolicy: "Never" })
      yield* TestClock.adjust("65 seconds")
      expect(yield* statusOf("proxy")).toMatchObject({ restartCount: 1, ready: true, state: { running: {} } })
      yield* TestClock.adjust("60 seconds")
      expect((yield* statusOf("proxy"))?.state?.waiting?.reason).toBe("CrashLoopBackOff")
      const seen = yield* pod
      expect([seen.status?.phase, isReady(seen)]).toEqual(["Running", false])
      expect(yield* statusOf("main")).toMatchObject({ restartCount: 0, ready: true })
    })
)

test(
  "a Job completes although its pods have sidecars, which stop after the containers, the last one first",
  () => ({
    ends: { after: "1 minute", exitCode: 0 },
    containers: { proxy: { stopped: { after: "5 seconds", exitCode: 1 } } }
  }),
  () =>
    Effect.gen(function* () {
      const initContainers = [proxy, setup, { ...proxy, name: "log" }]
      yield* Client.create(Job, {
        metadata: key,
        spec: { template: { spec: { restartPolicy: "Never", containers: [main], initContainers } } }
      })
      yield* TestClock.adjust("62 seconds")
      const { items } = yield* Client.list(Pod, { namespace: "default" })
      expect(items.map(({ status }) => status?.phase)).toEqual(["Running"])
      const { status } = yield* eventually("the Job is Complete", Client.get(Job, key), (job) =>
        (job.status?.conditions ?? []).some((one) => one.type === "Complete" && one.status === "True")
      )
      expect(status?.succeeded).toBe(1)
      const events = (yield* Client.list(Event, { namespace: "default" })).items.map(({ note }) => note ?? "")
      expect(events.filter((note) => note.startsWith("Stopping"))).toEqual([
        "Stopping container log",
        "Stopping container proxy"
      ])
    })
)

test(
  "the deletion of a pod stops its containers, and then its sidecars within the same grace period",
  () => ({
    stopped: { after: "20 seconds", exitCode: 0 },
    containers: { proxy: { stopped: { after: "1 hour", exitCode: 0 } } }
  }),
  () =>
    Effect.gen(function* () {
      yield* create()
      yield* eventually("it is ready", pod, isReady)
      yield* Client.delete(Pod, key)
      yield* TestClock.adjust("25 seconds")
      expect((yield* statusOf("main"))?.state?.terminated?.exitCode).toBe(0)
      expect((yield* statusOf("proxy"))?.state?.running).toBeDefined()
      yield* TestClock.adjust("6 seconds")
      expect((yield* Client.list(Pod, { namespace: "default" })).items).toEqual([])
    })
)
