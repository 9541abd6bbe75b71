/**
 * The summary of a Backup's status at the end of a reconcile: phase, message and conditions, by kstatus. It follows from the steps in
 * `RunStatus.ts` and other facts. Pure.
 */
import * as Condition from "@homeostat/runtime/resource/Condition"
import * as Time from "@homeostat/runtime/resource/Time"
import type { Backup, BackupStatus } from "../kinds/Backup.ts"
import * as Maintenance from "./Maintenance.ts"
import {
  canRun,
  type Draft,
  type EventDraft,
  type Finding,
  keepsEverything,
  lastRunSucceeded,
  repositoryHealthy,
  retentionApplied,
  troubleIn,
  volumesIntact
} from "./RunStatus.ts"
import type { Refusal, Understood } from "./Spec.ts"
import { cut, longestCondition, longestMessage } from "./Text.ts"

/** The facts besides the steps. */
export interface Facts {
  readonly understood: Understood | undefined
  /** Why no run can start: an invalid spec, which only its author can fix, or a missing object. */
  readonly obstacle: (Refusal & { readonly final: boolean }) | undefined
  /** The progress of the active run. */
  readonly course: string | undefined
  /** Why a due run has to wait for its turn. */
  readonly waiting: string | undefined
  /** The maintenance that is due, and why it waits; undefined if none waits for long. */
  readonly upkeep?: { readonly operations: ReadonlyArray<Maintenance.Operation>; readonly reason: string } | undefined
  /** Other Backups with the same repository. Undefined: unknown, and the previous value stays. */
  readonly sharing: ReadonlyArray<string> | undefined
  /** The next tick. Epoch milliseconds. */
  readonly next: number | undefined
  readonly now: number
}

/** The status to write, with the Events of its transitions. */
export const of = (backup: Backup, { events: drafted, status }: Draft, facts: Facts): Draft => {
  const { next, now, obstacle, understood } = facts
  const observedGeneration = backup.metadata.generation ?? 0
  const sharedWith = facts.sharing ?? status.sharedWith ?? []
  const found = readiness(backup, facts, sharedWith)
  const before = Condition.find(backup.status?.conditions, Condition.Ready)
  const others: ReadonlyArray<Finding> = [
    ...(obstacle?.final === true
      ? [{ type: Condition.Stalled, status: "True", reason: obstacle.reason, message: obstacle.message } as const]
      : []),
    Condition.find(status.conditions, lastRunSucceeded) ?? {
      type: lastRunSucceeded,
      status: "Unknown",
      reason: "NeverRun",
      message: "No run has ended yet"
    },
    Condition.find(status.conditions, volumesIntact) ?? {
      type: volumesIntact,
      status: "Unknown",
      // A manager of 0.1.0 did not look for lost files.
      ...(status.lastRun === undefined
        ? { reason: "NeverRun", message: "No run has ended yet" }
        : { reason: "NotChecked", message: "The next run checks the volumes" })
    },
    retention(status, understood),
    Condition.find(status.conditions, repositoryHealthy) ?? {
      type: repositoryHealthy,
      status: "Unknown",
      reason: "NeverOpened",
      message: "No run has opened the repository yet"
    }
  ].map((finding) => withUpkeep(finding, facts))
  const trouble = found.status === "True" && !backup.spec.suspend ? troubleIn(others) : undefined
  const { message, reason, status: state } = trouble ?? found
  const ready: Finding = { type: Condition.Ready, status: state, reason, message: cut(message, longestCondition) }
  const findings: ReadonlyArray<Finding> = [ready, ...others]
  const drafts = findings.map(
    ({ message, reason, status, type }): Condition.Draft => ({
      type,
      status,
      reason,
      message: cut(message, longestCondition),
      observedGeneration
    })
  )
  const ours = new Set(drafts.map(({ type }) => type))
  const warnings = understood?.warnings ?? []
  const events: Array<EventDraft> = []
  if (obstacle !== undefined && !(before?.reason === obstacle.reason && before.message === ready.message)) {
    events.push({ type: "Warning", reason: obstacle.reason, note: obstacle.message })
  }
  // A success after a failed run changes nothing about the schedule.
  if (found.status === "True" && !canRun(backup.status?.conditions)) {
    events.push({ type: "Normal", reason: "BackupScheduled", note: cut(found.message, longestCondition) })
  }
  for (const warning of warnings) {
    if (backup.status?.warnings?.includes(cut(warning, longestMessage)) !== true)
      events.push({ type: "Warning", reason: "RetentionUnusual", note: warning })
  }
  const lasting: BackupStatus = {
    ...omit(status, ["maintenance", "nextBackupTime", "effectiveSchedule", "sharedWith", "warnings", "conditions"]),
    observedGeneration,
    phase: phaseOf(status, obstacle),
    message: cut(messageOf(status, found, facts), longestMessage),
    ...maintenanceOf(status, facts),
    ...(next !== undefined && { nextBackupTime: Time.seconds(next) }),
    ...(understood?.table !== undefined && { effectiveSchedule: understood.table.effective }),
    ...(understood !== undefined && { repositoryHash: understood.repository.hash }),
    ...(sharedWith.length > 0 && { sharedWith: sharedWith.slice(0, mostShared) }),
    ...(warnings.length > 0 && { warnings: warnings.map((warning) => cut(warning, longestMessage)) }),
    conditions: Condition.set(
      backup.status?.conditions?.filter(({ type }) => ours.has(type)),
      drafts,
      Time.seconds(now)
    )
  }
  return { status: lasting, events: [...events, ...drafted] }
}

