/**
 * Validation of updates of a Job's status: a finished Job stays finished, and its counts are consistent.
 */
import * as FieldError from "../../model/FieldError.ts"
import type { JsonObject } from "../../model/Json.ts"
import * as Json from "../../model/Json.ts"
import * as Check from "../Check.ts"
import type { Errors } from "../Definition.ts"
import { omitted } from "./JobValidation.ts"

/** Yields the errors of an update of a Job's status. */
export function* change(job: JsonObject, old: JsonObject): Errors {
  const now = read(job)
  const before = read(old)
  yield* counts(now)
  yield* conditions(now, before)
  yield* ends(now, before)
  yield* combinations(now)
  yield* kept(now, before)
}

interface Status {
  readonly spec: JsonObject
  readonly status: JsonObject
  readonly is: (type: string) => boolean
  readonly finished: boolean
  readonly count: (name: string) => number
}

const read = (job: JsonObject): Status => {
  const status = Json.object(job.status)
  const found = Json.objects(status.conditions)
  const is = (type: string) => found.some((one) => one.type === type && one.status === "True")
  return {
    spec: Json.object(job.spec),
    status,
    is,
    finished: is("Complete") || is("Failed"),
    count: (name) => Json.number(status[name]) ?? 0
  }
}

const differs = (now: Status, before: Status, name: string): boolean =>
  !Json.equal(now.status[name], before.status[name])

function* counts({ status }: Status): Errors {
  for (const name of ["active", "succeeded", "failed", "ready", "terminating"]) {
    yield* Check.notNegative(`status.${name}`, status[name])
  }
  const seen = new Set<string>()
  for (const list of ["succeeded", "failed"]) {
    for (const [index, value] of Json.list(Json.at(status, "uncountedTerminatedPods", list)).entries()) {
      const at = `status.uncountedTerminatedPods.${list}[${index}]`
      const uid = Json.text(value) ?? ""
      if (uid === "") yield FieldError.invalid(at, uid, "must not be empty")
      else if (seen.has(uid)) yield FieldError.duplicate(at, uid)
      seen.add(uid)
    }
  }
}

function* conditions(now: Status, before: Status): Errors {
  const { is, status } = now
  const complete = is("Complete") !== before.is("Complete")
  const failed = is("Failed") !== before.is("Failed")
  const end = status.completionTime
  const ended = complete || differs(now, before, "completionTime")
  if ((complete || failed) && is("Complete") && is("Failed")) {
    yield omitted("status.conditions", "cannot set Complete=True and Failed=true conditions")
  }
  if ((complete || is("FailureTarget") !== before.is("FailureTarget")) && is("Complete") && is("FailureTarget")) {
    yield omitted("status.conditions", "cannot set Complete=True and FailureTarget=true conditions")
  }
  if (ended && end !== undefined && !is("Complete")) {
    yield FieldError.invalid(
      "status.completionTime",
      end,
      "cannot set completionTime when there is no Complete=True condition"
    )
  }
  if (ended && end === undefined && is("Complete")) {
    yield FieldError.required("status.completionTime", "completionTime is required for Complete jobs")
  }
  const start = status.startTime
  if (typeof start === "string" && typeof end === "string" && end < start) {
    if (differs(now, before, "startTime") || differs(now, before, "completionTime")) {
      yield FieldError.invalid("status.completionTime", end, "must be equal to or after `startTime`")
    }
  }
  if (failed && is("Failed") && !is("FailureTarget")) {
    yield omitted("status.conditions", "cannot set Failed=True condition without the FailureTarget=true condition")
  }
  const succeeds = is("SuccessCriteriaMet") !== before.is("SuccessCriteriaMet")
  if ((complete || succeeds) && is("Complete") && !is("SuccessCriteriaMet")) {
    yield omitted(
      "status.conditions",
      "cannot set Complete=True condition without the SuccessCriteriaMet=true condition"
    )
  }
}

