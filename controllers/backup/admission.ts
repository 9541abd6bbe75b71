/**
 * The admission rules of Backups and Restores: what the API server denies, what it warns of, and what it sets at a write.
 *
 * The controllers report the same errors in the status, in the same words. So a manager that does not answer blocks no write.
 * The API server itself protects {@link Names.requestedByAnnotation}.
 */
import * as Admission from "@homeostat/runtime/webhook/Admission"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { Backup } from "./kinds/Backup.ts"
import * as Names from "./kinds/Names.ts"
import { Restore } from "./kinds/Restore.ts"
import * as Loss from "./repository/Loss.ts"
import * as Retention from "./repository/Retention.ts"
import * as Policy from "./run/Policy.ts"
import * as Spec from "./run/Spec.ts"
import * as Text from "./run/Text.ts"
import { Settings, type Values } from "./Settings.ts"

type Findings = ReadonlyArray<Admission.Finding>

/** The messages of the controller have the form `invalid schedule: "61 * * * *" (what is accepted)`. The value is without secrets. */
const invalid = /^(?:invalid|unknown) (\w+): ("(?:[^"\\]|\\.)*") \((.*)\)$/s
const notAllowed = /^(spec\.\S+) is not allowed: .* \((.*)\)$/s

/** An error of the controller in kubectl's words: `spec.schedule: Invalid value: "61 * * * *": what is accepted`. */
const denied = (message: string): Admission.Finding => {
  const [, field, value = "", accepted = ""] = invalid.exec(message) ?? []
  if (field !== undefined) return Admission.invalid(`spec.${field}`, JSON.parse(value), accepted)
  const [, path, reason = ""] = notAllowed.exec(message) ?? []
  return path === undefined ? Admission.forbidden(message) : Admission.forbidden(reason, path)
}

/** The errors of a Backup that only a new spec or other settings of the manager can fix, as the controller reports them. */
const errorsOf = (backup: Backup, settings: Values): ReadonlyArray<string> => {
  const limit = Policy.refusal(backup.spec, settings)
  return [...Spec.refusals(backup, settings).map(({ message }) => message), ...(limit === undefined ? [] : [limit])]
}

/** The warnings about a valid Backup. */
const warningsOf = (backup: Backup, settings: Values): ReadonlyArray<string> => {
  const { schedule, startPolicy } = backup.spec
  return [
    ...Result.match(Spec.parse(backup, settings), { onFailure: () => [], onSuccess: ({ warnings }) => warnings }),
    ...(schedule === undefined && startPolicy === "OnSchedule"
      ? [
          `startPolicy OnSchedule without schedule: the Backup runs only when its annotation ${Names.runAnnotation} changes`
        ]
      : [])
  ]
}

/**
 * Checks a Backup. An error or a warning that the old object has too is not new: the error becomes a warning, and the warning is not
 * repeated, so that an old Backup can still be changed.
 *
 * @param old the stored Backup, before an update
 */
export const ofBackup = (backup: Backup, old: Backup | undefined, settings: Values): Findings => {
  const before = new Set(old === undefined ? [] : [...errorsOf(old, settings), ...warningsOf(old, settings)])
  return [
    ...errorsOf(backup, settings).map((message) =>
      before.has(message) ? Admission.warning(message) : denied(message)
    ),
    ...warningsOf(backup, settings)
      .filter((message) => !before.has(message))
      .map(Admission.warning),
    ...(old === undefined ? [] : shortened(backup, old, settings).map(Admission.warning))
  ]
}

const counts = ["keepLast", "keepHourly", "keepDaily", "keepWeekly", "keepMonthly", "keepYearly"] as const

/** The retention of a Backup; undefined if it is invalid. */
const keepOf = ({ spec }: Backup): Loss.Keep | undefined =>
  Result.match(Retention.parse(spec.retentionPolicy ?? ""), {
    onFailure: () => undefined,
    onSuccess: (policy) => ({ policy, counts: spec.retention })
  })

/** The changed fields of the retention: `retentionPolicy 7d (before: 30d)`. */
const changes = (now: Backup, old: Backup): ReadonlyArray<string> =>
  [
    ["retentionPolicy", now.spec.retentionPolicy || "none", old.spec.retentionPolicy || "none"],
    ...counts.map((field) => [
      `retention.${field}`,
      `${now.spec.retention?.[field] ?? "none"}`,
      `${old.spec.retention?.[field] ?? "none"}`
    ])
  ].flatMap(([field, to, from]) => (to === from ? [] : [`${field} ${to} (before: ${from})`]))

const hour = 3_600_000
const day = 24 * hour

/** Whole days, or hours below two days. */
const age = (millis: number): string => {
  const [size, unit] = millis < 2 * day ? [hour, "hour"] : [day, "day"]
  return Text.counted(Math.round(millis / size), unit)
}

