/** batch/v1 Job. */
import * as FieldError from "../../model/FieldError.ts"
import * as Format from "../../model/Format.ts"
import type { DraftObject, JsonObject } from "../../model/Json.ts"
import * as Json from "../../model/Json.ts"
import * as Check from "../Check.ts"
import { type Definition, drafts, type Errors, fill, part, spec, statusStrategy, strategy } from "../Definition.ts"
import * as PodDefaults from "../pods/PodDefaults.ts"
import * as PodWarnings from "../pods/PodWarnings.ts"
import * as JobMetadata from "./JobMetadata.ts"
import * as JobStatus from "./JobStatus.ts"
import * as JobValidation from "./JobValidation.ts"

/** Sets the defaults of a Job `spec` that also apply inside a CronJob: those of its Pods, not those of the Job itself. */
export const fillTemplate = (given: DraftObject | undefined): void => {
  if (given === undefined) return
  PodDefaults.template(part(given, "template"))
  for (const rule of drafts(part(given, "podFailurePolicy") ?? {}, "rules")) {
    for (const condition of drafts(rule, "onPodConditions")) fill(condition, "status", "True")
  }
}

/** The function that yields the warnings about a Job or CronJob. `path`: the path of its Pod template. */
export const warnings = (path: string) =>
  function* (object: JsonObject, old?: JsonObject): Iterable<string> {
    if (old === undefined) yield* PodWarnings.ofName(object, "Pod names and hostnames")
    yield* PodWarnings.ofTemplate(path, object, old)
    if (old !== undefined) return
    const parent = path.slice(0, path.lastIndexOf("."))
    for (const name of ignored) {
      const isThere = Json.at(object, ...parent.split("."), name) !== undefined
      if (isThere) yield `the embedded cluster ignores ${parent}.${name}`
    }
  }

/** The fields of a Job that no controller of the embedded cluster reads. */
const ignored = ["successPolicy", "backoffLimitPerIndex", "maxFailedIndexes"]

const main = strategy({
  shape: "batch/v1.Job",
  status: {},
  generation: spec,
  default: (draft) => {
    const given = Json.member(draft, "spec")
    fillTemplate(given)
    if (given.parallelism === undefined) fill(given, "completions", 1)
    fill(given, "parallelism", 1)
    fill(given, "backoffLimit", given.backoffLimitPerIndex === undefined ? 6 : 2 ** 31 - 1)
    const labels = Json.at(given, "template", "metadata", "labels")
    if (labels !== undefined) fill(Json.member(draft, "metadata"), "labels", Json.copy(labels))
    fill(given, "completionMode", "NonIndexed")
    fill(given, "suspend", false)
    fill(given, "podReplacementPolicy", given.podFailurePolicy === undefined ? "TerminatingOrFailed" : "Failed")
    fill(given, "manualSelector", false)
  },
  prepareForCreate: (draft) => JobMetadata.generate(draft),
  warnings: warnings("spec.template"),
  *validate(job) {
    yield* JobValidation.generated(job)
    yield* JobValidation.spec(Json.object(job.spec))
    yield* indexedName(job)
  },
  *validateUpdate(job, old) {
    const given = Json.object(job.spec)
    const before = Json.object(old.spec)
    yield* JobValidation.spec(given)
    yield* completions(given, before)
    yield* Check.immutableSelector(job, old)
    yield* template(given, before, old)
    for (const name of ["completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"]) {
      yield* Check.immutable(`spec.${name}`, given[name] ?? null, before[name] ?? null)
    }
    yield* indexedName(job)
  }
})

/** Yields an error if `completions` changes. An indexed Job may change it together with `parallelism`. */
function* completions(given: JsonObject, before: JsonObject): Errors {
  const indexed = given.completionMode === "Indexed"
  if (!indexed) return yield* Check.immutable("spec.completions", given.completions ?? null, before.completions ?? null)
  // `JobValidation.spec` already reports missing completions.
  if (given.completions === undefined || Json.equal(given.completions, before.completions)) return
  if (!Json.equal(given.completions, given.parallelism)) {
    yield FieldError.invalid(
      "spec.completions",
      given.completions,
      "can only be modified in tandem with spec.parallelism"
    )
  }
}

/** Yields an error if the template changes. A suspended Job without active Pods may change its scheduling and resources. */
function* template(given: JsonObject, before: JsonObject, old: JsonObject): Errors {
  const suspended = before.suspend === true
  const isInactive =
    (Json.at(old, "status", "startTime") === undefined || isSuspended(old)) &&
    (Json.number(Json.at(old, "status", "active")) ?? 0) === 0
  if (!suspended || !isInactive) return yield* Check.immutable("spec.template", given.template, before.template)
  if (!Json.equal(movable(Json.object(given.template)), movable(Json.object(before.template)))) {
    yield FieldError.invalid("spec.template.spec", Json.at(given, "template", "spec"), "field is immutable")
  }
}

const isSuspended = (job: JsonObject): boolean =>
  Json.objects(Json.at(job, "status", "conditions")).some(
    ({ status, type }) => type === "Suspended" && status === "True"
  )

/** The part of a template that is immutable even in a suspended Job. */
const movable = (template: JsonObject): JsonObject => {
  const { affinity, nodeSelector: _, schedulingGates: __, tolerations: ___, ...rest } = Json.object(template.spec)
  const { nodeAffinity: ____, ...others } = Json.object(affinity)
  const bare = (name: string) => Json.objects(rest[name]).map(({ resources: _____, ...container }) => container)
  return { ...rest, affinity: others, containers: bare("containers"), initContainers: bare("initContainers") }
}

function* indexedName(job: JsonObject): Errors {
  const given = Json.object(job.spec)
  const count = Json.number(given.completions) ?? 0
  if (given.completionMode !== "Indexed" || count <= 0) return
  const name = Json.text(Json.at(job, "metadata", "name")) ?? ""
  const last = `${name}-${count - 1}`
  if (Format.dnsLabel(last).length > 0) {
    yield FieldError.invalid("metadata.name", name, `will not able to create pod with invalid DNS label: ${last}`)
  }
}

/** The definition of Job. */
export const job: Definition = {
  group: "batch",
  version: "v1",
  kind: "Job",
  strategy: main,
  status: statusStrategy(main, "batch/v1.Job", { validateUpdate: JobStatus.change }),
  selectableFields: (object) => ({
    "status.successful": String(Json.number(Json.at(object, "status", "succeeded")) ?? 0)
  }),
  // A DELETE without a propagation policy orphans the Pods. This default is older than the garbage collector.
  dependents: "orphaned",
  fromStorage: JobMetadata.labelled,
  unconditionalUpdate: true
}
