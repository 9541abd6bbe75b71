import { describe, expect, test } from "bun:test"
import * as Duration from "effect/Duration"
import { at, job, pod, report } from "./Backups.fixture.ts"
import * as JobProgress from "./JobProgress.ts"

const open = job("cart-1")
const failedJob = job("cart-1", { ended: "Failed" })
const done = job("cart-1", { ended: "Complete" })

const terminated = (exitCode: number, over: { readonly finishedAt?: string; readonly message?: string } = {}) => ({
  terminated: { exitCode, finishedAt: "2026-11-20T02:04:00Z", ...over }
})
const waiting = (reason: string, message?: string) => ({
  waiting: { reason, ...(message !== undefined && { message }) }
})
const disrupted = [{ type: "DisruptionTarget", status: "True", message: "node drained" }]

describe("The progress of an active Job", () => {
  test("is Starting while it has no pod", () =>
    expect(JobProgress.read(open, [])).toEqual({
      _tag: "Starting",
      since: at("2026-11-20T02:00:01Z"),
      obstacle: undefined,
      message: "Job cart-1 has no pod yet"
    }))

  test("is Starting while its pod starts", () =>
    expect(JobProgress.read(open, [pod(open, "p")])).toMatchObject({
      _tag: "Starting",
      since: at("2026-11-20T02:00:02Z"),
      obstacle: undefined,
      message: "Pod p starts"
    }))

  test("is Running while the mover runs", () =>
    expect(JobProgress.read(open, [pod(open, "p", { phase: "Running", state: { running: {} } })])).toEqual({
      _tag: "Running",
      message: "The mover runs"
    }))

  test("reports a pod that has been terminating, for example on a lost node", () => {
    const running = pod(open, "p", { phase: "Running", state: { running: {} } })
    const metadata = { ...running.metadata, deletionTimestamp: "2026-11-20T02:10:00Z" }
    expect(JobProgress.read(open, [{ ...running, metadata }])).toMatchObject({
      _tag: "Running",
      message: expect.stringMatching(
        /^Pod p has been terminating since 2026-11-20T02:10:00Z\. If it does not stop, check /
      )
    })
    const nowhere = { ...running, metadata, spec: { containers: [] } }
    expect(JobProgress.read(open, [nowhere])).toMatchObject({
      message: expect.stringMatching(/If it does not stop, check its node$/)
    })
  })

  test("contains the result of a mover that ended before its pod", () =>
    expect(JobProgress.read(open, [pod(open, "p", { phase: "Running", state: terminated(0) })])).toEqual({
      _tag: "Running",
      message: "The mover has ended",
      ended: {
        ending: { _tag: "Exited", exitCode: 0, text: undefined, reason: undefined, mover: { image: "", protocol: 1 } },
        at: expect.any(Number)
      }
    }))

  test("is Running after its pod has ended, until the Job ends", () =>
    expect(JobProgress.read(open, [pod(open, "p", { phase: "Succeeded", state: terminated(0) })])).toEqual({
      _tag: "Running",
      message: "The mover has ended"
    }))

  test("is Starting since the last status change, if its pod was deleted", () => {
    const managedFields = [
      { manager: "backup", time: "2026-11-20T02:00:01Z" },
      { manager: "kube-controller-manager", subresource: "status", time: "2026-11-20T03:30:00Z" }
    ]
    const without = { ...open, metadata: { ...open.metadata, managedFields } }
    expect(JobProgress.read(without, [])).toMatchObject({ _tag: "Starting", since: at("2026-11-20T03:30:00Z") })
  })

  test("ignores the pods of other Jobs", () =>
    expect(
      JobProgress.read(open, [pod(job("other"), "p", { phase: "Running", state: { running: {} } })])
    ).toMatchObject({
      message: "Job cart-1 has no pod yet"
    }))
})