/** Warnings about the snapshots that a shorter retention deletes. None before the first successful run, because no snapshot is known. */
const shortened = (backup: Backup, old: Backup, settings: Values): ReadonlyArray<string> => {
  const changed = changes(backup, old)
  const newest = Text.millis(old.status?.lastBackupTime)
  const [was, now] = [keepOf(old), keepOf(backup)]
  if (changed.length === 0 || newest === undefined || was === undefined || now === undefined) return []
  const what = changed.join(", ")
  const when = "the maintenance after the next successful run deletes"
  const table = Result.match(Spec.parse(old, settings), { onFailure: () => undefined, onSuccess: ({ table }) => table })
  const created = Date.parse(old.metadata.creationTimestamp)
  // Earlier snapshots are deleted already, unless a number keeps them.
  const from =
    was.policy === undefined || was.counts !== undefined ? created : Math.max(created, newest - was.policy.hours * hour)
  const snapshots = table && Loss.times(table, from, newest)
  if (snapshots === undefined) {
    const hours = now.policy?.hours
    return hours !== undefined && hours < (was.policy?.hours ?? Number.POSITIVE_INFINITY)
      ? [`${what}: ${when} snapshots that are more than ${Retention.inWords(hours * 3600)} older than the newest one`]
      : []
  }
  const { before, deleted, span } = Loss.between(snapshots, was, now)
  if (deleted === 0) return []
  const held = deleted > before - deleted ? `. It first waits for the annotation ${Names.retentionAnnotation}` : ""
  return [
    `${what}: ${when} about ${deleted} of ${Text.counted(before, "snapshot")} of each volume, and leaves ${age(span.after)} of ${age(span.before)}${held}`
  ]
}

/** Warns of a deletion that deletes the snapshots too. */
export const ofDeletion = ({ metadata, spec, status }: Backup): Findings => {
  const skipped = metadata.annotations?.[Names.skipCleanupAnnotation] === "true"
  if (spec.deletionPolicy !== "Delete" || skipped || metadata.deletionTimestamp !== undefined) return []
  const { deletionGracePeriod } = spec
  const snapshots =
    status?.snapshots === undefined ? "its snapshots" : `its ${Text.counted(status.snapshots, "snapshot")}`
  const when = deletionGracePeriod === undefined ? "" : ` ${deletionGracePeriod} later`
  return [
    Admission.warning(
      `spec.deletionPolicy Delete: ${snapshots} will be deleted with Backup ${metadata.name}${when} (set Retain to keep them)`
    )
  ]
}

/** Checks a Restore. Its spec is immutable, so updates need no check. */
export const ofRestore = ({ metadata, spec }: Restore, settings: Values): Findings => {
  const limit = Policy.refusal(spec, settings)
  const isFuture = spec.asOf !== undefined && Date.parse(spec.asOf) > Date.parse(metadata.creationTimestamp)
  return [
    ...(limit === undefined ? [] : [denied(limit)]),
    ...(spec.overwrite
      ? [Admission.warning("spec.overwrite is deprecated (write spec.mode: Overlay and spec.inUse: Allow)")]
      : []),
    ...(isFuture
      ? [
          Admission.warning(
            `spec.asOf ${spec.asOf} is in the future: a Restore that waits may restore a snapshot that is newer than the Restore`
          )
        ]
      : [])
  ]
}

/** The merge patch that records who created a Restore; undefined if the annotation is set. */
export const requestedBy = (restore: Pick<Restore, "metadata">, username: string): object | undefined =>
  (restore.metadata.annotations?.[Names.requestedByAnnotation] ?? "") === ""
    ? { metadata: { annotations: { [Names.requestedByAnnotation]: username } } }
    : undefined

const annotation = (object: string) => `${object}.metadata.?annotations[?'${Names.requestedByAnnotation}'].orValue('')`

/** Protects the annotation: the creator may omit it or write the own name, and later writes cannot change it. */
export const requestedByRule = {
  name: "requested-by",
  changes: "all",
  expression: `request.operation == 'CREATE' ? ${annotation("object")} == '' || ${annotation("object")} == request.userInfo.username : ${annotation("object")} == ${annotation("oldObject")}`,
  message: `annotation ${Names.requestedByAnnotation} must be the user that creates the Restore, and is immutable`,
  messageExpression: `'metadata.annotations[${Names.requestedByAnnotation}]: Invalid value: "' + ${annotation("object")} + '": ' + (request.operation == 'CREATE' ? 'must be "' + request.userInfo.username + '", the user that creates the Restore' : 'field is immutable')`
} as const

/** The webhooks and policies of Backups and Restores. */
export const admission = [
  Admission.validate(Backup, {
    write: (backup, { oldObject }) => Effect.map(Settings, (settings) => ofBackup(backup, oldObject, settings)),
    delete: ofDeletion,
    failurePolicy: "Ignore"
  }),
  Admission.validate(Restore, {
    write: (restore, { operation }) =>
      Effect.map(Settings, (settings) => (operation === "CREATE" ? ofRestore(restore, settings) : [])),
    failurePolicy: "Ignore"
  }),
  Admission.default(Restore, (restore, { userInfo }) => requestedBy(restore, userInfo.username), {
    operations: ["CREATE"],
    failurePolicy: "Ignore"
  }),
  // Without failurePolicy Ignore, because the API server evaluates it without the manager.
  Admission.validate(Restore, { cel: [requestedByRule] })
] as const
