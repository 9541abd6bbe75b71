/** Movers that are only pretended: what a test reads from their pods, and how it says what they come to. */
import type { Pod } from "@homeostat/runtime/resource/BuiltIn"
import type * as SimulatedPods from "@homeostat/testkit/kubelet/SimulatedPods"
import type { Duration } from "effect"

/** A mover, as its pod tells. */
export interface PretendedMover {
  readonly pod: Pod
  readonly job: string
  /** `namespace/name` of the Backup. */
  readonly tag: string
  readonly operations: ReadonlyArray<string>
  /** What it reads or writes, by the paths in it. */
  readonly claims: ReadonlyArray<string>
  readonly env: { readonly [name: string]: string }
}

/** What each mover does; undefined: it saves all, within a minute. */
export type Movers = (mover: PretendedMover) => SimulatedPods.Plan | undefined

/** restic's id of the repository. */
export const repository = "5e".repeat(32)

/** The id of a snapshot. */
export const snapshot = "ab".repeat(32)

/** What a pod tells of its mover; undefined of any other pod. */
export const read = (pod: Pod): PretendedMover | undefined => {
  const container = pod.spec?.containers.find(({ name }) => name === "mover")
  if (container === undefined) return undefined
  const env = Object.fromEntries((container.env ?? []).map(({ name, value }) => [name, value ?? ""]))
  return {
    pod,
    job: pod.metadata.labels?.["job-name"] ?? "",
    tag: env.BACKUP_TAG ?? "",
    operations: container.args ?? [],
    claims: (container.volumeMounts ?? []).flatMap(({ mountPath }) =>
      mountPath.startsWith("/data/") ? [mountPath.slice("/data/".length)] : []
    ),
    env
  }
}

/** The object that the mover leaves as its last word. */
export interface Result {
  readonly reason: string
  readonly message: string
  readonly [field: string]: unknown
}

/** It ends by itself. */
export const ends = (
  exitCode: number,
  result: Result,
  after: Duration.DurationInput = "1 minute"
): SimulatedPods.Plan => ({
  ends: { after, exitCode, message: JSON.stringify(result) },
  stopped: stopped("2 seconds")
})

/** It is told to end, gives its lock back, and has gone so much later. */
export const stopped = (after: Duration.DurationInput): SimulatedPods.End => ({
  after,
  exitCode: 143,
  message: JSON.stringify({ reason: "Terminated", message: "ended by a signal" })
})

/** What it says of its volumes. */
export const saved = ({ claims }: PretendedMover) =>
  claims.map((pvc) => ({ pvc, id: snapshot, bytes: 1000, added: 10, files: 2 }))

/** It does all that it was asked for. */
export const succeeds = (mover: PretendedMover, after: Duration.DurationInput = "1 minute"): SimulatedPods.Plan => {
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
