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
type Desired = ReturnType<typeof observe>

const see = (of: WebApp, child: Child<Deployment>, pods: ReadonlyArray<Pod> = []): Desired =>
  observe(of, { deployment: child, service, pods, scaledByOthers: false })

const condition = (status: Desired, type: string) => status.conditions?.find((candidate) => candidate.type === type)
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
      "Deploying, not Degraded, when a complete one has a pod too many",
      app({ status: running }),
      { ...complete, replicas: 3 },
      "Deploying"
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
    expect(condition(status, "Ready")).toMatchObject({ status: "Unknown" })
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
  test("of a rollout in progress has the number of pods that run the spec, or says that some are not ready", () => {
    const found = (status: Deployment["status"]) =>
      condition(
        see(app(), deployment({ ...complete, availableReplicas: 1, readyReplicas: 1, ...status })),
        "DeploymentReady"
      )
    expect(found({})).toMatchObject({ reason: "ReplicasNotReady", message: "1/2 ready" })
    expect(found({ updatedReplicas: 1, replicas: 1 })).toMatchObject({
      reason: "RolloutInProgress",
      message: "1/2 ready: 1 of 2 pods run the present spec"
    })
    expect(found({ replicas: 3 })).toMatchObject({
      reason: "RolloutInProgress",
      message: "1/2 ready: 2 of 2 pods run the present spec, the old revision still serves"
    })
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
  test("an autoscaled Deployment is measured by the replicas that the autoscaler set", () => {
    const six = { observedGeneration: 1, replicas: 6, updatedReplicas: 6, readyReplicas: 6, availableReplicas: 6 }
    const child = deployment(six)
    const scaled =
      "object" in child && child.object.spec !== undefined
        ? { object: { ...child.object, spec: { ...child.object.spec, replicas: 6 } } }
        : child
    const status = observe(app(), { deployment: scaled, service, pods: [], scaledByOthers: true })
    expect(status.phase).toBe("Running")
  })
  test("the selector is text, for the scale subresource", () => {
    expect(see(app(), deployment(complete)).selector).toBe("app.kubernetes.io/managed-by=webapp-controller,app=cart")
  })
})

describe("the whole status", () => {
  const unjudged = {
    status: "Unknown",
    reason: "RolloutInProgress",
    message: "The rollout of the present spec has not begun"
  } as const
  const theirs = { reason: "NotOwned", message: "Service cart is another's" } as const
  const offered = {
    type: "ServiceReady",
    status: "True",
    reason: "Available",
    message: "Service cart offers port 8080"
  }
  const stale = { replicas: 0, updatedReplicas: 0, readyReplicas: 0, availableReplicas: 0 }
  const selector = "app.kubernetes.io/managed-by=webapp-controller,app=cart"

  test("of a complete one", () =>
    expect(see(app(), deployment(complete))).toEqual({
      ...complete,
      phase: "Running",
      selector,
      conditions: [
        { type: "Ready", status: "True", reason: "AllReplicasReady", message: "2/2 ready" },
        { type: "DeploymentReady", status: "True", reason: "AllReplicasReady", message: "2/2 ready" },
        { ...offered, status: "True" }
      ]
    }))
  test("of one whose Deployment has no status yet", () =>
    expect(see(app(), deployment(undefined))).toEqual({
      ...stale,
      observedGeneration: 1,
      phase: "Pending",
      selector,
      conditions: [
        { type: "Ready", ...unjudged, reason: "ReplicasNotReady" },
        { type: "DeploymentReady", ...unjudged },
        { ...offered, status: "True" },
        { type: "Reconciling", ...unjudged, status: "True" }
      ]
    }))
  test("of one whose Service is another's", () => {
    const options = { deployment: deployment(complete), pods: [], scaledByOthers: false }
    expect(observe(app(), { ...options, service: { problem: theirs } })).toEqual({
      ...complete,
      phase: "Failed",
      selector,
      conditions: [
        { type: "Ready", status: "False", ...theirs },
        { type: "DeploymentReady", status: "True", reason: "AllReplicasReady", message: "2/2 ready" },
        { type: "ServiceReady", status: "False", ...theirs },
        { type: "Stalled", status: "True", ...theirs }
      ]
    })
  })
  test("of one whose Deployment does not exist, and is another's", () =>
    expect(see(app(), { problem: theirs })).toEqual({
      ...stale,
      observedGeneration: 1,
      phase: "Failed",
      conditions: [
        { type: "Ready", status: "False", ...theirs },
        { type: "DeploymentReady", status: "False", ...theirs },
        { ...offered, status: "True" },
        { type: "Stalled", status: "True", ...theirs }
      ]
    }))
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
  const waits = (reason: string, over: object = {}): Pod["status"] => ({
    containerStatuses: [
      {
        ...{ name: "app", image: "x", imageID: "", ready: false, restartCount: 0 },
        state: { waiting: { reason } },
        ...over
      }
    ]
  })
  const terminated = (reason?: string) => ({
    lastState: { terminated: { exitCode: 137, ...(reason !== undefined && { reason }) } }
  })
  const troubles: ReadonlyArray<readonly [status: Pod["status"], reason: string | undefined, message?: string]> = [
    [waits("ErrImagePull"), "ImagePullFailed", "ErrImagePull"],
    [waits("InvalidImageName"), "ImagePullFailed", "InvalidImageName"],
    [waits("CreateContainerConfigError"), "ContainerConfigError", "CreateContainerConfigError"],
    [waits("CreateContainerError"), "ContainerConfigError", "CreateContainerError"],
    [waits("CrashLoopBackOff", terminated()), "CrashLoopBackOff", "CrashLoopBackOff (exit code 137)"],
    [
      waits("CrashLoopBackOff", terminated("OOMKilled")),
      "CrashLoopBackOff",
      "CrashLoopBackOff (exit code 137, OOMKilled)"
    ],
    [waits("CrashLoopBackOff", { name: "proxy" }), "CrashLoopBackOff", "container proxy: CrashLoopBackOff"],
    [waits("ContainerCreating"), undefined],
    [{ conditions: [{ type: "PodScheduled", status: "False" }] }, "Unschedulable", "a pod finds no node"],
    [{ conditions: [{ type: "PodScheduled", status: "True" }] }, undefined],
    [{ conditions: [{ type: "Ready", status: "False" }] }, undefined]
  ]
  for (const [at, [status, reason, message]] of troubles.entries()) {
    test(`has a reason of its own: ${at + 1}. ${message ?? "none"}`, () =>
      expect(podTrouble([pod({ status })])).toEqual(
        reason === undefined ? undefined : { reason, message: message ?? "" }
      ))
  }
  test("is not looked for in a pod that is being deleted", () => {
    const { metadata, ...rest } = pod({ status: pulling })
    expect(
      podTrouble([{ ...rest, metadata: { ...metadata, deletionTimestamp: "2026-11-20T09:00:00Z" } }])
    ).toBeUndefined()
  })
  test("names the node that isn't there", () => {
    const unschedulable = pod({
      status: { conditions: [{ type: "PodScheduled", status: "False", message: "0/3 nodes are available" }] }
    })
    expect(podTrouble([unschedulable])).toEqual({ reason: "Unschedulable", message: "0/3 nodes are available" })
  })
})
