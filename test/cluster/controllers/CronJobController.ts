/**
 * CronJobs: a Job for each time of a schedule.
 *
 * A pass updates the active Jobs in the status, and deletes finished Jobs beyond the history limits. It creates the Job of the latest time
 * that is due. The name of a Job contains the minute of its scheduled time, so that each time creates one Job only.
 */
import { at, type Json, type JsonObject, number, object, objects, text } from "@homeostat/apiserver/model/Json"
import {
  controllerKey,
  controllerReference,
  createdAt,
  isControlledBy,
  isDeleting,
  keyOfObject,
  millisOf,
  nameOf,
  namespaceOf,
  ofKey,
  uidOf
} from "@homeostat/apiserver/model/ObjectMeta"
import { timestamp } from "@homeostat/apiserver/model/Timestamp"
import type { Change } from "@homeostat/apiserver/storage/Store"
import { type BuiltInController, nothing, type Pass, type Snapshot, type Write } from "./BuiltInController.ts"
import * as CronSchedule from "./CronSchedule.ts"
import * as JobOutcome from "./JobOutcome.ts"
import * as Storages from "./Storages.ts"

/** The annotation of a Job with its scheduled time. */
const scheduledAnnotation = "batch.kubernetes.io/cronjob-scheduled-timestamp"

/** The delay in milliseconds after each scheduled time. The real controller waits because clocks differ. */
const delta = 100

const event = (about: JsonObject, type: "Normal" | "Warning", reason: string, message: string): Write => ({
  verb: "record",
  about,
  type,
  reason,
  message
})

/** `Complete` or `Failed`; undefined while a Job runs. */
const endOf = (job: JsonObject): string | undefined =>
  text(
    JobOutcome.conditionsOf(job).find(
      ({ status, type }) => status === "True" && (type === "Complete" || type === "Failed")
    )?.type
  )

const reconcile = (snapshot: Snapshot, key: string, now: number, memory: Json | undefined): Pass => {
  const cronJob = snapshot.get(Storages.cronJobs, ...ofKey(key))
  if (cronJob === undefined) return nothing
  const jobs = snapshot
    .dependents(uidOf(cronJob))
    .filter(({ object, storage }) => storage === Storages.jobs && isControlledBy(object, cronJob))
    .map((one) => one.object)
  const cleaned = cleanup(cronJob, jobs)
  const seen = observed(snapshot, { cronJob, status: cleaned.status, writes: cleaned.writes }, jobs)
  const { again, end = [], status, writes } = started(snapshot, seen, now, memory)
  const isChanged = status !== object(cronJob.status)
  const stored: ReadonlyArray<Write> = isChanged
    ? [{ verb: "update", subresource: "status", object: { ...cronJob, status } }]
    : []
  return { writes: [...writes, ...(end.length > 0 ? end : stored)], again, memory: scheduleOf(cronJob) }
}

/** The intermediate result of a pass. `status` is a new object if the status changes. */
interface Found {
  readonly cronJob: JsonObject
  readonly status: JsonObject
  readonly writes: ReadonlyArray<Write>
  readonly again?: number | undefined
  /** The last writes, which include the status. */
  readonly end?: ReadonlyArray<Write>
}

const scheduleOf = (cronJob: JsonObject): JsonObject => ({
  schedule: text(at(cronJob, "spec", "schedule")),
  timeZone: text(at(cronJob, "spec", "timeZone"))
})

const activeOf = (status: JsonObject): ReadonlyArray<JsonObject> => objects(status.active)

const withActive = (status: JsonObject, active: ReadonlyArray<JsonObject>): JsonObject => {
  const { active: _, ...others } = status
  return active.length === 0 ? others : { ...others, active }
}

/** Deletes a Job. */
const removed = (cronJob: JsonObject, job: JsonObject): Write => ({
  verb: "delete",
  object: job,
  propagation: "Background",
  done: () => [event(cronJob, "Normal", "SuccessfulDelete", `Deleted job ${nameOf(job)}`)],
  failed: ({ message }) => [event(cronJob, "Warning", "FailedDelete", `Deleted job: ${message}`)]
})

/** Deletes the oldest finished Jobs beyond the history limits. */
const cleanup = (cronJob: JsonObject, jobs: ReadonlyArray<JsonObject>): Omit<Found, "cronJob"> => {
  const beyond = (end: string, limit: string): ReadonlyArray<JsonObject> => {
    const most = number(at(cronJob, "spec", limit))
    if (most === undefined) return []
    const finished = jobs.filter((job) => endOf(job) === end).toSorted(byStart)
    return finished.slice(0, Math.max(0, finished.length - most))
  }
  const old = [...beyond("Complete", "successfulJobsHistoryLimit"), ...beyond("Failed", "failedJobsHistoryLimit")]
  const before = object(cronJob.status)
  if (old.length === 0) return { status: before, writes: [] }
  const uids = new Set<Json | undefined>(old.map(uidOf))
  return {
    status: withActive(
      before,
      activeOf(before).filter(({ uid }) => !uids.has(uid))
    ),
    writes: old.map((job) => removed(cronJob, job))
  }
}

