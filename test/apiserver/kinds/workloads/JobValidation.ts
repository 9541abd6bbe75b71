/**
 * Validation of the `spec` of a Job or of a Job template.
 */
import * as FieldError from "../../model/FieldError.ts"
import * as Format from "../../model/Format.ts"
import type { JsonObject, Json as JsonValue } from "../../model/Json.ts"
import * as Json from "../../model/Json.ts"
import * as Check from "../Check.ts"
import type { Errors } from "../Definition.ts"
import * as PodValidation from "../pods/PodValidation.ts"
import { labelsOf } from "./JobMetadata.ts"
import * as Templates from "./Templates.ts"

/** Yields the errors of a Job's `spec`, selector included. */
export function* spec(given: JsonObject): Errors {
  yield* common("spec", given)
  const { selector } = given
  if (Json.isObject(selector)) yield* Check.labelSelector("spec.selector", selector)
  else yield FieldError.required("spec.selector")
  yield* Templates.selected("spec.template", Json.object(given.template), selector)
}

/** Yields an error for each label and selector of a new Job that differs from the generated one. */
export function* generated(job: JsonObject): Errors {
  const given = Json.object(job.spec)
  if (given.manualSelector === true || given.selector === undefined) return
  const at = "spec.template.metadata.labels"
  const labels = Json.texts(Json.at(given, "template", "metadata", "labels"))
  const expected = labelsOf(job)
  for (const key in expected) {
    if (labels[key] === undefined) yield FieldError.required(`${at}[${key}]`, `must be '${expected[key]}'`)
    else if (labels[key] !== expected[key]) {
      yield FieldError.invalid(`${at}[${key}]`, Check.sorted(labels), `must be '${expected[key]}'`)
    }
  }
  if (!Check.selects(given.selector, expected)) {
    yield FieldError.invalid("spec.selector", given.selector, "`selector` not auto-generated")
  }
}

/** Yields the `spec` errors that Jobs and Job templates share, without the generated selector. */
export function* common(field: string, given: JsonObject): Errors {
  for (const name of counted) yield* Check.notNegative(`${field}.${name}`, given[name])
  if (given.maxFailedIndexes !== undefined && given.backoffLimitPerIndex === undefined) {
    yield FieldError.required(`${field}.backoffLimitPerIndex`, "when maxFailedIndexes is specified")
  }
  yield* completionMode(field, given)
  const policy = given.podFailurePolicy
  if (Json.isObject(policy)) yield* failurePolicy(`${field}.podFailurePolicy`, given, policy)
  if (given.successPolicy !== undefined && given.completionMode !== "Indexed") {
    yield FieldError.invalid(`${field}.successPolicy`, given.successPolicy, "requires indexed completion mode")
  }
  yield* replacementPolicy(`${field}.podReplacementPolicy`, given)
  yield* PodValidation.template(`${field}.template`, Json.object(given.template))
  yield* restartPolicy(`${field}.template.spec.restartPolicy`, given)
}

const counted = [
  "parallelism",
  "completions",
  "activeDeadlineSeconds",
  "backoffLimit",
  "ttlSecondsAfterFinished",
  "backoffLimitPerIndex",
  "maxFailedIndexes"
]

function* completionMode(field: string, given: JsonObject): Errors {
  const mode = given.completionMode
  if (mode !== undefined && mode !== "NonIndexed" && mode !== "Indexed") {
    yield FieldError.notSupported(`${field}.completionMode`, mode, ["NonIndexed", "Indexed"])
  }
  const completions = Json.number(given.completions)
  const failed = Json.number(given.maxFailedIndexes)
  if (mode === "Indexed") {
    if (completions === undefined) yield FieldError.required(`${field}.completions`, "when completion mode is Indexed")
    const parallelism = Json.number(given.parallelism) ?? 0
    if (parallelism > 100_000) {
      yield FieldError.invalid(
        `${field}.parallelism`,
        parallelism,
        "must be less than or equal to 100000 when completion mode is Indexed"
      )
    }
    if (failed !== undefined && completions !== undefined && failed > completions) {
      yield FieldError.invalid(`${field}.maxFailedIndexes`, failed, "must be less than or equal to completions")
    }
  } else if (mode === undefined || mode === "NonIndexed") {
    for (const name of ["backoffLimitPerIndex", "maxFailedIndexes"]) {
      if (given[name] !== undefined) {
        yield FieldError.invalid(`${field}.${name}`, given[name], "requires indexed completion mode")
      }
    }
  }
}

