/** Simulated movers: a test reads them from their pods and decides how they end. */
import * as Protocol from "@homeostat/backup/mover/Protocol"
import type { Pod } from "@homeostat/runtime/resource/BuiltIn"
import type * as SimulatedPods from "@homeostat/testkit/kubelet/SimulatedPods"
import type { Duration } from "effect"

/** A simulated mover, read from its pod. */
export interface PretendedMover {
  readonly pod: Pod
  readonly job: string
  /** `namespace/name` of the Backup. */
  readonly tag: string
  /** Without the protocol. */
  readonly operations: ReadonlyArray<string>
  /** The names of the claims that the mover reads or writes, from the pod's mount paths below `/data`. */
  readonly claims: ReadonlyArray<string>
  readonly env: { readonly [name: string]: string }
}

/** Plans each mover. For undefined, the mover saves all volumes within a minute. */
export type Movers = (mover: PretendedMover) => SimulatedPods.PodPlan | undefined

/** The id of the simulated repository. */
export const repository = "5e".repeat(32)

/** The id of each simulated snapshot. */
export const snapshot = "ab".repeat(32)

/** Reads a mover from its pod. Returns undefined for any other pod. */
export const read = (pod: Pod): PretendedMover | undefined => {
  const container = pod.spec?.containers.find(({ name }) => name === "mover")
  if (container === undefined) return undefined
  const env = Object.fromEntries((container.env ?? []).map(({ name, value }) => [name, value ?? ""]))
  return {
    pod,
    job: pod.metadata.labels?.["job-name"] ?? "",
    tag: env.BACKUP_TAG ?? "",
    operations: (container.args ?? []).filter((word) => word !== Protocol.operation),
    claims: (container.volumeMounts ?? []).flatMap(({ mountPath }) =>
      mountPath.startsWith("/data/") ? [mountPath.slice("/data/".length)] : []
    ),
    env
  }
}

/** The JSON object of the mover's termination message. */
export interface Result {
  readonly reason: string
  readonly message: string
  readonly [field: string]: unknown
}

/** The mover ends by itself with this exit code and result. */
export const ends = (exitCode: number, result: Result, after: Duration.Input = "1 minute"): SimulatedPods.Plan => ({
  ends: { after, exitCode, message: JSON.stringify({ ...result, protocol: Protocol.number }) },
  stopped: stopped("2 seconds")
})

/** The mover receives SIGTERM, removes its lock, and ends after this time with exit code 143. */
export const stopped = (after: Duration.Input): SimulatedPods.End => ({
  after,
  exitCode: 143,
  message: JSON.stringify({ reason: "Terminated", protocol: Protocol.number, message: "ended by a signal" })
})

/** The entries of a mover's volumes in its result. */
export const saved = ({ claims }: PretendedMover) =>
  claims.map((pvc) => ({ pvc, id: snapshot, bytes: 1000, added: 10, files: 2 }))

/** The mover completes all its operations and ends with exit code 0. */
export const succeeds = (mover: PretendedMover, after: Duration.Input = "1 minute"): SimulatedPods.Plan => {
  const does = (operation: string): boolean => mover.operations.includes(operation)
  return ends(
    0,
    {
      reason: "Succeeded",
      message: "",
      repository,
      ...(does("backup") && { snapshots: saved(mover) }),
      ...(does("forget") && { removed: 1, kept: 3 }),
      ...(does("delete") && { removed: 3, kept: 0 }),
      ...(does("restore") && { restored: { snapshot, bytes: 1000, files: 2 } }),
      pruned: does("prune"),
      checked: does("check"),
      unlocked: does("unlock-all")
    },
    after
  )
}
