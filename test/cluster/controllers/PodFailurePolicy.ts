/** The podFailurePolicy of a Job: the first matching rule decides about a failed pod. */
import { at, type JsonObject, list, number, objects, text } from "@homeostat/apiserver/model/Json"
import { nameOf, namespaceOf } from "@homeostat/apiserver/model/ObjectMeta"

/** The effect of a failed pod on its Job. */
export interface Verdict {
  /** Whether the failure counts towards `backoffLimit`. */
  readonly counts: boolean
  /** The message if the pod fails the Job; undefined: the Job continues. */
  readonly fails: string | undefined
}

const counted: Verdict = { counts: true, fails: undefined }

/** Applies the policy of a Job to a failed pod. */
export const verdictOn = (job: JsonObject, pod: JsonObject): Verdict => {
  for (const [index, rule] of objects(at(job, "spec", "podFailurePolicy", "rules")).entries()) {
    const matched = rule.onExitCodes === undefined ? byCondition(rule, pod) : byExitCode(rule, pod)
    if (matched === undefined) continue
    if (rule.action === "Ignore") return { counts: false, fails: undefined }
    if (rule.action !== "FailJob") return counted
    return { counts: true, fails: `${matched} matching ${text(rule.action)} rule at index ${index}` }
  }
  return counted
}

/** Returns the message if a rule for exit codes matches the pod; undefined otherwise. */
const byExitCode = (rule: JsonObject, pod: JsonObject): string | undefined => {
  const container = text(at(rule, "onExitCodes", "containerName"))
  const values = list(at(rule, "onExitCodes", "values"))
  const isIn = at(rule, "onExitCodes", "operator") === "In"
  const statuses = [
    ...objects(at(pod, "status", "containerStatuses")),
    ...objects(at(pod, "status", "initContainerStatuses"))
  ]
  for (const status of statuses) {
    const code = number(at(status, "state", "terminated", "exitCode")) ?? 0
    if (code === 0 || (container !== undefined && container !== status.name)) continue
    if (values.includes(code) === isIn) {
      return `Container ${text(status.name)} for pod ${namespaceOf(pod)}/${nameOf(pod)} failed with exit code ${code}`
    }
  }
  return undefined
}

/** Returns the message if a rule for conditions matches the pod; undefined otherwise. */
const byCondition = (rule: JsonObject, pod: JsonObject): string | undefined => {
  const patterns = objects(rule.onPodConditions)
  const found = objects(at(pod, "status", "conditions")).find((condition) =>
    patterns.some(({ status, type }) => type === condition.type && status === condition.status)
  )
  return found === undefined ? undefined : `Pod ${namespaceOf(pod)}/${nameOf(pod)} has condition ${text(found.type)}`
}