describe("The obstacle of a mover that cannot start", () => {
  for (const [reason, obstacle] of [
    ["ErrImagePull", "ImagePullFailed"],
    ["ImagePullBackOff", "ImagePullFailed"],
    ["InvalidImageName", "ImagePullFailed"],
    ["ErrImageNeverPull", "ImagePullFailed"],
    ["ImageInspectError", "ImagePullFailed"],
    ["CreateContainerConfigError", "ContainerConfigError"],
    ["CreateContainerError", "ContainerConfigError"],
    ["RunContainerError", "ContainerConfigError"]
  ] as const) {
    test(reason, () => {
      const progress = JobProgress.read(open, [pod(open, "p", { state: waiting(reason, "the kubelet says why") })])
      expect(progress).toMatchObject({ _tag: "Starting", obstacle: { reason: obstacle } })
      expect("message" in progress && progress.message).toBe(
        obstacle === "ImagePullFailed"
          ? "The image homeostat-mover:0.1.0 cannot be pulled: the kubelet says why"
          : "Pod p cannot start: the kubelet says why"
      )
    })
  }

  test("has the reason of the kubelet if there is no message", () =>
    expect(JobProgress.read(open, [pod(open, "p", { state: waiting("ErrImagePull") })])).toMatchObject({
      message: "The image homeostat-mover:0.1.0 cannot be pulled: ErrImagePull"
    }))

  test("is absent while the container is being created", () =>
    expect(JobProgress.read(open, [pod(open, "p", { state: waiting("ContainerCreating") })])).toMatchObject({
      obstacle: undefined,
      message: "Pod p starts"
    }))

  test("is Unschedulable if the scheduler reports no message", () =>
    expect(
      JobProgress.read(open, [pod(open, "p", { conditions: [{ type: "PodScheduled", status: "False" }] })])
    ).toMatchObject({
      obstacle: { reason: "Unschedulable", image: "homeostat-mover:0.1.0" },
      message: "Pod p cannot start: no node takes it"
    }))

  test("is Unschedulable if no node fits", () =>
    expect(
      JobProgress.read(open, [
        pod(open, "p", {
          conditions: [{ type: "PodScheduled", status: "False", message: "0/3 nodes are available\nfor it" }]
        })
      ])
    ).toMatchObject({
      obstacle: { reason: "Unschedulable" },
      message: "Pod p cannot start: 0/3 nodes are available for it"
    }))

  const late = JobProgress.read(open, [pod(open, "p", { state: waiting("ErrImagePull", "no such image") })])
  const timeout = Duration.minutes(10)
  test("is reported after the start timeout", () => {
    if (late._tag !== "Starting") throw new Error("it does not start")
    expect(JobProgress.isLate(late, timeout, at("2026-11-20T02:10:01Z"))).toBe(false)
    expect(JobProgress.isLate(late, timeout, at("2026-11-20T02:10:02Z"))).toBe(true)
    expect(JobProgress.notStarted(late, timeout)).toEqual({
      _tag: "ImagePullFailed",
      image: "homeostat-mover:0.1.0",
      message: "no such image"
    })
  })
  test("is NotStarted after the start timeout, if there is no known reason", () =>
    expect(
      JobProgress.notStarted({ _tag: "Starting", since: 0, obstacle: undefined, message: "Pod p starts" }, timeout)
    ).toEqual({ _tag: "NotStarted", seconds: 600, message: "Pod p starts" }))
})

describe("The attempts of a Job", () => {
  const first = pod(open, "a", {
    phase: "Failed",
    state: terminated(43, { message: report({ reason: "DestinationUnreachable", message: "connection refused" }) })
  })
  const second = (options: Parameters<typeof pod>[2]) => pod(open, "b", { made: "2026-11-20T02:06:00Z", ...options })

  test("are counted, with the result of the previous attempt", () =>
    expect(JobProgress.read(open, [second({ phase: "Running", state: { running: {} } }), first])).toEqual({
      _tag: "Running",
      message: "The mover runs (try 2 of 3; the one before: connection refused)"
    }))
  test("may start until the longest backoff of the Job controller has passed", () =>
    expect(JobProgress.read(open, [first])).toEqual({
      _tag: "Starting",
      since: at("2026-11-20T02:14:00Z"),
      obstacle: undefined,
      message: "The mover is retried (try 2 of 3; the one before: connection refused)"
    }))
  test("have a start timeout each", () =>
    expect(JobProgress.read(open, [first, second({})])).toMatchObject({
      _tag: "Starting",
      since: at("2026-11-20T02:06:00Z")
    }))
  test("do not include evictions", () =>
    expect(
      JobProgress.read(open, [
        pod(open, "a", { phase: "Failed", state: terminated(143), conditions: disrupted }),
        second({ phase: "Running", state: { running: {} } })
      ])
    ).toEqual({ _tag: "Running", message: "The mover runs" }))

  const storage = [
    "The node was low on resource: ephemeral-storage. Threshold quantity: 10Gi, available: 9Gi.",
    'Container mover exceeded its local ephemeral storage limit "1Gi". ',
    "Pod ephemeral local storage usage exceeds the total limit of containers 1Gi. ",
    'Usage of EmptyDir volume "cache" exceeds the limit "10Gi". '
  ]
  const evicted = (name: string, message: string) => {
    const failed = pod(open, name, { phase: "Failed", state: terminated(137), conditions: disrupted })
    return { ...failed, status: { ...failed.status, reason: "Evicted", message } as never }
  }
  for (const message of storage) {
    test(`end after the second eviction for storage: ${message.trim()}`, () => {
      const pods = [evicted("a", message), evicted("b", message)]
      expect(JobProgress.read(open, pods.slice(1))._tag).toBe("Starting")
      expect(JobProgress.read(open, [...pods, second({})])).toEqual({
        _tag: "Ended",
        ending: { _tag: "Evicted", message, isRepeated: true },
        at: at("2026-11-20T02:04:00Z")
      })
    })
  }
  test("do not end after two evictions for memory", () => {
    const message = "The node was low on resource: memory."
    expect(JobProgress.read(open, [evicted("a", message), evicted("b", message)])._tag).toBe("Starting")
  })
})

