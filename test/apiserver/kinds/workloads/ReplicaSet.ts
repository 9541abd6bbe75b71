/** apps/v1 ReplicaSet and its predecessor, v1 ReplicationController. */
import * as FieldError from "../../model/FieldError.ts"
import type { JsonObject } from "../../model/Json.ts"
import * as Json from "../../model/Json.ts"
import * as Check from "../Check.ts"
import { type Definition, type Errors, fill, part, spec, statusStrategy, strategy } from "../Definition.ts"
import * as PodDefaults from "../pods/PodDefaults.ts"
import * as PodWarnings from "../pods/PodWarnings.ts"
import * as Templates from "./Templates.ts"

const scale = {
  specReplicas: ["spec", "replicas"],
  statusReplicas: ["status", "replicas"],
  selector: ["spec", "selector"]
}

const selectableFields = (object: JsonObject) => ({
  "status.replicas": String(Json.number(Json.at(object, "status", "replicas")) ?? 0)
})

function* validateStatus(object: JsonObject): Errors {
  yield* Templates.counts(
    "status",
    Json.object(object.status),
    [
      "replicas",
      "fullyLabeledReplicas",
      "readyReplicas",
      "availableReplicas",
      "observedGeneration",
      "terminatingReplicas"
    ],
    [
      ["fullyLabeledReplicas", "replicas", "status.replicas"],
      ["readyReplicas", "replicas", "status.replicas"],
      ["availableReplicas", "replicas", "status.replicas"],
      ["availableReplicas", "readyReplicas", "readyReplicas"]
    ]
  )
}

function* validateSet(object: JsonObject): Errors {
  const given = Json.object(object.spec)
  yield* Check.notNegative("spec.replicas", given.replicas)
  yield* Check.notNegative("spec.minReadySeconds", given.minReadySeconds)
  yield* Templates.selector("spec.selector", given.selector, "deployment")
  yield* Templates.selectedAlways(given, "ReplicaSet")
}

const setStrategy = strategy({
  shape: "apps/v1.ReplicaSet",
  // A kube-apiserver writes `replicas` even if it is 0.
  status: { replicas: 0 },
  generation: spec,
  default: (draft) => {
    const given = Json.member(draft, "spec")
    PodDefaults.template(part(given, "template"))
    fill(given, "replicas", 1)
  },
  *warnings(object, old) {
    if (old === undefined) yield* PodWarnings.ofName(object, "Pod names and hostnames")
    yield* PodWarnings.ofTemplate("spec.template", object, old)
  },
  validate: validateSet,
  *validateUpdate(object, old) {
    yield* validateSet(object)
    yield* Check.immutableSelector(object, old)
  }
})

/** The definition of apps/v1 ReplicaSet. */
export const replicaSet: Definition = {
  group: "apps",
  version: "v1",
  kind: "ReplicaSet",
  strategy: setStrategy,
  status: statusStrategy(setStrategy, "apps/v1.ReplicaSet", { validateUpdate: validateStatus }),
  scale,
  selectableFields,
  unconditionalUpdate: true
}

function* validateController(object: JsonObject): Errors {
  const given = Json.object(object.spec)
  const selector = Json.texts(given.selector)
  if (Object.keys(selector).length === 0) yield FieldError.required("spec.selector")
  const template = given.template
  if (Json.isObject(template)) {
    yield* Templates.selected("spec.template", template, { matchLabels: selector })
    yield* Templates.always("spec.template", template, "ReplicationController")
  } else yield FieldError.required("spec.template")
  yield* Check.notNegative("spec.replicas", given.replicas)
  yield* Check.notNegative("spec.minReadySeconds", given.minReadySeconds)
}

const controllerStrategy = strategy({
  shape: "core/v1.ReplicationController",
  status: { replicas: 0 },
  generation: spec,
  default: (draft) => {
    const given = Json.member(draft, "spec")
    const template = part(given, "template")
    PodDefaults.template(template)
    fill(given, "replicas", 1)
    const labels = Json.at(template, "metadata", "labels")
    if (labels === undefined) return
    fill(given, "selector", Json.copy(labels))
    fill(Json.member(draft, "metadata"), "labels", Json.copy(labels))
  },
  *warnings(object, old) {
    if (old === undefined) yield* PodWarnings.ofName(object, "Pod names and hostnames")
    yield* PodWarnings.ofTemplate("spec.template", object, old)
  },
  validate: validateController
})

/** The definition of v1 ReplicationController. */
export const replicationController: Definition = {
  group: "",
  version: "v1",
  kind: "ReplicationController",
  strategy: controllerStrategy,
  status: statusStrategy(controllerStrategy, "core/v1.ReplicationController", { validateUpdate: validateStatus }),
  scale,
  selectableFields,
  dependents: "orphaned",
  unconditionalUpdate: true
}
