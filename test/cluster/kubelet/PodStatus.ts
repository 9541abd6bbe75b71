/** Derives the status of a pod from the statuses of its containers, as a kubelet does. */
import { isDeepStrictEqual } from "node:util"
import * as Patch from "@homeostat/runtime/client/Patch"
import type { Pod } from "@homeostat/runtime/resource/BuiltIn"
import type { PodFailure } from "./PodFailure.ts"
import * as RestartPolicy from "./RestartPolicy.ts"

/** The status of a pod. */
export type Status = NonNullable<Pod["status"]>
/** One of `containerStatuses`. */
export type ContainerStatus = NonNullable<Status["containerStatuses"]>[number]
type Condition = NonNullable<Status["conditions"]>[number]

/** The state of a pod from which its status is derived. */
export interface Known {
  readonly pod: Pod
  readonly init: ReadonlyArray<ContainerStatus>
  readonly containers: ReadonlyArray<ContainerStatus>
  /** The IP address of the pod; undefined before its sandbox exists. */
  readonly ip: string | undefined
  readonly hostIp: string
  readonly startTime: string
  /** The reason why the whole pod failed, such as an eviction or its deadline. It overrides the states of the containers. */
  readonly failed: PodFailure | undefined
  readonly now: string
}

/** Returns the status of a container that has not started yet. */
export const waiting = (name: string, image: string, reason: string, message?: string): ContainerStatus => ({
  name,
  image,
  imageID: "",
  ready: false,
  restartCount: 0,
  started: false,
  state: { waiting: { reason, ...(message === undefined ? {} : { message }) } }
})

const succeeded = ({ state }: ContainerStatus): boolean => state?.terminated?.exitCode === 0

const isRunning = ({ state }: ContainerStatus): boolean => state?.running !== undefined

/** Whether the container has never started. */
const isFresh = ({ lastState, state }: ContainerStatus): boolean =>
  state?.waiting !== undefined && lastState?.terminated === undefined

/** The last exit of a container that does not run. */
const ended = ({ lastState, state }: ContainerStatus) =>
  state?.running === undefined ? (state?.terminated ?? lastState?.terminated) : undefined

/** The sidecars among the init containers. */
const sidecarsOf = ({ init, pod }: Known): ReadonlyArray<ContainerStatus> =>
  init.filter(({ name }) => RestartPolicy.isSidecar(pod, name))

const phaseOf = (known: Known): string => {
  const { containers, failed, init, pod } = known
  if (failed !== undefined) return "Failed"
  const sidecars = sidecarsOf(known)
  const initial = init.filter((status) => !sidecars.includes(status))
  const restarts = (status: ContainerStatus): boolean => {
    const container = [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])].find(
      ({ name }) => name === status.name
    )
    return RestartPolicy.restarts(pod, container ?? status, ended(status)?.exitCode ?? 0)
  }
  const initFailed = initial.some((status) => (ended(status)?.exitCode ?? 0) !== 0 && !restarts(status))
  if (initFailed) return sidecars.some(isRunning) ? "Pending" : "Failed"
  if (!initial.every(succeeded)) return "Pending"
  const isStarting = sidecars.some((status) => isFresh(status) || (isRunning(status) && status.started !== true))
  if (isStarting && containers.every(isFresh)) return "Pending"
  const all = [...sidecars, ...containers]
  if (all.some(isFresh)) return "Pending"
  if (all.some(isRunning) || containers.some(restarts)) return "Running"
  return containers.every(succeeded) ? "Succeeded" : "Failed"
}

const namesOf = (all: ReadonlyArray<ContainerStatus>): string => all.map(({ name }) => name).join(" ")

const unready = (all: ReadonlyArray<ContainerStatus>): string =>
  `containers with unready status: [${namesOf(all.filter(({ ready }) => !ready))}]`

