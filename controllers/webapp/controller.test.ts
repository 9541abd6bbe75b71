/** The WebApp controller on the embedded cluster, in virtual time. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import type { Request } from "@homeostat/runtime/client/Request"
import * as Transport from "@homeostat/runtime/client/Transport"
import * as Manager from "@homeostat/runtime/manager/Manager"
import {
  ConfigMap,
  Deployment,
  Event,
  HorizontalPodAutoscaler,
  Ingress,
  Namespace,
  NetworkPolicy,
  PodDisruptionBudget,
  Service
} from "@homeostat/runtime/resource/BuiltIn"
import * as Condition from "@homeostat/runtime/resource/Condition"
import * as Crd from "@homeostat/runtime/resource/Crd"
import { eventually } from "@homeostat/testkit/Eventually"
import * as Faults from "@homeostat/testkit/Faults"
import * as Harness from "@homeostat/testkit/Harness"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"
import { controller } from "./controller.ts"
import { WebApp } from "./WebApp.ts"

const manager = Manager.launch([controller])
const test = Harness.make({ crds: [Crd.of(WebApp)], manager })

/** Declares tests whose manager calls `note` with each request. */
const noting = (note: (request: Request) => void) => {
  const noted = Effect.map(Transport.Transport, (next) => ({
    ...next,
    send: (request: Request) => {
      note(request)
      return next.send(request)
    }
  }))
  return Harness.make({
    crds: [Crd.of(WebApp)],
    manager: Effect.provide(manager, Layer.effect(Transport.Transport, noted))
  })
}

const key = { namespace: "default", name: "shop" }

const replicas = Effect.map(Client.get(Deployment, key), ({ spec }) => spec?.replicas)

describe("the Deployment of a WebApp whose replicas change from 2 to 3", () => {
  for (const [apiVersion, kind, expected] of [
    ["apps.kubedojo.io/v1beta1", "WebApp", 3],
    ["apps/v1", "StatefulSet", 3],
    ["apps/v1", "Deployment", 2]
  ] as const) {
    test(`has ${expected} where an autoscaler scales a ${kind} of its name`, () =>
      Effect.gen(function* () {
        yield* Client.create(HorizontalPodAutoscaler, {
          metadata: key,
          spec: { scaleTargetRef: { apiVersion, kind, name: key.name }, minReplicas: 1, maxReplicas: 10 }
        })
        yield* Client.create(WebApp, { metadata: key, spec: { image: "registry.test/web:1", replicas: 2, port: 8080 } })
        yield* eventually("its Deployment is there", replicas, () => true)
        yield* Client.patch(Deployment, key, Patch.merge({ spec: { replicas: 2 } }), { fieldManager: "autoscaler" })
        yield* Client.patch(WebApp, key, Patch.merge({ spec: { replicas: 3 } }))
        yield* TestClock.adjust("5 seconds")
        expect(yield* replicas).toBe(expected)
      }))
  }
})

test("A Deployment with an autoscaler starts with the replicas of the spec, and the autoscaler sets them from then on", () =>
  Effect.gen(function* () {
    const scaleTargetRef = { apiVersion: "apps/v1", kind: "Deployment", name: key.name }
    yield* Client.create(HorizontalPodAutoscaler, { metadata: key, spec: { scaleTargetRef, maxReplicas: 10 } })
    yield* Client.create(WebApp, { metadata: key, spec: { image: "registry.test/web:1", replicas: 3 } })
    yield* TestClock.adjust("5 seconds")
    expect(yield* replicas).toBe(3)
    yield* Client.scale.patch(Deployment, key, Patch.merge({ spec: { replicas: 6 } }), { fieldManager: "autoscaler" })
    yield* TestClock.adjust("5 seconds")
    expect(yield* replicas).toBe(6)
  }))