const byStart = (one: JsonObject, other: JsonObject): number => {
  const [left, right] = [one, other].map((job) => millisOf(at(job, "status", "startTime")) ?? Number.POSITIVE_INFINITY)
  if (left === right) return nameOf(one) < nameOf(other) ? -1 : 1
  return (left ?? 0) < (right ?? 0) ? -1 : 1
}

/** Removes finished and missing Jobs from the active Jobs, and sets the last successful time. */
const observed = (snapshot: Snapshot, { cronJob, ...found }: Found, jobs: ReadonlyArray<JsonObject>): Found => {
  let status = found.status
  const writes = [...found.writes]
  for (const job of jobs) {
    const end = endOf(job)
    const isActive = activeOf(status).some(({ uid }) => uid === uidOf(job))
    if (end === undefined) {
      if (isActive) continue
      const message = `Saw a job that the controller did not create or forgot: ${nameOf(job)}`
      writes.push(event(cronJob, "Warning", "UnexpectedJob", message))
      continue
    }
    if (isActive) {
      status = withActive(
        status,
        activeOf(status).filter(({ uid }) => uid !== uidOf(job))
      )
      writes.push(event(cronJob, "Normal", "SawCompletedJob", `Saw completed job: ${nameOf(job)}, condition: ${end}`))
    }
    const completed = text(at(job, "status", "completionTime"))
    const last = millisOf(status.lastSuccessfulTime)
    if (end === "Complete" && completed !== undefined && (last === undefined || (millisOf(completed) ?? 0) > last)) {
      status = { ...status, lastSuccessfulTime: completed }
    }
  }
  const children = new Set<Json | undefined>(jobs.map(uidOf))
  for (const { name, namespace, uid } of activeOf(status)) {
    const isThere = snapshot.get(Storages.jobs, text(namespace) ?? "", text(name) ?? "") !== undefined
    if (children.has(uid) || isThere) continue
    writes.push(event(cronJob, "Normal", "MissingJob", `Active job went missing: ${text(name)}`))
    status = withActive(
      status,
      activeOf(status).filter((one) => one.uid !== uid)
    )
  }
  return { cronJob, status, writes }
}

/** Creates the Job that is due. */
const started = (snapshot: Snapshot, found: Found, now: number, memory: Json | undefined): Found => {
  const { cronJob, status, writes } = found
  const zoneName = text(at(cronJob, "spec", "timeZone")) ?? ""
  const zone = CronSchedule.zone(zoneName)
  if (isDeleting(cronJob)) return found
  if (zone === undefined) {
    const message = `invalid timeZone: ${JSON.stringify(zoneName)}: unknown time zone ${zoneName}`
    return { ...found, writes: [...writes, event(cronJob, "Warning", "UnknownTimeZone", message)] }
  }
  if (at(cronJob, "spec", "suspend") === true) return found
  const schedule = CronSchedule.parse(text(at(cronJob, "spec", "schedule")) ?? "")
  const again = untilNext({ ...cronJob, status }, schedule, zone, now)
  const recordedEvent = (type: "Normal" | "Warning", reason: string, message: string): Found => ({
    ...found,
    writes: [...writes, event(cronJob, type, reason, message)],
    again
  })
  // After a change of the schedule, the CronJob starts with the next time.
  const old = object(memory)
  if (memory !== undefined && (old.schedule !== at(cronJob, "spec", "schedule") || (old.timeZone ?? "") !== zoneName)) {
    return { ...found, again }
  }
  const deadline = number(at(cronJob, "spec", "startingDeadlineSeconds"))
  const earliest = Math.max(earliestOf({ ...cronJob, status }), deadline === undefined ? 0 : now - deadline * 1000)
  const { at: scheduled, isInvalid, missed } = CronSchedule.mostRecent(schedule, zone, earliest, now)
  if (isInvalid) {
    const message = `invalid schedule: ${text(at(cronJob, "spec", "schedule"))} : time difference between two schedules is less than 1 second`
    return { ...recordedEvent("Warning", "InvalidSchedule", message), again: undefined }
  }
  if (scheduled === undefined) return { ...found, again }
  if (deadline !== undefined && scheduled + deadline * 1000 < now) {
    const message = `Missed scheduled time to start a job: ${new Date(scheduled).toUTCString().replace("GMT", "UTC")}`
    return recordedEvent("Warning", "MissSchedule", message)
  }
  const name = `${nameOf(cronJob)}-${Math.floor(scheduled / 60_000)}`
  const active = activeOf(status)
  if (active.some((one) => one.name === name) || millisOf(status.lastScheduleTime) === scheduled) {
    return { ...found, again }
  }
  const policy = at(cronJob, "spec", "concurrencyPolicy")
  if (policy === "Forbid" && active.length > 0) {
    const message = "Not starting job because prior execution is running and concurrency policy is Forbid"
    return recordedEvent("Normal", "JobAlreadyActive", message)
  }
  const replaced = policy === "Replace" ? active : []
  const tooMany =
    missed === "many"
      ? [
          event(
            cronJob,
            "Warning",
            "TooManyMissedTimes",
            "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew"
          )
        ]
      : []
  const before = [
    ...writes,
    ...tooMany,
    ...replaced.flatMap((one) => {
      const job = snapshot.get(Storages.jobs, text(one.namespace) ?? "", text(one.name) ?? "")
      return job === undefined ? [] : [removed(cronJob, job)]
    })
  ]
  const remaining = replaced.length > 0 ? withActive(status, []) : status
  const created = (job: JsonObject): Write => {
    const { metadata } = job
    const { name: jobName, namespace, resourceVersion, uid } = object(metadata)
    const reference = { apiVersion: "batch/v1", kind: "Job", name: jobName, namespace, resourceVersion, uid }
    const next = {
      ...withActive(remaining, [...activeOf(remaining), reference]),
      lastScheduleTime: timestamp(scheduled)
    }
    return { verb: "update", subresource: "status", object: { ...cronJob, status: next } }
  }
  const wake = untilNext(
    { ...cronJob, status: { ...status, lastScheduleTime: timestamp(scheduled) } },
    schedule,
    zone,
    now
  )
  const existing = snapshot.get(Storages.jobs, namespaceOf(cronJob), name)
  if (existing !== undefined) {
    const isNew = isControlledBy(existing, cronJob) && !active.some(({ uid }) => uid === uidOf(existing))
    return isNew
      ? { cronJob, status, writes: before, end: [created(existing)], again: wake }
      : { cronJob, status: remaining, writes: before }
  }
  const create: Write = {
    verb: "create",
    object: jobOf(cronJob, name, scheduled, zone(scheduled), zoneName),
    done: (job) => [event(cronJob, "Normal", "SuccessfulCreate", `Created job ${nameOf(job)}`), created(job)],
    failed: ({ message }) => [event(cronJob, "Warning", "FailedCreate", `Error creating job: ${message}`)]
  }
  return { cronJob, status, writes: before, end: [create], again: wake }
}

