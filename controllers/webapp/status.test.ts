import { describe, expect, test } from "bun:test"
import type { Deployment, Pod, Service } from "@homeostat/runtime/resource/BuiltIn"
import * as Condition from "@homeostat/runtime/resource/Condition"
import type { ObjectMeta } from "@homeostat/runtime/resource/KubernetesObject"
import type { Child } from "./Finding.ts"
import { observe, podTrouble as podTroubleAt, untilLate } from "./status.ts"
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
const now = "2026-11-20T09:00:00Z"
const container = "app"
const byOthers = { by: "Others", replicas: 2, isWanted: false } as const
const bySpec = ({ spec: { replicas } }: WebApp) => ({ by: "Spec", replicas, isWanted: false }) as const
const see = (of: WebApp, child: Child<Deployment>, pods: ReadonlyArray<Pod> = []): Desired =>
  observe(of, { deployment: child, service, pods, scaling: bySpec(of), container, now: Date.parse(now) })

const podTrouble = (pods: ReadonlyArray<Pod>) => podTroubleAt(pods, container, Date.parse(now))

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
      "Deploying, not Degraded, after a report of the runtime about the new generation",
      app({
        generation: 2,
        replicas: 3,
        status: {
          phase: "Running",
          observedGeneration: 2,
          conditions: [
            {
              type: "DeploymentReady",
              status: "True",
              reason: "AllReplicasReady",
              message: "2/2 ready",
              observedGeneration: 1,
              lastTransitionTime: "2026-11-20T08:30:00Z"
            }
          ]
        }
      }),
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
  test("a Deployment of another owner is Stalled, NotOwned, with the owner in the message", () => {
    const status = see(app(), { problem: { reason: "NotOwned", message: "it is Helm's" } })
    expect(status.phase).toBe("Failed")
    expect(condition(status, "Stalled")).toMatchObject({ status: "True", reason: "NotOwned", message: "it is Helm's" })
    expect(condition(status, "Ready")?.status).toBe("False")
  })
  test("of a rollout in progress has the number of pods that run the spec, or reports that some are not ready", () => {
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
  test("a quota that blocks pods has the quota's words, and is Stalled only after the progress deadline", () => {
    const failure = {
      type: "ReplicaFailure",
      status: "True",
      reason: "FailedCreate",
      message: "exceeded quota: pods=0"
    }
    const status = see(app(), deployment({ observedGeneration: 1, conditions: [failure] }))
    const message = "0/2 ready: exceeded quota: pods=0"
    expect(condition(status, "Reconciling")).toMatchObject({ status: "True", reason: "ReplicaFailure", message })
    expect(condition(status, "DeploymentReady")).toMatchObject({ status: "False", reason: "ReplicaFailure", message })
    expect(condition(status, "Stalled")).toBeUndefined()
    const deadline = { type: "Progressing", status: "False", reason: "ProgressDeadlineExceeded", message: "timed out" }
    const late = see(app(), deployment({ observedGeneration: 1, conditions: [failure, deadline] }))
    expect(condition(late, "Stalled")).toMatchObject({ reason: "ProgressDeadlineExceeded", message })
  })
  test("an image that cannot be pulled is reported at once, in the kubelet's words, and is not final", () => {
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
    const status = observe(app(), {
      deployment: scaled,
      service,
      pods: [],
      scaling: byOthers,
      container,
      now: Date.parse(now)
    })
    expect(status.phase).toBe("Running")
  })
  test("an autoscaler that adds pods leaves it Running and Ready", () => {
    const before: WebAppStatus = { phase: "Running", observedGeneration: 1, availableReplicas: 4 }
    const scaled = (
      wanted: number,
      available: number,
      over: Deployment["status"] = {},
      pods: ReadonlyArray<Pod> = []
    ) => {
      const { object } = deployment({
        observedGeneration: 1,
        replicas: wanted,
        updatedReplicas: wanted,
        readyReplicas: available,
        availableReplicas: available,
        ...over
      })
      const child = { object: { ...object, spec: { selector: {}, template: {}, ...object.spec, replicas: wanted } } }
      const options = { deployment: child, service, scaling: byOthers, container, now: Date.parse(now) }
      return observe(app({ status: before }), { ...options, pods })
    }
    const out = scaled(6, 4)
    expect([out.phase, condition(out, "Ready")?.status, condition(out, "DeploymentReady")?.reason]).toEqual([
      "Running",
      "True",
      "ScalingOut"
    ])
    expect(condition(out, "Ready")?.message).toBe("4/6 ready")
    expect(scaled(6, 4, { replicas: 4, updatedReplicas: 4 }).phase).toBe("Running")
    const starting: Pod["status"] = {
      containerStatuses: [
        {
          ...{ name: "app", image: "x", imageID: "", ready: false, restartCount: 0 },
          state: { running: { startedAt: "2026-11-20T08:59:00Z" } }
        }
      ]
    }
    const slow = { ...pod({ status: starting }), spec: { containers: [{ name: "app", readinessProbe: {} }] } }
    expect(scaled(6, 4, {}, [slow]).phase).toBe("Running")
    // A pod was lost, a pod cannot start, and a rollout began.
    expect(scaled(6, 3).phase).toBe("Degraded")
    expect(scaled(6, 4, {}, [pod({ status: pulling })]).phase).toBe("Degraded")
    expect(scaled(4, 4, { replicas: 5, updatedReplicas: 1 }).phase).toBe("Deploying")
  })
  test("a scale-out ends at the progress deadline, and a rollout that kube-controller-manager does not watch, too", () => {
    const before: WebAppStatus = { phase: "Running", observedGeneration: 1, availableReplicas: 1 }
    const { object } = deployment({
      ...complete,
      readyReplicas: 1,
      availableReplicas: 1,
      conditions: [
        { type: "Progressing", status: "True", reason: "NewReplicaSetAvailable", message: "ReplicaSet has progressed" }
      ]
    })
    const pods = [pod({ at: "2026-11-20T08:49:59Z" }), pod({ at: "2026-11-20T08:50:00Z" })]
    const at = (seconds: number, status?: WebAppStatus) =>
      observe(app(status === undefined ? {} : { status }), {
        deployment: { object },
        service,
        pods,
        scaling: byOthers,
        container,
        now: Date.parse("2026-11-20T08:50:00Z") + seconds * 1000
      })
    expect(condition(at(599, before), "Ready")).toMatchObject({ status: "True", reason: "ScalingOut" })
    expect(at(600, before).phase).toBe("Degraded")
    expect(condition(at(600, before), "DeploymentReady")).toMatchObject({
      status: "False",
      reason: "ReplicasNotReady",
      message: "1/2 ready"
    })
    expect(at(599).phase).toBe("Deploying")
    expect(at(600).phase).toBe("Failed")
    expect(condition(at(600), "Stalled")).toMatchObject({
      reason: "ProgressDeadlineExceeded",
      message: "1/2 ready: the progress deadline has passed"
    })
  })
  test("a change of another client leaves it Running until the Deployment controller has seen the change", () => {
    const desired = see(app(), deployment(complete))
    const before = { ...desired, conditions: Condition.set(undefined, desired.conditions ?? [], now) }
    expect(see(app({ status: before }), deployment(complete, 2))).toEqual(desired)
    expect(condition(see(app({ status: before, generation: 2 }), deployment(complete, 2)), "Ready")?.status).toBe(
      "Unknown"
    )
  })
  test("spec.replicas 0 is Stopped and Ready", () => {
    const { object } = deployment({ observedGeneration: 1, replicas: 0 })
    const status = see(app({ replicas: 0 }), { object: { ...object, status: { observedGeneration: 1 } } })
    expect(status.phase).toBe("Stopped")
    expect(condition(status, "Ready")).toMatchObject({ status: "True", message: "0/0 ready: spec.replicas is 0" })
    expect(condition(status, "DeploymentReady")?.reason).toBe("ScaledToZero")
  })
  test("a Deployment that another client scaled to 0 is Stopped, and the message names the Deployment", () => {
    const { object } = deployment({ observedGeneration: 1 })
    const child = { object: { ...object, spec: { selector: {}, template: {}, replicas: 0 } } }
    const seen = { deployment: child, service, pods: [], scaling: byOthers, container, now: Date.parse(now) }
    expect(condition(observe(app(), seen), "Ready")?.message).toBe(
      "0/0 ready: the Deployment is scaled to 0 (scale it to start its pods)"
    )
  })
  test("the selector of an adopted Deployment may have many labels, and is absent if the CRD has no room for it", () => {
    const { object } = deployment(complete)
    const selectorWith = (count: number) => {
      const matchLabels = Object.fromEntries(Array.from({ length: count }, (_, at) => [`l${at}`, "x".repeat(60)]))
      return see(app(), { object: { ...object, spec: { template: {}, selector: { matchLabels } } } }).selector
    }
    expect(selectorWith(400)?.length).toBeGreaterThan(25_000)
    expect(selectorWith(600)).toBeUndefined()
  })

  test("the selector is text, for the scale subresource", () => {
    expect(see(app(), deployment(complete)).selector).toBe("app.kubernetes.io/managed-by=webapp-controller,app=cart")
    const { object } = deployment(complete)
    const matchExpressions = [
      { key: "tier", operator: "In", values: ["b", "a"] },
      { key: "canary", operator: "DoesNotExist" },
      { key: "zone", operator: "Exists" },
      { key: "stage", operator: "NotIn", values: ["dev"] }
    ]
    const selector = { matchLabels: { app: "cart" }, matchExpressions }
    expect(see(app(), { object: { ...object, spec: { template: {}, selector } } }).selector).toBe(
      "app=cart,!canary,stage notin (dev),tier in (a,b),zone"
    )
  })
})

