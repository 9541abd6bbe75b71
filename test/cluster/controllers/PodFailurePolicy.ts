/**
 * What a Job makes of a failed pod: the first rule of its policy that matches decides.
 */
import { at, type JsonObject, list, number, objects, text } from "@homeostat/apiserver/model/Json"
import { nameOf, namespaceOf } from "@homeostat/apiserver/model/ObjectMeta"

/** What comes of a failed pod. */
export interface Verdict {
  /** Whether it counts towards the limit. */
  readonly counts: boolean
  /** Why the Job fails by it; undefined: it does not. */
  readonly fails: string | undefined
}

const counted: Verdict = { counts: true, fails: undefined }

/** What a Job's policy says of a failed pod. */
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

/** What of the pod a rule about exit codes matches. */
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

/** What of the pod a rule about conditions matches. */
const byCondition = (rule: JsonObject, pod: JsonObject): string | undefined => {
  const patterns = objects(rule.onPodConditions)
  const found = objects(at(pod, "status", "conditions")).find((condition) =>
    patterns.some(({ status, type }) => type === condition.type && status === condition.status)
  )
  return found === undefined ? undefined : `Pod ${namespaceOf(pod)}/${nameOf(pod)} has condition ${text(found.type)}`
}
