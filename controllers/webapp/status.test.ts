import { describe, expect, test } from "bun:test"
import type { Deployment, Pod, Service } from "@homeostat/runtime/resource/BuiltIn"
import type { ObjectMeta } from "@homeostat/runtime/resource/KubernetesObject"
import { type Child, observe, podTrouble } from "./status.ts"
import type { WebApp, WebAppStatus } from "./WebApp.ts"

const meta = (name: string, generation: number): ObjectMeta => ({
  name,
  namespace: "shop",
  uid: "u",
  resourceVersion: "1",
  creationTimestamp: "2026-11-20T08:00:00Z",
  generation
})

const app = (
  options: { readonly generation?: number; readonly replicas?: number; readonly status?: WebAppStatus } = {}
): WebApp => ({
  metadata: meta("cart", options.generation ?? 1),
  spec: { image: "nginx:1.27", replicas: options.replicas ?? 2, port: 8080 },
  ...(options.status === undefined ? {} : { status: options.status })
})

const deployment = (
  status: Deployment["status"],
  generation = 1
): Child<Deployment> & { readonly object: Deployment } => ({
  object: {
    metadata: meta("cart", generation),
    spec: {
      replicas: 2,
      selector: { matchLabels: { app: "cart", "app.kubernetes.io/managed-by": "webapp-controller" } },
      template: {}
    },
    ...(status === undefined ? {} : { status })
  }
})

const service: Child<Service> = { object: { metadata: meta("cart", 1) } }
const now = "2026-11-20T09:00:00Z"
const see = (of: WebApp, child: Child<Deployment>, pods: ReadonlyArray<Pod> = []): WebAppStatus =>
  observe(of, { deployment: child, service, pods, scaledByOthers: false, now })

const condition = (status: WebAppStatus, type: string) =>
  status.conditions?.find((candidate) => candidate.type === type)
const complete = { observedGeneration: 1, replicas: 2, updatedReplicas: 2, readyReplicas: 2, availableReplicas: 2 }

const pod = (over: { readonly status?: Pod["status"]; readonly hash?: string; readonly at?: string }): Pod => ({
  metadata: {
    ...meta("cart-x", 1),
    creationTimestamp: over.at ?? "2026-11-20T08:59:00Z",
    labels: { app: "cart", "pod-template-hash": over.hash ?? "new" }
  },
  ...(over.status === undefined ? {} : { status: over.status })
})

const pulling: Pod["status"] = {
  containerStatuses: [
    {
      name: "app",
      image: "x",
      imageID: "",
      ready: false,
      restartCount: 0,
      state: { waiting: { reason: "ImagePullBackOff", message: 'Back-off pulling image "x"' } }
    }
  ]
}

describe("phase", () => {
  const running: WebAppStatus = { phase: "Running", observedGeneration: 1 }
  const table: ReadonlyArray<readonly [string, WebApp, Deployment["status"], WebAppStatus["phase"]]> = [
    ["Pending while the Deployment controller has said nothing", app(), undefined, "Pending"],
    ["Pending while no pod is ready", app(), { observedGeneration: 1, replicas: 2, updatedReplicas: 2 }, "Pending"],
    ["Deploying once one is", app(), { ...complete, readyReplicas: 1, availableReplicas: 1 }, "Deploying"],
    ["Running when all run the spec", app(), complete, "Running"],
    [
      "Deploying, not Running, while only old pods are ready",
      app({ generation: 2, status: running }),
      { ...complete, updatedReplicas: 0 },
      "Deploying"
    ],
    [
      "Deploying, not Running, while an old pod still exists beside the new ones",
      app({ generation: 2, status: running }),
      { ...complete, replicas: 3 },
      "Deploying"
    ],
    [
      "Degraded when a complete one loses a pod",
      app({ status: running }),
      { ...complete, readyReplicas: 1, availableReplicas: 1 },
      "Degraded"
    ],
    [
      "Deploying when a new generation wants more pods than there are",
      app({ generation: 2, replicas: 3, status: running }),
      complete,
      "Deploying"
    ],
    [
      "Failed when the deadline has passed, though old pods serve",
      app(),
      {
        ...complete,
        updatedReplicas: 1,
        conditions: [{ type: "Progressing", status: "False", reason: "ProgressDeadlineExceeded" }]
      },
      "Failed"
    ]
  ]
  for (const [name, of, status, phase] of table) {
    test(`is ${name}`, () => expect(see(of, deployment(status)).phase).toBe(phase))
  }
})