/** The conditions that a kubelet sets. A condition that did not change keeps its transition time. */
const conditionsOf = (known: Known, phase: string): ReadonlyArray<Condition> => {
  const { containers, failed, init, ip, now, pod } = known
  const before = pod.status?.conditions ?? []
  const observedGeneration = pod.metadata.generation
  const condition = (type: string, is: boolean, reason?: string, message?: string): Condition => {
    const status = is ? "True" : "False"
    const old = before.find((one) => one.type === type)
    return {
      type,
      status,
      ...(observedGeneration === undefined ? {} : { observedGeneration }),
      ...(reason === undefined ? {} : { reason }),
      ...(message === undefined ? {} : { message }),
      lastTransitionTime: old?.status === status && old.lastTransitionTime !== undefined ? old.lastTransitionTime : now
    }
  }
  const sidecars = sidecarsOf(known)
  const incomplete = init.filter((status) => (sidecars.includes(status) ? status.started !== true : !succeeded(status)))
  const initialized = incomplete.length === 0 || !containers.every(isFresh)
  const counted = [...sidecars, ...containers]
  const ready = phase === "Running" && counted.every((container) => container.ready)
  const over = phase === "Succeeded" ? "PodCompleted" : phase === "Failed" ? "PodFailed" : undefined
  const readiness = (type: string): Condition =>
    ready
      ? condition(type, true)
      : over === undefined
        ? condition(type, false, "ContainersNotReady", unready(counted))
        : condition(type, false, over)
  return [
    condition("PodReadyToStartContainers", ip !== undefined && over === undefined),
    initialized
      ? condition("Initialized", true, over === "PodCompleted" ? over : undefined)
      : condition(
          "Initialized",
          false,
          "ContainersNotInitialized",
          `containers with incomplete status: [${namesOf(incomplete)}]`
        ),
    readiness("Ready"),
    readiness("ContainersReady"),
    ...(failed?.disruption === true
      ? [condition("DisruptionTarget", true, "TerminationByKubelet", failed.message)]
      : [])
  ]
}

/** Returns the status to write, without the conditions of other writers. */
export const of = (known: Known): Status => {
  const { containers, failed, hostIp, init, ip, pod, startTime } = known
  const phase = phaseOf(known)
  return {
    phase,
    ...(pod.metadata.generation === undefined ? {} : { observedGeneration: pod.metadata.generation }),
    ...(failed === undefined ? {} : { reason: failed.reason, message: failed.message }),
    conditions: conditionsOf(known, phase),
    hostIP: hostIp,
    hostIPs: [{ ip: hostIp }],
    ...(ip === undefined ? {} : { podIP: ip, podIPs: [{ ip }] }),
    startTime,
    ...(init.length === 0 ? {} : { initContainerStatuses: init }),
    containerStatuses: containers,
    ...(pod.status?.qosClass === undefined ? {} : { qosClass: pod.status.qosClass })
  }
}

/**
 * Returns the patch that writes a status to the pod with this uid. The patch merges conditions by type, as a real kubelet does. The
 * eviction API may have added a condition that this kubelet has not seen yet.
 */
export const patch = (uid: string, { conditions = [], ...status }: Status): Patch.Patch =>
  Patch.strategic({
    metadata: { uid },
    status: {
      ...status,
      "$setElementOrder/conditions": conditions.map(({ type }) => ({ type })),
      // A merge keeps the old reason and message unless the patch removes them.
      conditions: conditions.map((condition) => ({ reason: null, message: null, ...condition }))
    }
  })

/** Whether two states of a pod have the same status, apart from the fields of other writers. */
export const isSame = (one: Pod, other: Pod): boolean => isDeepStrictEqual(ownOf(one), ownOf(other))

const ownOf = ({ status }: Pod) => [
  status?.phase,
  status?.podIP,
  status?.startTime,
  status?.initContainerStatuses,
  status?.containerStatuses
]

/** Whether a pod of this phase has ended. */
export const isOver = (phase: string | undefined): boolean => phase === "Succeeded" || phase === "Failed"

/** Returns the statuses of all containers. */
export const statuses = (status: Status | undefined): ReadonlyArray<ContainerStatus> => [
  ...(status?.initContainerStatuses ?? []),
  ...(status?.containerStatuses ?? [])
]

/** Returns the state of a container; undefined if its status does not exist yet. */
export const stateOf = (status: Status | undefined, name: string): ContainerStatus["state"] =>
  statuses(status).find((one) => one.name === name)?.state

/** Returns the last exit of a container that has exited, or that waits in CrashLoopBackOff. */
export const endOf = (status: ContainerStatus | undefined) =>
  status?.state?.waiting?.reason === "CrashLoopBackOff" ? status.lastState?.terminated : status?.state?.terminated