test("A WebApp reports a Deployment that others have made too large, and still corrects its children", () =>
  Effect.gen(function* () {
    yield* Client.create(WebApp, { metadata: key, spec: { image: "registry.test/web:1", replicas: 2, port: 8080 } })
    yield* TestClock.adjust("30 seconds")
    const conditions = Effect.map(Client.get(WebApp, key), ({ status }) =>
      (status?.conditions ?? []).map(({ reason, status, type }) => `${type} ${status} ${reason}`)
    )
    const before = yield* conditions
    const containers = "/spec/template/spec/containers"
    const sidecar = { name: "sidecar", image: "registry.test/sidecar:1", args: ["x".repeat(600_000)] }
    yield* Client.patch(Deployment, key, Patch.json([{ op: "add", path: `${containers}/-`, value: sidecar }]))
    yield* Client.patch(WebApp, key, Patch.merge({ spec: { image: "registry.test/web:2", port: 9090 } }))
    yield* TestClock.adjust("30 seconds")
    expect(yield* conditions).toEqual(
      expect.arrayContaining(["DeploymentReady False TooLarge", "Ready False TooLarge", "Stalled True TooLarge"])
    )
    expect((yield* Client.get(Deployment, key)).spec?.template.spec?.containers[0]?.image).toBe("registry.test/web:2")
    expect((yield* Client.get(Service, key)).spec?.ports?.[0]?.targetPort).toBe(9090)
    yield* Client.patch(Deployment, key, Patch.json([{ op: "remove", path: `${containers}/1` }]))
    yield* TestClock.adjust("1 minute")
    expect(yield* conditions).toEqual(before)
  }))

test("A WebApp loses the children that its spec no longer has, although another manager has a budget of its name", () =>
  Effect.gen(function* () {
    yield* Client.create(PodDisruptionBudget, {
      metadata: key,
      spec: { maxUnavailable: 1, selector: { matchLabels: { app: "other" } } }
    })
    const fields = { expose: { host: "shop.example.com" }, networkPolicy: { allowFrom: [] }, autoscaling: { max: 4 } }
    yield* Client.create(WebApp, { metadata: key, spec: { image: "registry.test/web:1", replicas: 2, ...fields } })
    yield* TestClock.adjust("5 seconds")
    const counts = Effect.gen(function* () {
      const lists = [
        yield* Client.list(Ingress, { namespace: key.namespace }),
        yield* Client.list(NetworkPolicy, { namespace: key.namespace }),
        yield* Client.list(HorizontalPodAutoscaler, { namespace: key.namespace })
      ]
      return lists.map(({ items }) => items.length)
    })
    expect(yield* counts).toEqual([1, 1, 1])
    const removed = { expose: null, networkPolicy: null, autoscaling: null }
    yield* Client.patch(WebApp, key, Patch.merge({ spec: removed }))
    yield* TestClock.adjust("5 seconds")
    expect(yield* counts).toEqual([0, 0, 0])
    expect((yield* Client.get(PodDisruptionBudget, key)).metadata.ownerReferences).toBeUndefined()
  }))

/** The definition of an older program, which accepts values that the Deployment rejects. */
const older: Crd.Crd = JSON.parse(
  JSON.stringify(Crd.of(WebApp), (key, value) => (key === "x-kubernetes-validations" ? undefined : value))
)

describe("a WebApp whose Deployment the API server rejects", () => {
  // A resync would retry the rejected child.
  const rejected = Harness.make({ crds: [older], manager: Manager.launch([controller], { syncPeriod: 0 }) })
  const message = /^The API server refuses PATCH .*deployments\/shop: .*requests: .*less than or equal to cpu limit/
  const resources = { requests: { cpu: "1500m" }, limits: { cpu: "1" } }
  const spec = { image: "registry.test/web:1", replicas: 1 }
  const app = Client.get(WebApp, key)
  const phase = (phase: string) => eventually(`it is ${phase}`, app, ({ status }) => status?.phase === phase)
  const warnings = Effect.map(Client.list(Event, { namespace: key.namespace }), ({ items }) =>
    items.filter(({ type }) => type === "Warning").map(({ note, reason }) => ({ note, reason }))
  )

  rejected("is Failed with reason Invalid, has its Service, and is retried when the spec changes", (cluster) =>
    Effect.gen(function* () {
      yield* Client.create(WebApp, { metadata: key, spec: { ...spec, resources } })
      yield* phase("Failed")
      const { status } = yield* app
      expect(Condition.find(status?.conditions, "Ready")).toMatchObject({ status: "False", reason: "Invalid" })
      expect(Condition.find(status?.conditions, "Stalled")).toMatchObject({ status: "True", reason: "Invalid" })
      expect(Condition.find(status?.conditions, "DeploymentReady")?.message).toMatch(message)
      expect(Condition.isTrue(status?.conditions, "ServiceReady")).toBe(true)
      expect((yield* Client.get(Service, key)).metadata.name).toBe("shop")
      expect(yield* warnings).toEqual([{ reason: "Invalid", note: expect.stringMatching(message) }])

      yield* TestClock.adjust("1 minute")
      const rested = cluster.server.store.revision
      // Before the first part of a resync.
      yield* TestClock.adjust("20 minutes")
      expect(cluster.server.store.revision).toBe(rested)

      yield* Client.patch(WebApp, key, Patch.merge({ spec: { resources: null } }))
      yield* phase("Running")
      expect(Condition.find((yield* app).status?.conditions, "Stalled")).toBeUndefined()
    })
  )

  rejected("reports that for the new generation, and its pods go on as they are", () =>
    Effect.gen(function* () {
      yield* Client.create(WebApp, { metadata: key, spec })
      yield* phase("Running")
      yield* Client.patch(WebApp, key, Patch.merge({ spec: { resources } }))
      yield* phase("Failed")
      const { status } = yield* app
      expect(status).toMatchObject({ observedGeneration: 2, readyReplicas: 1 })
      expect(Condition.find(status?.conditions, "Ready")).toMatchObject({ reason: "Invalid", observedGeneration: 2 })
    })
  )
})

