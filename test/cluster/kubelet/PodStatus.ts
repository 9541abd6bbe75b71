/**
 * The status of a pod, derived from those of its containers, as the kubelet does it.
 */
import * as Patch from "@homeostat/runtime/client/Patch"
import type { Pod } from "@homeostat/runtime/resource/BuiltIn"

/** The status of a pod, and of a container in it. */
export type Status = NonNullable<Pod["status"]>
/** One of `containerStatuses`. */
export type ContainerStatus = NonNullable<Status["containerStatuses"]>[number]
type Condition = NonNullable<Status["conditions"]>[number]

/** What the kubelet knows of a pod. */
export interface Known {
  readonly pod: Pod
  readonly init: ReadonlyArray<ContainerStatus>
  readonly containers: ReadonlyArray<ContainerStatus>
  /** The sandbox is there: there is an address. */
  readonly ip: string | undefined
  readonly hostIp: string
  readonly startTime: string
  /** Why the whole pod failed, whatever its containers say: eviction, deadline. */
  readonly failed: { readonly reason: string; readonly message: string; readonly disruption: boolean } | undefined
  readonly now: string
}

/** A container of which nothing has been heard yet. */
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

const phaseOf = ({ containers, failed, init, pod }: Known): string => {
  if (failed !== undefined) return "Failed"
  const policy = pod.spec?.restartPolicy ?? "Always"
  const initFailed = init.some(({ state }) => state?.terminated !== undefined && state.terminated.exitCode !== 0)
  if (initFailed && policy === "Never") return "Failed"
  if (!init.every(succeeded)) return "Pending"
  const restarts = (status: ContainerStatus): boolean =>
    policy === "Always" || (policy === "OnFailure" && !succeeded(status))
  if (containers.every(({ state }) => state?.terminated !== undefined)) {
    if (containers.every((status) => !restarts(status))) return containers.every(succeeded) ? "Succeeded" : "Failed"
    return "Running"
  }
  const fresh = containers.some(
    ({ lastState, state }) => state?.waiting !== undefined && lastState?.terminated === undefined
  )
  return fresh ? "Pending" : "Running"
}

const unready = (all: ReadonlyArray<ContainerStatus>): string =>
  `containers with unready status: [${all
    .filter(({ ready }) => !ready)
    .map(({ name }) => name)
    .join(" ")}]`

/** The conditions that a kubelet sets; a condition that did not change keeps its time. */
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
  const initialized = init.every(succeeded)
  const ready = phase === "Running" && containers.every((container) => container.ready)
  const over = phase === "Succeeded" ? "PodCompleted" : phase === "Failed" ? "PodFailed" : undefined
  const readiness = (type: string): Condition =>
    ready
      ? condition(type, true)
      : over === undefined
        ? condition(type, false, "ContainersNotReady", unready(containers))
        : condition(type, false, over)
  return [
    condition("PodReadyToStartContainers", ip !== undefined && over === undefined),
    initialized
      ? condition("Initialized", true, over === "PodCompleted" ? over : undefined)
      : condition("Initialized", false, "ContainersNotInitialized", unready(init).replace("unready", "incomplete")),
    readiness("Ready"),
    readiness("ContainersReady"),
    ...(failed?.disruption === true
      ? [condition("DisruptionTarget", true, "TerminationByKubelet", failed.message)]
      : [])
  ]
}

/** The status to be written, without the conditions of other writers. */
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
 * The patch that writes a status to the pod with this uid. It merges conditions by their type, as the patch of a real kubelet
 * does: the eviction API may have added a condition that this kubelet has not seen yet.
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

/** Whether nothing will happen to a pod of this phase any more. */
export const isOver = (phase: string | undefined): boolean => phase === "Succeeded" || phase === "Failed"

/** What a container is doing, if anything was told of it. */
export const stateOf = (status: Status | undefined, name: string): ContainerStatus["state"] =>
  [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].find((one) => one.name === name)
    ?.state
