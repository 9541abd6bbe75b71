/**
 * autoscaling/v1 and autoscaling/v2 HorizontalPodAutoscaler, stored as v2. Like a kube-apiserver, v1 keeps fields that only v2 has
 * in annotations. Unlike a kube-apiserver, v1 writes these annotations in the form of v2.
 */
import * as FieldError from "../../model/FieldError.ts"
import * as Format from "../../model/Format.ts"
import type { Draft, DraftObject, JsonObject } from "../../model/Json.ts"
import * as Json from "../../model/Json.ts"
import * as Check from "../Check.ts"
import { type Definition, drafts, type Errors, fill, part, spec, statusStrategy, strategy } from "../Definition.ts"

const cpu = (utilization: number): DraftObject => ({
  type: "Resource",
  resource: { name: "cpu", target: { type: "Utilization", averageUtilization: utilization } }
})

/** The default target of CPU utilization, in percent of the request. */
const usual = 80

const policy = (type: string, value: number): DraftObject => ({ type, value, periodSeconds: 15 })

const fillRules = (
  rules: DraftObject,
  stabilization: number | undefined,
  policies: ReadonlyArray<DraftObject>
): void => {
  if (stabilization !== undefined) fill(rules, "stabilizationWindowSeconds", stabilization)
  fill(rules, "selectPolicy", "Max")
  fill(rules, "policies", [...policies])
}

const main = strategy({
  shape: "autoscaling/v2.HorizontalPodAutoscaler",
  status: { desiredReplicas: 0, currentMetrics: null },
  generation: spec,
  default: (draft) => {
    const given = Json.member(draft, "spec")
    fill(given, "minReplicas", 1)
    fill(given, "metrics", [cpu(usual)])
    const behavior = part(given, "behavior")
    if (behavior === undefined) return
    fillRules(Json.member(behavior, "scaleUp"), 0, [policy("Pods", 4), policy("Percent", 100)])
    fillRules(Json.member(behavior, "scaleDown"), undefined, [policy("Percent", 100)])
  },
  validate: (object) => validate(Json.object(object.spec))
})

function* validate(given: JsonObject): Errors {
  const least = Json.number(given.minReplicas)
  const most = Json.number(given.maxReplicas) ?? 0
  if (least !== undefined && least < 0) {
    yield FieldError.invalid("spec.minReplicas", least, "must be greater than or equal to 0")
  }
  if (most < 1) yield FieldError.invalid("spec.maxReplicas", most, "must be greater than 0")
  if (least !== undefined && most < least) {
    yield FieldError.invalid("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`")
  }
  const target = Json.object(given.scaleTargetRef)
  yield* Check.requiredText("spec.scaleTargetRef.kind", target.kind, Format.pathSegment)
  yield* Check.requiredText("spec.scaleTargetRef.name", target.name, Format.pathSegment)
  const version = Json.text(target.apiVersion) ?? ""
  if (!version.includes("/")) {
    yield FieldError.invalid("spec.scaleTargetRef.apiVersion", version, "apiVersion must specify API group")
  }
}

const annotation = (name: string): string => `autoscaling.alpha.kubernetes.io/${name}`

const kept: ReadonlyArray<readonly [annotation: string, path: ReadonlyArray<string>]> = [
  [annotation("metrics"), ["spec", "metrics"]],
  [annotation("behavior"), ["spec", "behavior"]],
  [annotation("current-metrics"), ["status", "currentMetrics"]],
  [annotation("conditions"), ["status", "conditions"]]
]

const utilization = (metric: Draft): number | undefined =>
  Json.at(metric, "resource", "name") === "cpu"
    ? Json.number(Json.at(metric, "resource", "target", "averageUtilization"))
    : undefined

const toV1 = (stored: JsonObject): JsonObject => {
  const draft = Json.copy(stored)
  draft.apiVersion = "autoscaling/v1"
  const given = Json.member(draft, "spec")
  const metrics = drafts(given, "metrics")
  const percent = metrics.map(utilization).find((one) => one !== undefined)
  if (percent !== undefined) given.targetCPUUtilizationPercentage = percent
  given.metrics = metrics.filter((metric) => utilization(metric) === undefined)
  for (const [name, path] of kept) {
    const value = Json.at(draft, ...path)
    const [holder = "", field = ""] = path
    if (value !== undefined && value !== null && !(Json.isList(value) && value.length === 0)) {
      Json.member(Json.member(draft, "metadata"), "annotations")[name] = JSON.stringify(value)
    }
    delete Json.member(draft, holder)[field]
  }
  const status = Json.member(draft, "status")
  fill(status, "currentReplicas", 0)
  fill(status, "desiredReplicas", 0)
  return draft
}

const fromV1 = (object: JsonObject): JsonObject => {
  const draft = Json.copy(object)
  draft.apiVersion = "autoscaling/v2"
  const annotations = part(part(draft, "metadata"), "annotations")
  for (const [name, path] of kept) {
    const text = Json.text(annotations?.[name])
    if (text === undefined) continue
    const [holder = "", field = ""] = path
    Json.member(draft, holder)[field] = parsed(text) ?? null
    delete annotations?.[name]
  }
  if (annotations !== undefined && Json.isEmpty(annotations)) delete Json.member(draft, "metadata").annotations
  const given = Json.member(draft, "spec")
  const percent = Json.number(given.targetCPUUtilizationPercentage)
  delete given.targetCPUUtilizationPercentage
  const metrics = drafts(given, "metrics")
  given.metrics = percent === undefined ? [...metrics] : [...metrics, cpu(percent)]
  if (Json.list(given.metrics).length === 0) given.metrics = [cpu(usual)]
  fill(Json.member(draft, "status"), "currentMetrics", null)
  return draft
}

const parsed = (text: string): Draft | undefined => {
  try {
    return JSON.parse(text) as Draft
  } catch {
    return undefined
  }
}

const v1 = strategy({
  shape: "autoscaling/v1.HorizontalPodAutoscaler",
  status: { currentReplicas: 0, desiredReplicas: 0 },
  generation: spec,
  default: (draft) => fill(Json.member(draft, "spec"), "minReplicas", 1),
  validate: (object) => validate(Json.object(object.spec))
})

const shared = {
  group: "autoscaling",
  kind: "HorizontalPodAutoscaler",
  storage: "autoscaling/horizontalpodautoscalers",
  unconditionalUpdate: true
} as const

/** The definition of autoscaling/v2. */
export const autoscaler: Definition = {
  ...shared,
  version: "v2",
  strategy: main,
  status: statusStrategy(main, "autoscaling/v2.HorizontalPodAutoscaler")
}

/** The stored object by its v1 conversion. It keeps the order of the metrics, which v1 loses. */
const stores = new WeakMap<JsonObject, JsonObject>()

/** The definition of autoscaling/v1. */
export const olderAutoscaler: Definition = {
  ...shared,
  version: "v1",
  strategy: v1,
  status: statusStrategy(v1, "autoscaling/v1.HorizontalPodAutoscaler"),
  fromStorage: (stored) => {
    const object = toV1(stored)
    stores.set(object, stored)
    return object
  },
  toStorage: fromV1,
  internal: (object) => stores.get(object) ?? fromV1(object)
}
