/** apps/v1 Deployment. */
import * as FieldError from "../../model/FieldError.ts"
import type { JsonObject } from "../../model/Json.ts"
import * as Json from "../../model/Json.ts"
import * as Check from "../Check.ts"
import { type Definition, type Errors, fill, part, statusStrategy, strategy } from "../Definition.ts"
import * as PodDefaults from "../pods/PodDefaults.ts"
import * as PodWarnings from "../pods/PodWarnings.ts"
import * as Templates from "./Templates.ts"

const main = strategy({
  shape: "apps/v1.Deployment",
  status: {},
  generation: [["spec"], ["metadata", "annotations"]],
  default: (draft) => {
    const spec = Json.member(draft, "spec")
    PodDefaults.template(part(spec, "template"))
    fill(spec, "replicas", 1)
    const strategy = Json.member(spec, "strategy")
    fill(strategy, "type", "RollingUpdate")
    if (strategy.type === "RollingUpdate") {
      const rolling = Json.member(strategy, "rollingUpdate")
      fill(rolling, "maxUnavailable", "25%")
      fill(rolling, "maxSurge", "25%")
    }
    fill(spec, "revisionHistoryLimit", 10)
    fill(spec, "progressDeadlineSeconds", 600)
  },
  *warnings(object, old) {
    if (old === undefined) yield* PodWarnings.ofName(object, "Pod names and hostnames")
    yield* PodWarnings.ofTemplate("spec.template", object, old)
  },
  validate: (object) => validateSpec(Json.object(object.spec)),
  *validateUpdate(object, old) {
    yield* validateSpec(Json.object(object.spec))
    yield* Check.immutableSelector(object, old)
  }
})

function* validateSpec(spec: JsonObject): Errors {
  yield* Check.notNegative("spec.replicas", spec.replicas)
  yield* Templates.selector("spec.selector", spec.selector, "deployment")
  yield* Templates.selectedAlways(spec, "ReplicaSet")
  yield* validateStrategy(Json.object(spec.strategy))
  yield* Check.notNegative("spec.minReadySeconds", spec.minReadySeconds)
  yield* Check.notNegative("spec.revisionHistoryLimit", spec.revisionHistoryLimit)
  yield* Check.notNegative("spec.progressDeadlineSeconds", spec.progressDeadlineSeconds)
  const deadline = Json.number(spec.progressDeadlineSeconds)
  if (deadline !== undefined && deadline <= (Json.number(spec.minReadySeconds) ?? 0)) {
    yield FieldError.invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds")
  }
}

function* validateStrategy(strategy: JsonObject): Errors {
  const rolling = strategy.rollingUpdate
  if (strategy.type === "Recreate") {
    if (rolling !== undefined) {
      yield FieldError.forbidden(
        "spec.strategy.rollingUpdate",
        "may not be specified when strategy `type` is 'Recreate'"
      )
    }
    return
  }
  if (strategy.type !== "RollingUpdate") {
    return yield FieldError.make(
      "FieldValueNotSupported",
      "spec.strategy",
      Templates.shownUpdate(strategy),
      'supported values: "Recreate", "RollingUpdate"'
    )
  }
  const { maxSurge, maxUnavailable } = Json.object(rolling)
  yield* Templates.countOrShare("spec.strategy.rollingUpdate.maxUnavailable", maxUnavailable)
  yield* Templates.countOrShare("spec.strategy.rollingUpdate.maxSurge", maxSurge)
  if (Templates.isNone(maxUnavailable) && Templates.isNone(maxSurge)) {
    yield FieldError.invalid(
      "spec.strategy.rollingUpdate.maxUnavailable",
      maxUnavailable,
      "may not be 0 when `maxSurge` is 0"
    )
  }
  yield* Templates.atMostAll("spec.strategy.rollingUpdate.maxUnavailable", maxUnavailable)
}

function* validateStatus(object: JsonObject, old: JsonObject): Errors {
  const status = Json.object(object.status)
  yield* Templates.counts(
    "status",
    status,
    [
      "observedGeneration",
      "replicas",
      "updatedReplicas",
      "readyReplicas",
      "availableReplicas",
      "unavailableReplicas",
      "terminatingReplicas",
      "collisionCount"
    ],
    [
      ["updatedReplicas", "replicas", "status.replicas"],
      ["readyReplicas", "replicas", "status.replicas"],
      ["availableReplicas", "replicas", "status.replicas"],
      ["availableReplicas", "readyReplicas", "readyReplicas"]
    ]
  )
  const before = Json.number(Json.at(old, "status", "collisionCount"))
  const collisions = Json.number(status.collisionCount) ?? 0
  if (before !== undefined && (status.collisionCount === undefined || collisions < before)) {
    yield FieldError.invalid("status.collisionCount", collisions, "cannot be decremented")
  }
}

/** The definition of Deployment. */
export const deployment: Definition = {
  group: "apps",
  version: "v1",
  kind: "Deployment",
  strategy: main,
  status: statusStrategy(main, "apps/v1.Deployment", {
    kept: [["metadata", "labels"]],
    validateUpdate: validateStatus
  }),
  scale: {
    specReplicas: ["spec", "replicas"],
    statusReplicas: ["status", "replicas"],
    selector: ["spec", "selector"]
  },
  unconditionalUpdate: true
}
