/** The nodes and controllers of a running cluster continue with a state that the API server restores. */
import { expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import { Deployment, Event, Job, Pod } from "@homeostat/runtime/resource/BuiltIn"
import { eventually } from "@homeostat/testkit/Eventually"
import * as Harness from "@homeostat/testkit/Harness"
import { Effect } from "effect"
import { TestClock } from "effect/testing"

const test = Harness.make({
  manager: Effect.void,
  atRest: false,
  kubelet: {
    pods: ({ metadata }) => (metadata.name === "slow" ? { stopped: { after: "20 seconds", exitCode: 0 } } : undefined)
  }
})

const key = { namespace: "default", name: "web" }
const slow = { ...key, name: "slow" }

const create = (metadata: { readonly namespace: string; readonly name: string } = key) =>
  Client.create(Pod, {
    metadata,
    spec: { containers: [{ name: "main", image: "web", readinessProbe: { httpGet: { port: 80 } } }] }
  })

const ready = (metadata = key) =>
  eventually(`${metadata.name} is ready`, Client.get(Pod, metadata), ({ status }) =>
    (status?.conditions ?? []).some(({ status, type }) => type === "Ready" && status === "True")
  )

const gone = (metadata = key) =>
  eventually(`${metadata.name} is gone`, Client.list(Pod, { namespace: key.namespace }), ({ items }) =>
    items.every((pod) => pod.metadata.name !== metadata.name)
  )

test("a pod that did not run in the restored state starts", ({ server }) =>
  Effect.gen(function* () {
    yield* create()
    const saved = server.saved()
    yield* ready()
    yield* server.restore(saved)
    expect((yield* Client.get(Pod, key)).status?.phase).toBe("Pending")
    yield* ready()
    yield* Client.delete(Pod, key)
    yield* gone()
  }))

test("a Job whose pod ran in the restored state completes again", ({ server }) =>
  Effect.gen(function* () {
    yield* Client.create(Job, {
      metadata: key,
      spec: { template: { spec: { restartPolicy: "Never", containers: [{ name: "main", image: "web" }] } } }
    })
    yield* TestClock.adjust("300 millis")
    const saved = server.saved()
    const completed = eventually("it completes", Client.get(Job, key), ({ status }) => status?.succeeded === 1)
    yield* completed
    yield* server.restore(saved)
    expect((yield* Client.get(Job, key)).status).toMatchObject({ active: 1 })
    yield* completed
  }))

test("a pod whose deletion is undone by a restore runs on, and can be deleted again", ({ server }) =>
  Effect.gen(function* () {
    yield* create(slow)
    yield* ready(slow)
    const saved = server.saved()
    yield* Client.delete(Pod, slow)
    yield* TestClock.adjust("5 seconds")
    expect((yield* Client.get(Pod, slow)).metadata.deletionTimestamp).toBeDefined()
    yield* server.restore(saved)
    yield* TestClock.adjust("5 minutes")
    expect((yield* Client.get(Pod, slow)).metadata.deletionTimestamp).toBeUndefined()
    yield* ready(slow)
    yield* Client.delete(Pod, slow)
    yield* gone(slow)
  }))

test("a pod that is deleted in the restored state is removed again", ({ server }) =>
  Effect.gen(function* () {
    yield* create(slow)
    yield* ready(slow)
    yield* Client.delete(Pod, slow)
    yield* TestClock.adjust("5 seconds")
    const saved = server.saved()
    yield* gone(slow)
    yield* server.restore(saved)
    yield* gone(slow)
  }))

test("a pod that becomes ready again by a restore is probed again", ({ server }) =>
  Effect.gen(function* () {
    const fail = Client.patch(
      Pod,
      key,
      Patch.merge({ metadata: { annotations: { "envtest/failing-probes": "readiness" } } })
    )
    const unready = eventually(
      "it is not ready",
      Client.get(Pod, key),
      ({ status }) => status?.containerStatuses?.[0]?.ready === false
    )
    yield* create()
    yield* ready()
    const saved = server.saved()
    yield* fail
    yield* unready
    yield* server.restore(saved)
    yield* TestClock.adjust("5 minutes")
    yield* ready()
    yield* fail
    yield* unready
  }))

const template = { containers: [{ name: "main", image: "web" }] }

test("the Events of controllers are written again after a restore", ({ idle, server }) =>
  Effect.gen(function* () {
    const matchLabels = { app: "web" }
    yield* Client.create(Deployment, {
      metadata: key,
      spec: { replicas: 1, selector: { matchLabels }, template: { metadata: { labels: matchLabels }, spec: template } }
    })
    yield* idle
    const saved = server.saved()
    const scaled = Effect.gen(function* () {
      yield* Client.patch(Deployment, key, Patch.merge({ spec: { replicas: 2 } }))
      yield* idle
      const { items } = yield* Client.list(Event, { namespace: key.namespace })
      return items.filter(({ note }) => note?.includes("from 1 to 2")).length
    })
    expect(yield* scaled).toBe(1)
    yield* server.restore(saved)
    expect(yield* scaled).toBe(1)
  }))

test("the failures of a Job after the restored state do not delay its pods", ({ server }) =>
  Effect.gen(function* () {
    yield* Client.create(Job, {
      metadata: key,
      spec: {
        template: {
          metadata: { annotations: { "envtest/crash-loop": "1" } },
          spec: { restartPolicy: "Never", ...template }
        }
      }
    })
    yield* TestClock.adjust("300 millis")
    const saved = server.saved()
    const pods = Effect.gen(function* () {
      yield* TestClock.adjust("15 seconds")
      return (yield* Client.list(Pod, { namespace: key.namespace })).items.length
    })
    expect(yield* pods).toBe(2)
    yield* TestClock.adjust("2 minutes")
    yield* server.restore(saved)
    expect(yield* pods).toBe(2)
  }))
