import { describe, expect, test } from "bun:test"
import type { Pod } from "@homeostat/runtime/resource/BuiltIn"
import * as PodStatus from "./PodStatus.ts"

const now = "2026-01-01T00:00:10Z"
const before = "2026-01-01T00:00:00Z"

const pod = (restartPolicy: string, status: PodStatus.Status = {}): Pod => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: {
    namespace: "default",
    name: "web",
    uid: "u1",
    resourceVersion: "1",
    creationTimestamp: before,
    generation: 1
  },
  spec: { restartPolicy, containers: [] },
  status
})

const fresh = PodStatus.waiting("main", "web:1", "ContainerCreating")
const running = { ...fresh, ready: true, started: true, state: { running: { startedAt: before } } }
const ended = (exitCode: number) => ({ ...fresh, state: { terminated: { exitCode } } })
const backingOff = {
  ...fresh,
  state: { waiting: { reason: "CrashLoopBackOff" } },
  lastState: { terminated: { exitCode: 1 } }
}

const of = (known: Partial<PodStatus.Known>) =>
  PodStatus.of({
    pod: pod("Always"),
    init: [],
    containers: [running],
    ip: "10.244.0.1",
    hostIp: "127.0.0.1",
    startTime: before,
    failed: undefined,
    now,
    ...known
  })

const condition = (status: PodStatus.Status, type: string) => status.conditions?.find((one) => one.type === type)

describe("The phase of a pod", () => {
  const failed = { reason: "Evicted", message: "memory", disruption: true }
  const cases: ReadonlyArray<readonly [string, string, string, Partial<PodStatus.Known>]> = [
    ["whose container is new", "Always", "Pending", { containers: [fresh] }],
    ["whose container runs", "Always", "Running", {}],
    ["of which one container is new", "Always", "Pending", { containers: [running, fresh] }],
    ["of which one container has ended", "Never", "Running", { containers: [running, ended(1)] }],
    ["whose container backs off", "Always", "Running", { containers: [backingOff] }],
    ["whose container has ended and is restarted", "Always", "Running", { containers: [ended(0)] }],
    ["whose container has failed and is restarted", "OnFailure", "Running", { containers: [ended(1)] }],
    ["that is done", "OnFailure", "Succeeded", { containers: [ended(0)] }],
    ["that is done and not restarted", "Never", "Succeeded", { containers: [ended(0), ended(0)] }],
    ["of which one container has failed", "Never", "Failed", { containers: [ended(0), ended(1)] }],
    ["whose init container runs", "Always", "Pending", { init: [running], containers: [fresh] }],
    ["whose init container is tried again", "Always", "Pending", { init: [ended(1)], containers: [fresh] }],
    ["whose init container has failed permanently", "Never", "Failed", { init: [ended(1)], containers: [fresh] }],
    ["whose init container is done", "Always", "Running", { init: [ended(0)] }],
    ["that is evicted", "Always", "Failed", { failed }]
  ]
  test.each(cases)("%s, restarted %s, is %s", (_, policy, phase, known) => {
    expect(of({ pod: pod(policy), ...known }).phase).toBe(phase)
  })
})

const withSidecar = (restartPolicy: string): Pod => ({
  ...pod(restartPolicy),
  spec: {
    restartPolicy,
    containers: [],
    initContainers: [{ name: "proxy", restartPolicy: "Always" }, { name: "setup" }]
  }
})
const proxy = (status: PodStatus.ContainerStatus): PodStatus.ContainerStatus => ({ ...status, name: "proxy" })
const setup = (status: PodStatus.ContainerStatus): PodStatus.ContainerStatus => ({ ...status, name: "setup" })
const done = setup(ended(0))

describe("The phase of a pod with a sidecar", () => {
  const cases: ReadonlyArray<readonly [string, string, string, Partial<PodStatus.Known>]> = [
    ["that is new", "Always", "Pending", { init: [proxy(fresh), setup(fresh)], containers: [fresh] }],
    ["that starts", "Always", "Pending", { init: [proxy({ ...running, started: false }), done], containers: [fresh] }],
    ["that runs", "Always", "Running", { init: [proxy(running), done] }],
    ["that has ended", "Always", "Running", { init: [proxy(ended(1)), done] }],
    ["that backs off", "Always", "Running", { init: [proxy(backingOff), done] }],
    ["that runs on after the containers", "Never", "Running", { init: [proxy(running), done], containers: [ended(0)] }],
    [
      "that failed after the containers",
      "Never",
      "Succeeded",
      { init: [proxy(ended(137)), done], containers: [ended(0)] }
    ],
    ["that succeeded after a failure", "Never", "Failed", { init: [proxy(ended(0)), done], containers: [ended(1)] }],
    ["that runs beside a failed init container", "Never", "Pending", { init: [proxy(running), setup(ended(1))] }],
    ["that ended after a failed init container", "Never", "Failed", { init: [proxy(ended(0)), setup(ended(1))] }]
  ]
  test.each(cases)("%s, restarted %s, is %s", (_, policy, phase, known) => {
    expect(of({ pod: withSidecar(policy), ...known }).phase).toBe(phase)
  })
})

describe("The conditions of a pod", () => {
  test("count its sidecars", () => {
    const sidecar = of({ pod: withSidecar("Always"), init: [proxy({ ...running, ready: false }), done] })
    expect(condition(sidecar, "Ready")?.message).toBe("containers with unready status: [proxy]")
    expect(condition(sidecar, "Initialized")?.status).toBe("True")
    const starting = proxy({ ...running, ready: false, started: false })
    const first = of({ pod: withSidecar("Always"), init: [starting, setup(fresh)], containers: [fresh] })
    expect(condition(first, "Initialized")?.message).toBe("containers with incomplete status: [proxy setup]")
    // A pod stays initialized while its sidecar starts again.
    const again = of({ pod: withSidecar("Always"), init: [starting, done] })
    expect(condition(again, "Initialized")?.status).toBe("True")
  })

  test("name the containers that are not ready", () => {
    const status = of({ containers: [running, { ...fresh, name: "side" }] })
    expect(condition(status, "Ready")).toMatchObject({
      status: "False",
      reason: "ContainersNotReady",
      message: "containers with unready status: [side]"
    })
  })

  test("keep their times while they do not change, and omit those of other writers", () => {
    const conditions = [
      { type: "Ready", status: "True", lastTransitionTime: before },
      { type: "Initialized", status: "False", lastTransitionTime: before },
      { type: "example.com/gate", status: "True", lastTransitionTime: before }
    ]
    const status = of({ pod: pod("Always", { conditions }) })
    expect(condition(status, "Ready")?.lastTransitionTime).toBe(before)
    expect(condition(status, "Initialized")).toMatchObject({ status: "True", lastTransitionTime: now })
    expect(condition(status, "example.com/gate")).toBeUndefined()
  })

  test("of an evicted pod contain DisruptionTarget", () => {
    const status = of({ failed: { reason: "Evicted", message: "memory", disruption: true } })
    expect(status).toMatchObject({ reason: "Evicted", message: "memory" })
    expect(condition(status, "DisruptionTarget")).toMatchObject({ status: "True", message: "memory" })
    expect(condition(status, "Ready")).toMatchObject({ status: "False", reason: "PodFailed" })
  })
})
