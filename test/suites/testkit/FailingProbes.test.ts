/** A test makes the probes of pods fail, by an annotation or by a plan. */
import { expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import { Event, Pod } from "@homeostat/runtime/resource/BuiltIn"
import { eventually } from "@homeostat/testkit/Eventually"
import * as Harness from "@homeostat/testkit/Harness"
import type * as SimulatedPods from "@homeostat/testkit/kubelet/SimulatedPods"
import { effect } from "@homeostat/testkit/Test"
import { Effect } from "effect"
import { TestClock } from "effect/testing"

const key = { namespace: "default", name: "web" }

const test = <A, E>(name: string, pods: SimulatedPods.Pods | undefined, body: Harness.Body<A, E>): void =>
  effect(name, () => Harness.run({ manager: Effect.void, kubelet: { pods } }, body))

type PodSpec = NonNullable<Pod["spec"]>

const create = (probes: Partial<PodSpec["containers"][number]>, spec: Partial<PodSpec> = {}) =>
  Client.create(Pod, { metadata: key, spec: { containers: [{ name: "main", image: "web", ...probes }], ...spec } })

const pod = Client.get(Pod, key)

const container = Effect.map(pod, ({ status }) => status?.containerStatuses?.[0])

const ready = (is: "True" | "False") =>
  eventually(`Ready=${is}`, pod, ({ status }) =>
    (status?.conditions ?? []).some(({ status, type }) => type === "Ready" && status === is)
  )

const annotate = (value: string | null) =>
  Client.patch(Pod, key, Patch.merge({ metadata: { annotations: { "envtest/failing-probes": value } } }))

const events = Effect.map(Client.list(Event, { namespace: "default" }), ({ items }) =>
  items.map(({ note, reason }) => `${reason}: ${note}`)
)

test("a pod is not Ready while its annotation makes the readiness probe fail", undefined, () =>
  Effect.gen(function* () {
    yield* create({ readinessProbe: { httpGet: { port: 80 }, periodSeconds: 5 } })
    yield* ready("True")
    // A pod without the annotation stays ready.
    yield* TestClock.adjust("1 hour")
    yield* annotate("readiness")
    yield* TestClock.adjust("12 seconds")
    expect(yield* container).toMatchObject({ ready: true })
    yield* TestClock.adjust("4 seconds")
    yield* ready("False")
    expect(yield* container).toMatchObject({ ready: false, started: true, restartCount: 0, state: { running: {} } })
    expect(yield* events).toContain("Unhealthy: Readiness probe failed: HTTP probe failed with statuscode: 500")
    yield* annotate(null)
    yield* TestClock.adjust("6 seconds")
    yield* ready("True")
  })
)

test("a pod whose annotation makes a probe fail from the start does not become Ready", undefined, () =>
  Effect.gen(function* () {
    const readinessProbe = { exec: { command: ["true"] } }
    const containers = [{ name: "main", image: "web", readinessProbe }]
    const annotations = { "envtest/failing-probes": "readiness" }
    yield* Client.create(Pod, { metadata: { ...key, annotations }, spec: { containers } })
    yield* TestClock.adjust("1 minute")
    expect(yield* container).toMatchObject({ ready: false, started: true })
    yield* annotate(null)
    yield* ready("True")
  })
)

let lives = true
test(
  "a container restarts when its liveness probe fails, and then waits in back-off",
  () => (lives ? {} : { failingProbes: ["liveness"] }),
  () =>
    Effect.gen(function* () {
      yield* create({ livenessProbe: { tcpSocket: { port: 80 }, periodSeconds: 10, failureThreshold: 2 } })
      yield* ready("True")
      yield* TestClock.adjust("1 minute")
      expect(yield* container).toMatchObject({ restartCount: 0 })
      lives = false
      yield* TestClock.adjust("20 seconds")
      expect(yield* container).toMatchObject({ restartCount: 1, lastState: { terminated: { exitCode: 143 } } })
      const seen = yield* events
      expect(seen).toContain("Unhealthy: Liveness probe failed: dial tcp :80: connect: connection refused")
      expect(seen).toContain("Killing: Container main failed liveness probe, will be restarted")
      yield* eventually("it backs off", container, (now) => now?.state?.waiting?.reason === "CrashLoopBackOff")
      expect(yield* container).toMatchObject({ ready: false, restartCount: 1 })
      lives = true
      yield* ready("True")
      yield* TestClock.adjust("10 minutes")
      expect(yield* container).toMatchObject({ ready: true, restartCount: 2 })
    })
)

test(
  "a container whose startup probe fails is killed before it has started",
  () => ({ failingProbes: ["startup"] }),
  () =>
    Effect.gen(function* () {
      const startupProbe = { grpc: { port: 80 }, periodSeconds: 1, failureThreshold: 30 }
      yield* create({ startupProbe }, { restartPolicy: "Never" })
      yield* TestClock.adjust("28 seconds")
      expect(yield* container).toMatchObject({ started: false, ready: false, state: { running: {} } })
      yield* TestClock.adjust("3 seconds")
      expect((yield* pod).status?.phase).toBe("Failed")
      expect(yield* events).toContain("Killing: Container main failed startup probe")
    })
)

test(
  "a test can make the probes of a single container fail, such as a sidecar",
  () => ({ containers: { proxy: { failingProbes: ["liveness"], stopped: { after: "1 hour", exitCode: 0 } } } }),
  () =>
    Effect.gen(function* () {
      const livenessProbe = { httpGet: { port: 80 }, failureThreshold: 1, terminationGracePeriodSeconds: 5 }
      const initContainers = [{ name: "proxy", image: "proxy", restartPolicy: "Always", livenessProbe }]
      yield* create({ livenessProbe }, { initContainers })
      yield* TestClock.adjust("6 seconds")
      const { status } = yield* pod
      expect(status?.initContainerStatuses?.[0]).toMatchObject({
        restartCount: 1,
        lastState: { terminated: { exitCode: 137 } }
      })
      expect(status?.containerStatuses?.[0]).toMatchObject({ restartCount: 0 })
      expect(yield* events).toContain("Killing: Init container proxy failed liveness probe")
    })
)
