/** The failures of a real cluster, each as a test of the WebApp controller. The README of the testkit shows these examples. */
import { expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import * as Manager from "@homeostat/runtime/manager/Manager"
import * as Rbac from "@homeostat/runtime/manager/Rbac"
import { Deployment, Namespace, Pod, ResourceQuota } from "@homeostat/runtime/resource/BuiltIn"
import * as Crd from "@homeostat/runtime/resource/Crd"
import { eventually } from "@homeostat/testkit/Eventually"
import * as Faults from "@homeostat/testkit/Faults"
import * as Harness from "@homeostat/testkit/Harness"
import { controller } from "@homeostat/webapp"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect } from "effect"
import { TestClock } from "effect/testing"

const key = { namespace: "default", name: "shop" }

const options = { crds: [Crd.of(WebApp)], as: Rbac.of([controller]), manager: Manager.launch([controller]) }

const create = (image = "nginx:1.27", cpu = "100m") =>
  Client.create(WebApp, { metadata: key, spec: { image, replicas: 1, resources: { requests: { cpu } } } })

const runs = eventually("it runs", Client.get(WebApp, key), ({ status }) => status?.phase === "Running")

/** Waits for a reason in a condition of the WebApp. */
const hasReason = (reason: string) =>
  eventually(
    `a condition has the reason ${reason}`,
    Client.get(WebApp, key),
    ({ status }) => status?.conditions?.some((condition) => condition.reason === reason) === true,
    "5 minutes"
  )

const isReady = Effect.map(
  Client.get(Pod, key),
  ({ status }) => status?.conditions?.some(({ status, type }) => type === "Ready" && status === "True") === true
)

/** The controller's roles without this verb. */
const without = (verb: string): ReadonlyArray<object> =>
  JSON.parse(JSON.stringify(Rbac.of([controller])), (key, value) =>
    key === "verbs" ? value.filter((each: string) => each !== verb) : value
  )

const test = Harness.make(options)

test("an update conflicts", ({ faults }) => {
  faults.on({ verb: ["update", "patch"], kind: WebApp }, Faults.conflict, { times: 2 })
  return Effect.andThen(create(), runs)
})

test("an answer is lost", ({ faults }) => {
  faults.on({ verb: "patch", kind: Deployment }, Faults.lost, { times: 1 })
  return Effect.andThen(create(), runs)
})

test("a watch is slow", ({ faults }) => {
  faults.on({ verb: "watch", kind: Deployment }, Faults.delayed("1 second", "5 seconds"))
  return Effect.andThen(create(), runs)
})

test("a watch has expired", ({ faults }) => {
  faults.on({ verb: "watch", kind: WebApp }, Faults.expired, { times: 1 })
  return Effect.all([faults.endWatches({ kind: WebApp }), create(), runs])
})

test("a pod finds no node", () => Effect.andThen(create("nginx:1.27", "1000000"), hasReason("Unschedulable")))

Harness.make({ ...options, kubelet: { unpullable: ["missing:1"] } })("an image cannot be pulled", () =>
  Effect.andThen(create("missing:1"), hasReason("ImagePullFailed"))
)

Harness.make({ ...options, as: without("create") })("a permission is missing", () =>
  Effect.andThen(create(), hasReason("Forbidden"))
)

test("a quota is used up", () => {
  const quota = { metadata: { ...key, name: "pods" }, spec: { hard: { pods: "0" } } }
  return Effect.all([Client.create(ResourceQuota, quota), create(), hasReason("ReplicaFailure")])
})

test("Pod Security forbids a pod", () => {
  const labels = { "pod-security.kubernetes.io/enforce": "restricted" }
  const restrict = Client.patch(Namespace, { name: "default" }, Patch.merge({ metadata: { labels } }))
  return Effect.all([restrict, create(), hasReason("ReplicaFailure")])
})

test("a pod becomes ready late", () =>
  Effect.gen(function* () {
    const readinessProbe = { initialDelaySeconds: 20, httpGet: { port: 80 } }
    const containers = [{ name: "web", image: "nginx:1.27", readinessProbe }]
    yield* Client.create(Pod, { metadata: key, spec: { containers } })
    yield* TestClock.adjust("15 seconds")
    expect(yield* isReady).toBe(false)
    yield* eventually("it is ready", isReady, (is) => is)
  }))