describe("A WebApp whose podTemplate does not match the schema of a pod", () => {
  const spec = { image: "registry.test/web:1", replicas: 1 }
  const app = Client.get(WebApp, key)
  const env = [
    { name: "A", value: "1" },
    { name: "A", value: "2" }
  ]
  for (const [title, podTemplate, message] of [
    [
      "has an unknown field",
      { spec: { tolerationz: [] } },
      ".spec.template.spec.tolerationz: field not declared in schema"
    ],
    [
      "has a value of another type",
      { spec: { hostNetwork: "yes" } },
      ".spec.template.spec.hostNetwork: expected boolean"
    ],
    ["has a variable twice", { spec: { containers: [{ name: "app", env }] } }, 'duplicate entries for key [name="A"]']
  ] as const) {
    test(`is Failed and reports that it ${title}, has its Service, and runs after a correction`, () =>
      Effect.gen(function* () {
        yield* Client.create(WebApp, { metadata: key, spec: { ...spec, podTemplate } })
        const { status } = yield* eventually("it is Failed", app, ({ status }) => status?.phase === "Failed")
        expect(Condition.find(status?.conditions, "DeploymentReady")).toMatchObject({
          status: "False",
          reason: "Invalid"
        })
        expect(Condition.find(status?.conditions, "DeploymentReady")?.message).toContain(message)
        expect(Condition.isTrue(status?.conditions, "ServiceReady")).toBe(true)
        yield* Client.patch(WebApp, key, Patch.merge({ spec: { podTemplate: null } }))
        yield* eventually("it runs", app, ({ status }) => status?.phase === "Running")
      }))
  }
})

describe("A WebApp whose podTemplate has a readiness probe", () => {
  const writes: Array<string> = []
  const noted = noting(({ method, path }) => {
    if (method !== "GET") writes.push(`${method} ${path.replace(/\?.*/, "")}`)
  })

  noted("sends no request in a reconcile without a change", () =>
    Effect.gen(function* () {
      const readinessProbe = { httpGet: { path: "/", port: 8080 } }
      const podTemplate = { spec: { containers: [{ name: "app", readinessProbe }] } }
      yield* Client.create(WebApp, { metadata: key, spec: { image: "registry.test/web:1", replicas: 1, podTemplate } })
      yield* eventually("it runs", Client.get(WebApp, key), ({ status }) => status?.phase === "Running")
      yield* TestClock.adjust("1 minute")
      writes.length = 0
      yield* Client.patch(WebApp, key, Patch.merge({ metadata: { annotations: { "example.test/round": "1" } } }))
      yield* TestClock.adjust("1 minute")
      expect(writes).toEqual([])
    })
  )
})

