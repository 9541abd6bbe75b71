/**
 * The admission plugins of a kube-apiserver that change Pods: Priority and DefaultTolerationSeconds.
 */
import * as Failure from "../../model/Failure.ts"
import type { DraftObject, JsonObject } from "../../model/Json.ts"
import * as Json from "../../model/Json.ts"
import type { Writing } from "../../model/Kind.ts"
import { keep } from "../Definition.ts"

/**
 * Applies both plugins to a Pod on create or update.
 * Throws a Failure (403) for an unknown class, or if the Pod's priority or preemption policy differs from that of its class.
 */
export const admit = (pod: DraftObject, old: JsonObject | null, writing: Writing): void => {
  const spec = Json.member(pod, "spec")
  if (old === null) prioritize(spec, pod, writing)
  else for (const name of ["priority", "preemptionPolicy"]) if (spec[name] === undefined) keep(pod, old, "spec", name)
  tolerate(spec)
}

const prioritize = (spec: DraftObject, pod: JsonObject, writing: Writing): void => {
  const className = Json.text(spec.priorityClassName) ?? ""
  const classes = writing.stored("scheduling.k8s.io/priorityclasses")
  const found = className === "" ? chosen(classes) : named(classes, className)
  if (className !== "" && found === undefined) throw refused(pod, `no PriorityClass with name ${className} was found`)
  const value = Json.number(found?.value) ?? 0
  const policy = Json.text(found?.preemptionPolicy) ?? "PreemptLowerPriority"
  if (found !== undefined) spec.priorityClassName = Json.text(Json.at(found, "metadata", "name"))
  if (spec.priority !== undefined && spec.priority !== value) {
    throw refused(
      pod,
      `the integer value of priority (${spec.priority}) must not be provided in pod spec; priority admission controller computed ${value} from the given PriorityClass name`
    )
  }
  spec.priority = value
  if (spec.preemptionPolicy !== undefined && spec.preemptionPolicy !== policy) {
    throw refused(
      pod,
      `the string value of PreemptionPolicy (${spec.preemptionPolicy}) must not be provided in pod spec; priority admission controller computed ${policy} from the given PriorityClass name`
    )
  }
  spec.preemptionPolicy = policy
}

const system: ReadonlyArray<JsonObject> = [
  { metadata: { name: "system-cluster-critical" }, value: 2_000_000_000 },
  { metadata: { name: "system-node-critical" }, value: 2_000_001_000 }
]

const named = (classes: ReadonlyArray<JsonObject>, name: string): JsonObject | undefined =>
  [...classes, ...system].find((one) => Json.at(one, "metadata", "name") === name)

/** The global default class. If several are marked, the one with the lowest value. */
const chosen = (classes: ReadonlyArray<JsonObject>): JsonObject | undefined =>
  classes
    .filter((one) => one.globalDefault === true)
    .toSorted((one, other) => (Json.number(one.value) ?? 0) - (Json.number(other.value) ?? 0))[0]

/** The Failure (403). It names `generateName`, because admission runs before the name is generated. */
const refused = (pod: JsonObject, message: string): Failure.Failure => {
  const { generateName, name } = Json.object(pod.metadata)
  return Failure.forbidden(
    { group: "", kind: "Pod", plural: "pods" },
    Json.text(generateName) ?? Json.text(name) ?? "",
    message
  )
}

/** Adds the default tolerations: the Pod stays for 300 seconds on a node that is not ready or unreachable. */
const tolerate = (spec: DraftObject): void => {
  const given = Json.objects(spec.tolerations)
  const missing = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"].filter(
    (key) => !given.some((toleration) => tolerates(toleration, key))
  )
  if (missing.length === 0) return
  Json.items(spec, "tolerations").push(
    ...missing.map((key) => ({ key, operator: "Exists", effect: "NoExecute", tolerationSeconds: 300 }))
  )
}

const tolerates = ({ effect, key }: JsonObject, taint: string): boolean =>
  (key === undefined || key === taint) && (effect === undefined || effect === "NoExecute")