describe("the whole status", () => {
  const unjudged = {
    status: "Unknown",
    reason: "RolloutInProgress",
    message: "the rollout of the present spec has not begun"
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
    const options = {
      deployment: deployment(complete),
      pods: [],
      scaling: bySpec(app()),
      container,
      now: Date.parse(now)
    }
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
  test("of one whose Deployment is another's, and which therefore has neither a NetworkPolicy nor a budget", () => {
    const { spec, ...rest } = app()
    const fields = { networkPolicy: { allowFrom: [] }, disruptionBudget: { maxUnavailable: 1 } }
    const { conditions } = see({ ...rest, spec: { ...spec, ...fields } }, { problem: theirs })
    expect(conditions?.map(({ type }) => type)).toEqual(["Ready", "DeploymentReady", "ServiceReady", "Stalled"])
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
  const waits = (reason: string, over: object = {}): Pod["status"] => ({
    containerStatuses: [
      {
        ...{ name: "app", image: "x", imageID: "", ready: false, restartCount: 0 },
        state: { waiting: { reason } },
        ...over
      }
    ]
  })
  const terminated = (reason?: string, message?: string) => ({
    lastState: {
      terminated: { exitCode: 137, ...(reason !== undefined && { reason }), ...(message !== undefined && { message }) }
    }
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
    [
      waits("CrashLoopBackOff", terminated("Error", "starting\n\tFATAL: no DATABASE_URL\n")),
      "CrashLoopBackOff",
      "CrashLoopBackOff (exit code 137, Error): starting FATAL: no DATABASE_URL"
    ],
    [
      waits("CrashLoopBackOff", terminated("Error", "\u001b[31m\u202eno\u0000")),
      "CrashLoopBackOff",
      "CrashLoopBackOff (exit code 137, Error): \\u001b[31m\\u202eno\\u0000"
    ],
    [
      waits("CrashLoopBackOff", terminated("Error", " \n")),
      "CrashLoopBackOff",
      "CrashLoopBackOff (exit code 137, Error)"
    ],
    [
      waits("CrashLoopBackOff", terminated("Error", `${"long ".repeat(800)}😀${"x".repeat(255)}`)),
      "CrashLoopBackOff",
      `CrashLoopBackOff (exit code 137, Error): …\ufffd${"x".repeat(255)}`
    ],
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
  test("is found in an init container", () => {
    const initContainerStatuses = [
      {
        ...{ name: "migrate", image: "x", imageID: "", ready: false, restartCount: 3 },
        state: { waiting: { reason: "CrashLoopBackOff", message: "back-off 40s" } }
      }
    ]
    expect(podTrouble([pod({ status: { initContainerStatuses } })])).toEqual({
      reason: "CrashLoopBackOff",
      message: "container migrate: back-off 40s"
    })
  })

  describe("of a container that runs and is not ready", () => {
    const tcp = { tcpSocket: { port: 8080 } }
    const starting = (over: object = {}, probes: object = { readinessProbe: tcp }, name = "app"): Pod => ({
      ...pod({
        status: {
          containerStatuses: [
            {
              ...{ name, image: "x", imageID: "", ready: false, restartCount: 0 },
              state: { running: { startedAt: "2026-11-20T09:00:00Z" } },
              ...over
            }
          ]
        }
      }),
      spec: { containers: [{ name, ...probes }] }
    })
    const after = (seconds: number, ...pods: ReadonlyArray<Pod>) =>
      podTroubleAt(pods, container, Date.parse(now) + seconds * 1000)?.message
    const listens = "the container runs, but nothing accepts connections on port 8080"
    const check = "(check spec.port and spec.probes.readiness)"

    test("is found after five seconds", () => {
      expect(after(4.9, starting())).toBeUndefined()
      expect(after(5, starting())).toBe(`${listens} ${check}`)
      expect(untilLate([starting()], Date.parse(now) + 1000)).toBe(4000)
      expect(untilLate([starting()], Date.parse(now) + 5000)).toBeUndefined()
    })
    test("waits for the initial delay", () => {
      const delayed = starting({}, { readinessProbe: { ...tcp, initialDelaySeconds: 30 } })
      expect(after(34, delayed)).toBeUndefined()
      expect(after(35, delayed)).toBe(`${listens} ${check}`)
    })
    test("is not found in a container that is ready, or has no probe", () => {
      expect(after(60, starting({ ready: true }))).toBeUndefined()
      expect(after(60, starting({}, {}))).toBeUndefined()
      expect(untilLate([starting({ ready: true }), starting({}, {})], Date.parse(now))).toBeUndefined()
    })
    test("names the startup probe while it has not succeeded", () => {
      const startupProbe = { httpGet: { path: "/up", port: 9 } }
      expect(after(5, starting({ started: false }, { startupProbe, readinessProbe: tcp }))).toBe(
        "the container runs, but GET /up on port 9 does not succeed (check spec.port and spec.probes.startup)"
      )
    })
    test("names another container", () =>
      expect(after(5, starting({}, { readinessProbe: { exec: { command: ["ready", "-v"] } } }, "proxy"))).toBe(
        "container proxy: the container runs, but the command ready -v does not succeed"
      ))
    test("yields to the problem of a pod that cannot start", () =>
      expect(after(60, starting(), pod({ status: pulling }))).toBe('Back-off pulling image "x"'))
  })
})