function* ends(now: Status, before: Status): Errors {
  const { count, finished, spec, status } = now
  const changed = finished !== before.finished
  const uncounted = status.uncountedTerminatedPods
  if (finished) {
    if ((changed || differs(now, before, "active")) && count("active") > 0) {
      yield FieldError.invalid("status.active", count("active"), "active>0 is invalid for finished job")
    }
    const never = spec.suspend === true && spec.completions === 0
    if ((changed || differs(now, before, "startTime")) && !never && status.startTime === undefined) {
      yield FieldError.required("status.startTime", "startTime is required for finished job")
    }
    const left = Json.list(Json.at(uncounted, "failed")).length + Json.list(Json.at(uncounted, "succeeded")).length
    if ((changed || differs(now, before, "uncountedTerminatedPods")) && left > 0) {
      yield FieldError.invalid("status.uncountedTerminatedPods", uncounted, "must be empty for finished job")
    }
    if ((changed || differs(now, before, "terminating")) && count("terminating") > 0) {
      yield FieldError.invalid("status.terminating", count("terminating"), "terminating>0 is invalid for finished job")
    }
  }
  if (differs(now, before, "completedIndexes") && status.completedIndexes !== undefined) {
    if (spec.completionMode !== "Indexed") {
      yield FieldError.invalid(
        "status.completedIndexes",
        status.completedIndexes,
        "cannot set non-empty completedIndexes when non-indexed completion mode"
      )
    }
  }
  const moved = differs(now, before, "ready") || differs(now, before, "active")
  if (moved && status.ready !== undefined && count("ready") > count("active")) {
    yield FieldError.invalid("status.ready", count("ready"), "cannot set more ready pods than active")
  }
}

function* combinations({ is, spec }: Status): Errors {
  if (is("SuccessCriteriaMet") && is("Failed")) {
    yield omitted("status.conditions", "cannot set SuccessCriteriaMet=True and Failed=true conditions")
  }
  if (is("SuccessCriteriaMet") && is("FailureTarget")) {
    yield omitted("status.conditions", "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions")
  }
  if (spec.successPolicy !== undefined && !is("SuccessCriteriaMet") && is("Complete")) {
    yield omitted(
      "status.conditions",
      "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True"
    )
  }
}

function* kept(now: Status, before: Status): Errors {
  for (const type of ["Failed", "Complete", "FailureTarget"]) {
    if (before.is(type) && !now.is(type)) {
      yield omitted("status.conditions", `cannot disable the terminal ${type}=True condition`)
    }
  }
  const { spec } = now
  const elastic = spec.completionMode === "Indexed" && Json.equal(spec.completions, spec.parallelism)
  for (const name of elastic ? ["failed"] : ["failed", "succeeded"]) {
    if (now.count(name) < before.count(name)) {
      yield FieldError.invalid(`status.${name}`, now.count(name), `cannot decrease the ${name} counter`)
    }
  }
  const end = now.status.completionTime
  if (end !== undefined && before.status.completionTime !== undefined && differs(now, before, "completionTime")) {
    yield FieldError.invalid("status.completionTime", end, "field is immutable")
  }
  const resuming = before.is("Suspended") && !now.is("Suspended")
  if (before.status.startTime !== undefined && differs(now, before, "startTime") && !resuming) {
    if (spec.suspend !== true) {
      yield FieldError.invalid(
        "status.startTime",
        now.status.startTime,
        "field is immutable for unsuspended job once set"
      )
    }
  }
  if (before.is("SuccessCriteriaMet") && !now.is("SuccessCriteriaMet")) {
    yield omitted("status.conditions", "cannot disable the SuccessCriteriaMet=True condition")
  }
  if (before.is("Complete") && !before.is("SuccessCriteriaMet") && now.is("SuccessCriteriaMet")) {
    yield omitted(
      "status.conditions",
      "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions"
    )
  }
}