function* replacementPolicy(field: string, given: JsonObject): Errors {
  const policy = given.podReplacementPolicy
  if (policy === undefined) return
  const allowed = given.podFailurePolicy === undefined ? ["Failed", "TerminatingOrFailed"] : ["Failed"]
  if (typeof policy !== "string" || !allowed.includes(policy)) yield FieldError.notSupported(field, policy, allowed)
}

function* restartPolicy(field: string, given: JsonObject): Errors {
  const policy = Json.at(given, "template", "spec", "restartPolicy") ?? ""
  if (policy === "Always" || policy === "") {
    yield FieldError.required(field, 'valid values: "OnFailure", "Never"')
  } else if (policy !== "OnFailure" && policy !== "Never") {
    yield FieldError.notSupported(field, policy, ["OnFailure", "Never"])
  } else if (given.podFailurePolicy !== undefined && policy !== "Never") {
    yield FieldError.invalid(field, policy, 'only "Never" is supported when podFailurePolicy is specified')
  }
}

function* failurePolicy(field: string, given: JsonObject, policy: JsonObject): Errors {
  const rules = Json.objects(policy.rules)
  if (rules.length > 20) {
    yield FieldError.make("FieldValueTooMany", `${field}.rules`, rules.length, "must have at most 20 items")
  }
  const template = Json.object(Json.at(given, "template", "spec"))
  const containers = [...Json.objects(template.containers), ...Json.objects(template.initContainers)].map(
    ({ name }) => name
  )
  for (const [index, rule] of rules.entries()) {
    yield* failureRule(`${field}.rules[${index}]`, rule, given, containers)
  }
}

const actions = ["Count", "FailIndex", "FailJob", "Ignore"]
const operators = ["In", "NotIn"]
const statuses = ["False", "True", "Unknown"]

/** Yields an error for an unsupported value. The error for a missing value lists the valid ones, as Go prints a list. */
function* listedWord(field: string, value: JsonValue | undefined, words: ReadonlyArray<string>): Errors {
  if (value === undefined || value === "") {
    yield FieldError.required(field, `valid values: [${words.map((word) => JSON.stringify(word)).join(" ")}]`)
  } else if (typeof value !== "string" || !words.includes(value)) yield FieldError.notSupported(field, value, words)
}

function* failureRule(
  field: string,
  rule: JsonObject,
  given: JsonObject,
  containers: ReadonlyArray<JsonValue | undefined>
): Errors {
  const { action, onExitCodes } = rule
  if (action === "FailIndex") {
    if (given.backoffLimitPerIndex === undefined) {
      yield FieldError.invalid(`${field}.action`, action, "requires the backoffLimitPerIndex to be set")
    }
  } else yield* listedWord(`${field}.action`, action, actions)
  if (Json.isObject(onExitCodes)) yield* exitCodes(`${field}.onExitCodes`, onExitCodes, containers)
  const conditions = Json.objects(rule.onPodConditions)
  for (const [index, { status, type }] of conditions.entries()) {
    const at = `${field}.onPodConditions[${index}]`
    yield* Check.text(`${at}.type`, Json.text(type) ?? "", Format.labelKey)
    yield* listedWord(`${at}.status`, status, statuses)
  }
  if (onExitCodes !== undefined && conditions.length > 0) {
    yield omitted(field, "specifying both OnExitCodes and OnPodConditions is not supported")
  }
  if (onExitCodes === undefined && conditions.length === 0) {
    yield omitted(field, "specifying one of OnExitCodes and OnPodConditions is required")
  }
}

function* exitCodes(field: string, given: JsonObject, containers: ReadonlyArray<JsonValue | undefined>): Errors {
  const { containerName, operator } = given
  yield* listedWord(`${field}.operator`, operator, operators)
  if (containerName !== undefined && !containers.includes(containerName)) {
    yield FieldError.invalid(
      `${field}.containerName`,
      containerName,
      "must be one of the container or initContainer names in the pod template"
    )
  }
  const values = Json.list(given.values)
  const numbers = values.map((value) => Json.number(value) ?? 0)
  if (values.length === 0) yield FieldError.invalid(`${field}.values`, [], "at least one value is required")
  for (const [index, value] of numbers.entries()) {
    if (operator === "In" && value === 0) {
      yield FieldError.invalid(`${field}.values[${index}]`, value, "must not be 0 for the In operator")
    }
    if (numbers.indexOf(value) < index) yield FieldError.duplicate(`${field}.values[${index}]`, value)
  }
  if (numbers.some((value, index) => value < (numbers[index - 1] ?? value))) {
    yield FieldError.invalid(`${field}.values`, values, "must be ordered")
  }
}

/** An `Invalid value` error that omits the value. */
export const omitted = (field: string, detail: string): FieldError.FieldError => ({
  reason: "FieldValueInvalid",
  field,
  message: `Invalid value: ${detail}`
})