describe("conditions", () => {
  test("the first look, before anything is known, is Ready unknown and Reconciling, for this generation", () => {
    const status = see(app({ generation: 3 }), deployment(undefined))
    expect(status.observedGeneration).toBe(3)
    expect(condition(status, "Ready")).toMatchObject({ status: "Unknown", observedGeneration: 3 })
    expect(condition(status, "Reconciling")?.status).toBe("True")
    expect(condition(status, "Stalled")).toBeUndefined()
  })
  test("a status of an older generation of the Deployment is not believed", () => {
    expect(condition(see(app(), deployment(complete, 2)), "Ready")?.status).toBe("Unknown")
  })
  test("complete is Ready, and neither Reconciling nor Stalled", () => {
    const status = see(app(), deployment(complete))
    expect(status.conditions?.map(({ type, status }) => [type, status])).toEqual([
      ["Ready", "True"],
      ["DeploymentReady", "True"],
      ["ServiceReady", "True"]
    ])
  })
  test("a Deployment of somebody else's is Stalled, NotOwned, and says whose", () => {
    const status = see(app(), { problem: { reason: "NotOwned", message: "it is Helm's" } })
    expect(status.phase).toBe("Failed")
    expect(condition(status, "Stalled")).toMatchObject({ status: "True", reason: "NotOwned", message: "it is Helm's" })
    expect(condition(status, "Ready")?.status).toBe("False")
  })
  test("a quota that blocks pods is Stalled with the quota's words", () => {
    const status = see(
      app(),
      deployment({
        observedGeneration: 1,
        conditions: [
          { type: "ReplicaFailure", status: "True", reason: "FailedCreate", message: "exceeded quota: pods=0" }
        ]
      })
    )
    expect(condition(status, "Stalled")).toMatchObject({ reason: "ReplicaFailure" })
    expect(condition(status, "Stalled")?.message).toContain("exceeded quota: pods=0")
  })
  test("an image that cannot be pulled is told at once, in the kubelet's words, and is not final", () => {
    const status = see(app(), deployment({ observedGeneration: 1, replicas: 2, updatedReplicas: 2 }), [
      pod({ status: pulling })
    ])
    expect(condition(status, "DeploymentReady")).toMatchObject({ status: "False", reason: "ImagePullFailed" })
    expect(condition(status, "DeploymentReady")?.message).toContain('Back-off pulling image "x"')
    expect(condition(status, "Stalled")).toBeUndefined()
  })
  test("a condition's time moves only when its status does", () => {
    const first = see(app(), deployment(complete))
    const later = observe(app({ status: first }), {
      deployment: deployment(complete),
      service,
      pods: [],
      scaledByOthers: false,
      now: "2026-11-20T10:00:00Z"
    })
    expect(condition(later, "Ready")?.lastTransitionTime).toBe(now)
    expect(later).toEqual(first)
  })
  test("an autoscaled Deployment is measured by the replicas that the autoscaler set", () => {
    const six = { observedGeneration: 1, replicas: 6, updatedReplicas: 6, readyReplicas: 6, availableReplicas: 6 }
    const child = deployment(six)
    const scaled =
      "object" in child && child.object.spec !== undefined
        ? { object: { ...child.object, spec: { ...child.object.spec, replicas: 6 } } }
        : child
    const status = observe(app(), { deployment: scaled, service, pods: [], scaledByOthers: true, now })
    expect(status.phase).toBe("Running")
  })
  test("the selector is text, for the scale subresource", () => {
    expect(see(app(), deployment(complete)).selector).toBe("app.kubernetes.io/managed-by=webapp-controller,app=cart")
  })
})

describe("trouble of pods", () => {
  test("is looked for in the newest revision only", () => {
    const old = pod({ hash: "old", at: "2026-11-20T08:00:00Z", status: pulling })
    expect(podTrouble([old, pod({})])).toBeUndefined()
    expect(podTrouble([old])?.reason).toBe("ImagePullFailed")
  })
  test("is found in a revision that began in the same second as another", () => {
    const [good, bad] = [pod({ hash: "one" }), pod({ hash: "two", status: pulling })]
    expect(podTrouble([good, bad])?.reason).toBe("ImagePullFailed")
    expect(podTrouble([bad, good])?.reason).toBe("ImagePullFailed")
  })
  test("names the node that isn't there", () => {
    const unschedulable = pod({
      status: { conditions: [{ type: "PodScheduled", status: "False", message: "0/3 nodes are available" }] }
    })
    expect(podTrouble([unschedulable])).toEqual({ reason: "Unschedulable", message: "0/3 nodes are available" })
  })
})