describe("ConfigMaps", () => {
  const reads: Array<string> = []
  const noted = noting(({ method, name, path }) => {
    if (method === "GET" && name !== undefined && path.includes("/configmaps/")) reads.push(name)
  })
  const hashes = Effect.map(Client.list(Deployment, { namespace: key.namespace }), ({ items }) =>
    items.map(({ spec }) => spec?.template.metadata?.annotations?.["apps.kubedojo.io/config-hash"])
  )

  noted("are read once per version if WebApps name them, and otherwise not at all", () =>
    Effect.gen(function* () {
      const files = { namespace: key.namespace, name: "files" }
      const others = (note: string) =>
        Effect.forEach(
          [1, 2, 3],
          (n) =>
            Client.apply(
              ConfigMap,
              { metadata: { namespace: key.namespace, name: `other-${n}` }, data: { note } },
              { fieldManager: "others", force: true }
            ),
          { discard: true }
        )
      yield* others("a")
      yield* Client.create(WebApp, { metadata: key, spec: { image: "registry.test/web:1" } })
      yield* TestClock.adjust("5 seconds")
      expect(reads).toEqual([])

      yield* Client.create(ConfigMap, { metadata: files, data: { theme: "dark" } })
      const config = [{ configMap: files.name, mountPath: "/etc/app" }]
      for (const n of [1, 2, 3, 4, 5, 6, 7, 8]) {
        yield* Client.create(WebApp, {
          metadata: { ...key, name: `reader-${n}` },
          spec: { image: "registry.test/web:1", config }
        })
      }
      yield* TestClock.adjust("5 seconds")
      const before = new Set((yield* hashes).filter((hash) => hash !== undefined))
      expect(before.size).toBe(1)
      expect(reads).toEqual([files.name])

      yield* others("b")
      for (const n of [1, 2]) {
        const annotations = { "example.test/round": `${n}` }
        yield* Client.patch(WebApp, { ...key, name: "reader-1" }, Patch.merge({ metadata: { annotations } }))
      }
      yield* TestClock.adjust("1 minute")
      expect(reads).toEqual([files.name])

      yield* Client.patch(ConfigMap, files, Patch.merge({ metadata: { labels: { app: "shop" } } }))
      yield* TestClock.adjust("1 minute")
      expect(reads).toEqual([files.name, files.name])
      expect(new Set((yield* hashes).filter((hash) => hash !== undefined))).toEqual(before)

      yield* Client.patch(ConfigMap, files, Patch.merge({ data: { theme: "light" } }))
      yield* TestClock.adjust("1 minute")
      expect(reads).toEqual([files.name, files.name, files.name])
      const after = new Set((yield* hashes).filter((hash) => hash !== undefined))
      expect(after.size).toBe(1)
      expect(after).not.toEqual(before)
    })
  )
})

describe("A WebApp whose container does not listen on its port", () => {
  let isListening = false
  const deaf = Harness.make({
    crds: [Crd.of(WebApp)],
    manager,
    kubelet: { pods: () => (isListening ? {} : { failingProbes: ["readiness"] }) }
  })

  deaf("reports it within ten seconds, and runs once it listens", () =>
    Effect.gen(function* () {
      isListening = false
      yield* Client.create(WebApp, { metadata: key, spec: { image: "registry.test/web:1", replicas: 1, port: 3000 } })
      yield* TestClock.adjust("10 seconds")
      const { status } = yield* Client.get(WebApp, key)
      expect(status?.phase).toBe("Pending")
      expect(Condition.find(status?.conditions, "DeploymentReady")).toMatchObject({
        status: "False",
        reason: "ContainerNotReady",
        message:
          "0/1 ready: the container runs, but nothing accepts connections on port 3000 (check spec.port and spec.probes.readiness)"
      })
      expect(Condition.isTrue(status?.conditions, "Reconciling")).toBe(true)
      isListening = true
      yield* eventually("it runs", Client.get(WebApp, key), ({ status }) => status?.phase === "Running")
    })
  )
})

describe("A WebApp in a namespace that enforces the Pod Security Standard Restricted", () => {
  const namespace = "strict"
  const metadata = { name: key.name, namespace }
  const spec = { image: "registry.test/web:1", replicas: 1 }
  const app = Client.get(WebApp, metadata)

  test("runs with security Restricted, and otherwise names the missing fields", () =>
    Effect.gen(function* () {
      yield* Client.create(Namespace, {
        metadata: { name: namespace, labels: { "pod-security.kubernetes.io/enforce": "restricted" } }
      })
      yield* Client.create(WebApp, { metadata, spec })
      const failing = yield* eventually(
        "its pods are rejected",
        app,
        ({ status }) => Condition.find(status?.conditions, "DeploymentReady")?.reason === "ReplicaFailure"
      )
      const message = Condition.find(failing.status?.conditions, "Ready")?.message
      expect(message).toContain("runAsNonRoot != true")
      expect(message).not.toContain("seccompProfile")
      yield* Client.patch(WebApp, metadata, Patch.merge({ spec: { security: "Restricted" } }))
      yield* eventually("it runs", app, ({ status }) => status?.phase === "Running")
    }))
})