describe("The result of a finished Job", () => {
  const end = (of: Parameters<typeof JobProgress.read>[0], pods: Parameters<typeof JobProgress.read>[1]) => {
    const progress = JobProgress.read(of, pods)
    if (progress._tag !== "Ended") throw new Error(`it is ${progress._tag}`)
    return progress
  }

  test("has the exit code, message and time of the container, and the image and protocol of the mover", () => {
    const spec = { containers: [{ name: "mover", image: "registry.test/mover:1", args: ["protocol-2", "preflight"] }] }
    const ofMover = { ...done, spec: { ...done.spec, template: { spec } } }
    expect(end(ofMover, [pod(done, "p", { phase: "Succeeded", state: terminated(0, { message: "{}" }) })])).toEqual({
      _tag: "Ended",
      ending: {
        _tag: "Exited",
        exitCode: 0,
        text: "{}",
        reason: undefined,
        mover: { image: "registry.test/mover:1", protocol: 2 }
      },
      at: at("2026-11-20T02:04:00Z")
    })
  })

  for (const code of [1, 3, 40, 41, 42, 43, 44, 47, 137, 143]) {
    test(`has exit code ${code}`, () =>
      expect(end(failedJob, [pod(failedJob, "p", { phase: "Failed", state: terminated(code) })]).ending).toMatchObject({
        _tag: "Exited",
        exitCode: code
      }))
  }

  test("has the reason of the kubelet, such as OOMKilled", () =>
    expect(
      end(failedJob, [
        pod(failedJob, "p", { phase: "Failed", state: { terminated: { exitCode: 137, reason: "OOMKilled" } } })
      ]).ending
    ).toMatchObject({ exitCode: 137, reason: "OOMKilled" }))

  test("is that of the ended pod, not that of a pod that is still active", () => {
    const open = pod(failedJob, "z", { made: "2026-11-20T02:04:00Z" })
    const last = pod(failedJob, "a", { phase: "Failed", made: "2026-11-20T02:03:00Z", state: terminated(44) })
    expect(end(failedJob, [last, open])).toMatchObject({ ending: { exitCode: 44 }, at: at("2026-11-20T02:04:00Z") })
  })

  test("is not an eviction if DisruptionTarget is False", () => {
    const conditions = [
      { type: "Ready", status: "True" },
      { type: "DisruptionTarget", status: "False" }
    ]
    const failed = pod(failedJob, "p", { phase: "Failed", state: terminated(42), conditions: conditions as never })
    expect(end(failedJob, [failed]).ending).toMatchObject({ _tag: "Exited", exitCode: 42 })
  })

  test("is that of the pod that ended last, not that of the newest pod", () => {
    const early = pod(failedJob, "a", {
      phase: "Failed",
      made: "2026-11-20T02:03:00Z",
      state: terminated(43, { finishedAt: "2026-11-20T02:03:30Z" })
    })
    const last = pod(failedJob, "b", {
      phase: "Failed",
      made: "2026-11-20T02:02:00Z",
      state: terminated(44, { finishedAt: "2026-11-20T02:04:30Z" })
    })
    expect(end(failedJob, [last, early])).toMatchObject({
      ending: { exitCode: 44 },
      at: at("2026-11-20T02:04:30Z")
    })
  })

  test("has the completion time of the Job if its pods are gone", () => {
    const status = { ...done.status, completionTime: "2026-11-20T02:04:40Z" }
    expect(end({ ...done, status }, []).at).toBe(at("2026-11-20T02:04:40Z"))
    expect(end({ ...done, status }, [pod(done, "p", { phase: "Succeeded", state: terminated(0) })]).at).toBe(
      at("2026-11-20T02:04:00Z")
    )
  })

  test("is Lost if its pods are gone", () => {
    expect(end(done, [])).toEqual({
      _tag: "Ended",
      ending: { _tag: "Lost", succeeded: true },
      at: at("2026-11-20T02:05:00Z")
    })
    expect(end(failedJob, [])).toEqual({
      _tag: "Ended",
      ending: { _tag: "Lost", succeeded: false },
      at: at("2026-11-20T02:05:00Z")
    })
  })

  test("is Lost if the remaining pod contradicts the status of the Job", () => {
    expect(end(done, [pod(done, "p", { phase: "Failed", state: terminated(44) })]).ending).toEqual({
      _tag: "Lost",
      succeeded: true
    })
    expect(end(failedJob, [pod(failedJob, "p", { phase: "Succeeded", state: terminated(0) })]).ending).toEqual({
      _tag: "Lost",
      succeeded: false
    })
  })

  test("is DeadlineExceeded, whatever the exit code of the container", () => {
    const late = job("cart-1", { ended: "Failed", reason: "DeadlineExceeded" })
    expect(end(late, [pod(late, "p", { phase: "Failed", state: terminated(143) })]).ending).toEqual({
      _tag: "DeadlineExceeded",
      seconds: 86_400
    })
    expect(end(late, []).at).toBe(at("2026-11-20T02:05:00Z"))
  })

  test("has the message of the kubelet if it evicted or rejected the pod", () => {
    const used = pod(failedJob, "p", { phase: "Failed", state: terminated(137) })
    const message = 'Usage of EmptyDir volume "cache" exceeds the limit "10Gi".'
    const status = { ...used.status, reason: "Evicted", message }
    expect(JobProgress.read(failedJob, [{ ...used, status }])).toMatchObject({ ending: { _tag: "Evicted", message } })
    expect(
      JobProgress.read(failedJob, [{ ...used, status: { phase: "Failed", reason: "OutOfcpu", message: "no cpu" } }])
    ).toMatchObject({
      ending: { _tag: "Evicted", message: "no cpu" }
    })
  })
  test("is Evicted if the last attempt was evicted", () => {
    const evicted = pod(failedJob, "p", {
      phase: "Failed",
      state: terminated(143),
      conditions: disrupted,
      message: "The node was low on resource: memory"
    })
    expect(end(failedJob, [evicted]).ending).toEqual({
      _tag: "Evicted",
      message: "The node was low on resource: memory"
    })
    expect(end(failedJob, [{ ...evicted, status: { ...evicted.status, message: undefined } as never }]).ending).toEqual(
      {
        _tag: "Evicted",
        message: "node drained"
      }
    )
  })

  test("is that of the attempt after an eviction", () =>
    expect(
      end(failedJob, [
        pod(failedJob, "a", {
          phase: "Failed",
          state: terminated(143, { finishedAt: "2026-11-20T02:02:00Z" }),
          conditions: disrupted
        }),
        pod(failedJob, "b", { phase: "Failed", state: terminated(42) })
      ]).ending
    ).toMatchObject({ _tag: "Exited", exitCode: 42 }))

  // The kubelet's reason for a lost container, as on a node that returned.
  const lost = { terminated: { exitCode: 137, reason: "ContainerStatusUnknown", finishedAt: null } }
  test("has the time of the Job if the kubelet lost the container status", () => {
    const progress = end(failedJob, [pod(failedJob, "p", { phase: "Failed", state: lost as never })])
    expect(progress.at).toBe(at("2026-11-20T02:05:00Z"))
    expect(progress.ending).toMatchObject({ _tag: "Exited", exitCode: 137 })
  })
})

test("JobProgress.scheduledAt reads the scheduled time, and ignores invalid ones", () => {
  expect(JobProgress.scheduledAt(job("a", { tick: "2026-11-20T02:00:00Z" }))).toBe(at("2026-11-20T02:00:00Z"))
  expect(JobProgress.scheduledAt(job("a", { tick: "yesterday" }))).toBeUndefined()
  expect(JobProgress.scheduledAt(job("a"))).toBeUndefined()
})

test("JobProgress.remaining reads the claims that are left to later Jobs", () => {
  expect(JobProgress.remaining(job("a", { remaining: "b,c" }))).toEqual(["b", "c"])
  expect(JobProgress.remaining(job("a"))).toEqual([])
})

test("JobProgress.isPodOver is true only in a terminal phase", () => {
  expect(
    ["Pending", "Running", "Unknown", "Succeeded", "Failed"].map((phase) =>
      JobProgress.isPodOver(pod(open, "p", { phase }))
    )
  ).toEqual([false, false, false, true, true])
})