/** The text that {@link withUpkeep} adds to a message. A later status still has it. */
const added = / The maintenance waits: .*$/s

/** The condition that a waiting maintenance would change says so too. `why` prints it. */
const withUpkeep = (finding: Finding, { upkeep }: Facts): Finding => {
  if (finding.type !== retentionApplied && finding.type !== repositoryHealthy) return finding
  const message = finding.message.replace(added, "")
  const type = upkeep?.operations.every((operation) => operation === "check") ? repositoryHealthy : retentionApplied
  return upkeep === undefined || finding.type !== type
    ? { ...finding, message }
    : { ...finding, message: `${message.replace(/\.?$/, ".")} The maintenance waits: ${upkeep.reason}` }
}

/** The maintenance in the status, with the reason why it waits. */
const maintenanceOf = ({ maintenance }: BackupStatus, { upkeep }: Facts): Pick<BackupStatus, "maintenance"> => {
  const known = maintenance && omit(maintenance, ["waiting"])
  if (upkeep !== undefined) return { maintenance: { ...known, waiting: cut(upkeep.reason, longestMessage) } }
  return known === undefined || Object.keys(known).length === 0 ? {} : { maintenance: known }
}

/** The status names at most so many other Backups. */
const mostShared = 100

const omit = <A extends object, const K extends keyof A>(object: A, fields: ReadonlyArray<K>): Omit<A, K> => {
  const copy = { ...object }
  for (const field of fields) delete copy[field]
  return copy
}

const readiness = (backup: Backup, { obstacle, understood }: Facts, sharedWith: ReadonlyArray<string>): Finding => {
  const type = Condition.Ready
  if (obstacle !== undefined) return { type, status: "False", reason: obstacle.reason, message: obstacle.message }
  const shared =
    sharedWith.length === 0 ? "" : ` The repository is shared with ${sharedWith.join(", ")}: they take turns.`
  if (backup.spec.suspend) {
    return { type, status: "True", reason: "Suspended", message: `Scheduled runs are suspended.${shared}` }
  }
  if (understood?.table === undefined) {
    return {
      type,
      status: "True",
      reason: "Unscheduled",
      message: `${backup.spec.startPolicy === "Immediately" ? "It runs once, because it has no schedule" : "It runs on the annotation backup.example.com/run, because it has no schedule"}.${shared}`
    }
  }
  const zone = backup.spec.timeZone ?? "UTC"
  return {
    type,
    status: "True",
    reason: "Scheduled",
    message: `Scheduled: ${understood.table.effective} (${zone}).${shared}`
  }
}

const retention = (status: BackupStatus, understood: Understood | undefined): Finding => {
  const before = Condition.find(status.conditions, retentionApplied)
  if (understood === undefined) {
    return (
      before ?? {
        type: retentionApplied,
        status: "Unknown",
        reason: "NotUnderstood",
        message: "The spec is invalid"
      }
    )
  }
  if (understood.keep.length === 0) {
    return {
      type: retentionApplied,
      status: "True",
      reason: keepsEverything,
      message: "Every snapshot is kept, because neither retentionPolicy nor retention is set"
    }
  }
  if (status.retentionHold !== undefined) {
    return {
      type: retentionApplied,
      status: "False",
      reason: "RetentionHeld",
      message: `${Maintenance.holdMessage(status.retentionHold)}.`
    }
  }
  if (
    before === undefined ||
    before.status === "Unknown" ||
    before.reason === keepsEverything ||
    before.reason === "RetentionHeld"
  ) {
    return {
      type: retentionApplied,
      status: "Unknown",
      reason: "NotYetApplied",
      message: "Old snapshots are deleted after a successful run."
    }
  }
  return { ...before, message: before.message.replace(/\.?$/, ".") }
}

const phaseOf = (status: BackupStatus, obstacle: Facts["obstacle"]): NonNullable<BackupStatus["phase"]> => {
  if (status.active !== undefined) return "Running"
  if (obstacle?.final === true) return "Failed"
  if (status.lastRun === undefined) return "Pending"
  return Condition.find(status.conditions, lastRunSucceeded)?.status === "True" ? "Completed" : "Failed"
}

const messageOf = (status: BackupStatus, ready: Finding, { course, obstacle, waiting }: Facts): string => {
  if (status.active !== undefined) return course ?? waiting ?? `Job ${status.active.job} started`
  if (obstacle !== undefined) return obstacle.message
  if (waiting !== undefined) return waiting
  return status.lastRun?.message ?? ready.message ?? ""
}