describe("a WebApp that is deleted while its watch is 20 s behind", () => {
  let isLate = false
  let writes: Array<string> = []
  const late = Layer.effect(
    Transport.Transport,
    Effect.map(Transport.Transport, (next) => ({
      ...next,
      send: (request: Request) => {
        if (request.method !== "GET") writes.push(`${request.method} ${request.path.replace(/\?.*/, "")}`)
        return next.send(request)
      },
      open: (request: Request) =>
        Effect.map(next.open(request), (stream) => ({
          ...stream,
          next: Effect.flatMap(stream.next, (part) =>
            Effect.delay(Effect.succeed(part), isLate && request.path.includes("/webapps") ? 20_000 : 0)
          )
        }))
    }))
  )
  const behind = Harness.make({ crds: [Crd.of(WebApp)], manager: Effect.provide(manager, late) })

  behind("writes nothing, and its children go", () =>
    Effect.gen(function* () {
      isLate = false
      yield* Client.create(WebApp, { metadata: key, spec: { image: "registry.test/web:1", replicas: 1 } })
      yield* eventually("it runs", Client.get(WebApp, key), ({ status }) => status?.phase === "Running")
      yield* TestClock.adjust("10 seconds")
      isLate = true
      writes = []
      yield* Client.delete(WebApp, key)
      yield* TestClock.adjust("1 minute")
      // The manager sees that a child is gone, and reads the WebApp before it creates the child again.
      expect(writes.filter((write) => !write.includes("/events"))).toEqual([])
      expect((yield* Client.list(Deployment, { namespace: key.namespace })).items).toEqual([])
    })
  )
})

describe("A WebApp whose Ingress an admission webhook denies, as ingress-nginx does for the host of another one", () => {
  let isDenied = true
  const denial = 'admission webhook "validate.nginx.test" denied the request: host "shop.test" is defined already'
  const denying = Layer.effect(
    Transport.Transport,
    Effect.map(Transport.Transport, (next) => ({
      ...next,
      send: (request: Request) =>
        isDenied && request.method === "PATCH" && request.path.includes("/ingresses/")
          ? Effect.succeed({
              status: 400,
              headers: new Headers(),
              body: JSON.stringify({ kind: "Status", code: 400, reason: "BadRequest", message: denial })
            })
          : next.send(request)
    }))
  )
  const denied = Harness.make({ crds: [Crd.of(WebApp)], manager: Effect.provide(manager, denying) })
  const app = Client.get(WebApp, key)

  denied("runs, reports the reason in RouteReady, and gets its Ingress when the webhook accepts it", () =>
    Effect.gen(function* () {
      isDenied = true
      const spec = { image: "registry.test/web:1", replicas: 1, expose: { host: "shop.test" } }
      yield* Client.create(WebApp, { metadata: key, spec })
      const { status } = yield* eventually("it runs", app, ({ status }) => status?.phase === "Running")
      expect(Condition.find(status?.conditions, "RouteReady")).toMatchObject({ status: "False", reason: "Forbidden" })
      expect(Condition.find(status?.conditions, "RouteReady")?.message).toEndWith(denial)
      for (const type of ["Ready", "Reconciling"]) {
        expect(Condition.find(status?.conditions, type)?.message).toMatch(/; the next attempt is at \S+Z$/)
      }
      expect(Condition.isTrue(status?.conditions, "Reconciling")).toBe(true)
      isDenied = false
      yield* eventually("there is an Ingress", Client.get(Ingress, key), () => true)
    })
  )
})

describe("A WebApp whose Deployment fails, because the webhook of another program is down", () => {
  const words = 'Internal error occurred: failed calling webhook "policy.example.com": connection refused'
  const app = Client.get(WebApp, key)

  test("gets its other children at once, reports Unavailable after ten seconds, and runs when the webhook answers", ({
    faults
  }) =>
    Effect.gen(function* () {
      const down = faults.on({ verb: "patch", kind: Deployment }, Faults.answer(500, { message: words }))
      yield* Client.create(WebApp, { metadata: key, spec: { image: "registry.test/web:1", replicas: 2 } })
      yield* TestClock.adjust("5 seconds")
      expect((yield* Client.get(Service, key)).metadata.name).toBe("shop")
      expect((yield* app).status?.conditions).toBeUndefined()
      yield* TestClock.adjust("10 seconds")
      const { status } = yield* app
      expect(status).toMatchObject({ observedGeneration: 1, phase: "Pending" })
      for (const type of ["Ready", "DeploymentReady"]) {
        expect(Condition.find(status?.conditions, type)).toMatchObject({ status: "False", reason: "Unavailable" })
        expect(Condition.find(status?.conditions, type)?.message).toContain(words)
      }
      expect(Condition.isTrue(status?.conditions, "ServiceReady")).toBe(true)
      const { items } = yield* Client.list(Event, { namespace: key.namespace })
      expect(items.filter(({ type }) => type === "Warning")).toMatchObject([{ note: expect.stringContaining(words) }])
      down.remove()
      yield* eventually("it runs", app, ({ status }) => status?.phase === "Running")
    }))
})
