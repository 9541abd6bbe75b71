/** batch/v1 CronJob. */
import * as FieldError from "../../model/FieldError.ts"
import type { JsonObject } from "../../model/Json.ts"
import * as Json from "../../model/Json.ts"
import * as Check from "../Check.ts"
import { type Definition, type Errors, fill, part, spec, statusStrategy, strategy } from "../Definition.ts"
import { fillTemplate, warnings } from "./Job.ts"
import * as JobValidation from "./JobValidation.ts"
import * as Schedule from "./Schedule.ts"

const main = strategy({
  shape: "batch/v1.CronJob",
  status: {},
  generation: spec,
  default: (draft) => {
    const given = Json.member(draft, "spec")
    fillTemplate(part(part(given, "jobTemplate"), "spec"))
    fill(given, "concurrencyPolicy", "Allow")
    fill(given, "suspend", false)
    fill(given, "successfulJobsHistoryLimit", 3)
    fill(given, "failedJobsHistoryLimit", 1)
  },
  warnings: warnings("spec.jobTemplate.spec.template"),
  *validate(object) {
    yield* validate(Json.object(object.spec), undefined)
    const name = Json.text(Json.at(object, "metadata", "name")) ?? ""
    if (name.length > 52) yield FieldError.invalid("metadata.name", name, "must be no more than 52 characters")
  },
  validateUpdate: (object, old) => validate(Json.object(object.spec), Json.object(old.spec))
})

function* validate(given: JsonObject, before: JsonObject | undefined): Errors {
  const schedule = Json.text(given.schedule) ?? ""
  if (schedule === "") yield FieldError.required("spec.schedule")
  else yield* validateSchedule(schedule, given, before)
  yield* Check.notNegative("spec.startingDeadlineSeconds", given.startingDeadlineSeconds)
  if (before === undefined || before.timeZone !== given.timeZone) yield* validateZone(given)
  yield* Check.word("spec.concurrencyPolicy", given.concurrencyPolicy, ["Allow", "Forbid", "Replace"])
  const job = Json.object(Json.at(given, "jobTemplate", "spec"))
  yield* JobValidation.common("spec.jobTemplate.spec", job)
  if (job.selector !== undefined) {
    yield FieldError.invalid("spec.jobTemplate.spec.selector", job.selector, "`selector` will be auto-generated")
  }
  if (job.manualSelector === true) {
    yield FieldError.notSupported("spec.jobTemplate.spec.manualSelector", true, ["nil", "false"])
  }
  yield* Check.notNegative("spec.successfulJobsHistoryLimit", given.successfulJobsHistoryLimit)
  yield* Check.notNegative("spec.failedJobsHistoryLimit", given.failedJobsHistoryLimit)
}

function* validateSchedule(schedule: string, given: JsonObject, before: JsonObject | undefined): Errors {
  const found = Schedule.parseError(schedule)
  if (found !== undefined) yield FieldError.invalid("spec.schedule", schedule, found)
  if (!schedule.includes("TZ")) return
  // Earlier releases allowed a TZ in the schedule. An update may keep it.
  if (!(Json.text(before?.schedule) ?? "").includes("TZ")) {
    yield FieldError.invalid(
      "spec.schedule",
      schedule,
      "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
    )
  } else if (given.timeZone !== undefined) {
    yield FieldError.invalid("spec.schedule", schedule, "cannot use both timeZone field and TZ or CRON_TZ in schedule")
  }
}

function* validateZone({ timeZone }: JsonObject): Errors {
  if (typeof timeZone !== "string") return
  if (timeZone === "") {
    return yield FieldError.invalid("spec.timeZone", timeZone, "timeZone must be nil or non-empty string")
  }
  if (timeZone.toLowerCase() === "local") {
    yield FieldError.invalid(
      "spec.timeZone",
      timeZone,
      "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
    )
  } else if (!isZone(timeZone)) yield FieldError.invalid("spec.timeZone", timeZone, `unknown time zone ${timeZone}`)
}

const isZone = (name: string): boolean => {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone !== ""
  } catch {
    return false
  }
}

/** The definition of CronJob. */
export const cronJob: Definition = {
  group: "batch",
  version: "v1",
  kind: "CronJob",
  strategy: main,
  status: statusStrategy(main, "batch/v1.CronJob"),
  unconditionalUpdate: true
}