/** Returns the Job of a scheduled time. */
const jobOf = (cronJob: JsonObject, name: string, scheduled: number, offset: number, zoneName: string): JsonObject => {
  const template = object(at(cronJob, "spec", "jobTemplate"))
  const { annotations, labels } = object(template.metadata)
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: {
      name,
      namespace: namespaceOf(cronJob),
      ...(labels === undefined ? {} : { labels }),
      annotations: { ...object(annotations), [scheduledAnnotation]: localTime(scheduled, offset, zoneName) },
      ownerReferences: [controllerReference(cronJob)]
    },
    spec: object(template.spec)
  }
}

/** Formats a time as RFC 3339 in a time zone: `2026-11-21T11:00:00+01:00`. */
const localTime = (millis: number, offset: number, zoneName: string): string => {
  if (zoneName === "" || zoneName === "UTC") return timestamp(millis)
  const local = timestamp(millis + offset)
  if (offset === 0) return local
  const minutes = Math.abs(offset) / 60_000
  const two = (value: number) => String(value).padStart(2, "0")
  return `${local.slice(0, -1)}${offset < 0 ? "-" : "+"}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`
}

const earliestOf = (cronJob: JsonObject): number =>
  millisOf(at(cronJob, "status", "lastScheduleTime")) ?? createdAt(cronJob)

/** Returns the milliseconds until the next scheduled time. */
const untilNext = (
  cronJob: JsonObject,
  schedule: CronSchedule.CronSchedule,
  zone: CronSchedule.TimeZone,
  now: number
): number | undefined => {
  const earliest = earliestOf(cronJob)
  const { at: recent, isInvalid, missed } = CronSchedule.mostRecent(schedule, zone, earliest, now)
  const from = isInvalid ? now : (recent ?? (missed === "none" ? earliest : now))
  const next = CronSchedule.next(schedule, zone, from)
  return next === undefined ? undefined : Math.max(1, next + delta - now)
}

const keys = ({ object: changed, previous, storage, type }: Change): ReadonlyArray<string> => {
  if (storage === Storages.cronJobs) return type === "DELETED" ? [] : [keyOfObject(changed)]
  return [changed, ...(previous === undefined ? [] : [previous])]
    .map((job) => controllerKey(job, "batch/v1", "CronJob"))
    .filter((key) => key !== undefined)
}

/** The CronJob controller. */
export const cronJobController: BuiltInController = {
  name: "cronjob-controller",
  manager: "kube-controller-manager",
  component: "cronjob-controller",
  storages: [Storages.cronJobs, Storages.jobs],
  keys,
  reconcile
}
