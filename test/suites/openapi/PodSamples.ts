/** Pods in the states that their columns distinguish. */
import type { JsonObject } from "@homeostat/apiserver/model/Json"
import { ago, container, of, type Sample, spec } from "./Sample.ts"

const pod = of("v1", "pods")
const running = { running: { startedAt: ago(500) } }
const statusOf = (name: string, more: JsonObject): JsonObject => ({
  name,
  image: "main",
  imageID: "",
  ready: false,
  restartCount: 0,
  ...more
})
const terminated = (more: JsonObject): JsonObject => ({ terminated: { exitCode: 0, ...more } })
const isReady = { type: "Ready", status: "True" }

const inPhase = (name: string, phase: string, ...containerStatuses: ReadonlyArray<JsonObject>): Sample =>
  pod(name, { spec }, { phase, containerStatuses })

export const pods: ReadonlyArray<Sample> = [
  pod("pod-new", { spec }),
  pod(
    "pod-running",
    { spec: { ...spec, nodeName: "node-1" } },
    {
      phase: "Running",
      podIP: "10.0.0.1",
      podIPs: [{ ip: "10.0.0.1" }],
      conditions: [isReady],
      containerStatuses: [
        statusOf("main", {
          ready: true,
          state: running,
          restartCount: 3,
          lastState: terminated({ exitCode: 1, finishedAt: ago(4000) })
        }),
        statusOf("side", { state: { waiting: { reason: "CrashLoopBackOff" } }, restartCount: 2 })
      ]
    }
  ),
  inPhase("pod-restarted", "Running", statusOf("main", { ready: true, state: running, restartCount: 2 })),
  pod(
    "pod-half",
    { spec },
    {
      phase: "Running",
      conditions: [isReady],
      containerStatuses: [
        statusOf("main", { ready: true, state: running }),
        statusOf("side", { state: terminated({ reason: "Completed" }) })
      ]
    }
  ),
  inPhase(
    "pod-not-ready",
    "Running",
    statusOf("main", { state: terminated({ reason: "Completed" }) }),
    statusOf("side", { ready: true, state: running })
  ),
  inPhase(
    "pod-half-failed",
    "Failed",
    statusOf("main", { state: terminated({ reason: "Completed" }) }),
    statusOf("side", { state: terminated({ exitCode: 3, reason: "Error" }) })
  ),
  inPhase("pod-exit", "Failed", statusOf("main", { state: terminated({ exitCode: 3 }) })),
  inPhase("pod-signal", "Failed", statusOf("main", { state: terminated({ exitCode: 137, signal: 9 }) })),
  inPhase("pod-done", "Succeeded", statusOf("main", { state: terminated({ reason: "Completed" }) })),
  pod("pod-evicted", { spec }, { phase: "Failed", reason: "Evicted" }),
  pod("pod-gated", { spec: { ...spec, schedulingGates: [{ name: "example.com/gate" }] } }),
  pod(
    "pod-readiness",
    { spec: { ...spec, readinessGates: [{ conditionType: "example.com/a" }, { conditionType: "example.com/b" }] } },
    { nominatedNodeName: "node-2", conditions: [{ type: "example.com/b", status: "True" }] }
  ),
  ...[
    { state: { waiting: { reason: "ErrImagePull" } } },
    { state: { waiting: { reason: "PodInitializing" } } },
    { state: running },
    { state: terminated({ exitCode: 2 }) },
    { state: terminated({ exitCode: 2, signal: 15 }) },
    {
      state: terminated({ exitCode: 2, reason: "Error" }),
      restartCount: 4,
      lastState: terminated({ finishedAt: ago(90) })
    }
  ].map((state, index) =>
    pod(
      `pod-init-${index}`,
      {
        spec: {
          ...spec,
          initContainers: [
            { ...container, name: "first" },
            { ...container, name: "second" }
          ]
        }
      },
      {
        phase: "Pending",
        initContainerStatuses: [
          statusOf("first", { state: terminated({}), restartCount: 1 }),
          statusOf("second", state)
        ]
      }
    )
  ),
  pod(
    "pod-sidecar",
    { spec: { ...spec, initContainers: [{ ...container, name: "proxy", restartPolicy: "Always" }] } },
    {
      phase: "Running",
      initContainerStatuses: [
        statusOf("proxy", {
          ready: true,
          started: true,
          state: running,
          restartCount: 5,
          lastState: terminated({ finishedAt: ago(9000) })
        })
      ],
      containerStatuses: [statusOf("main", { ready: true, state: running, restartCount: 1 })]
    }
  ),
  pod(
    "pod-sidecar-broken",
    { spec: { ...spec, initContainers: [{ ...container, name: "proxy", restartPolicy: "Always" }] } },
    {
      phase: "Running",
      conditions: [{ type: "Initialized", status: "True" }],
      initContainerStatuses: [statusOf("proxy", { started: false, state: { waiting: { reason: "Lost" } } })],
      containerStatuses: [statusOf("main", { ready: true, state: running })]
    }
  ),
  pod("pod-ending", { metadata: { finalizers: ["example.com/keep"] }, spec }, { phase: "Running" })
]
