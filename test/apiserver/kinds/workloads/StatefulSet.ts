/** apps/v1 StatefulSet and ControllerRevision. StatefulSets and DaemonSets keep their revisions in ControllerRevisions. */
import * as FieldError from "../../model/FieldError.ts"
import * as Format from "../../model/Format.ts"
import type { JsonObject } from "../../model/Json.ts"
import * as Json from "../../model/Json.ts"
import * as Check from "../Check.ts"
import { type Definition, drafts, type Errors, fill, part, spec, statusStrategy, strategy } from "../Definition.ts"
import * as PodDefaults from "../pods/PodDefaults.ts"
import * as PodValidation from "../pods/PodValidation.ts"
import * as PodWarnings from "../pods/PodWarnings.ts"
import * as Claim from "../storage/ClaimDefaults.ts"
import * as Templates from "./Templates.ts"

const main = strategy({
  shape: "apps/v1.StatefulSet",
  status: { replicas: 0 },
  generation: spec,
  default: (draft) => {
    const given = Json.member(draft, "spec")
    PodDefaults.template(part(given, "template"))
    fill(given, "podManagementPolicy", "OrderedReady")
    const update = Json.member(given, "updateStrategy")
    if (update.type === undefined) {
      update.type = "RollingUpdate"
      fill(update, "rollingUpdate", {})
    }
    const rolling = part(update, "rollingUpdate")
    if (update.type === "RollingUpdate" && rolling !== undefined) {
      fill(rolling, "partition", 0)
      fill(rolling, "maxUnavailable", 1)
    }
    const retention = Json.member(given, "persistentVolumeClaimRetentionPolicy")
    fill(retention, "whenDeleted", "Retain")
    fill(retention, "whenScaled", "Retain")
    fill(given, "replicas", 1)
    fill(given, "revisionHistoryLimit", 10)
    for (const claim of drafts(given, "volumeClaimTemplates")) {
      fill(claim, "apiVersion", "v1")
      fill(claim, "kind", "PersistentVolumeClaim")
      Claim.fillIn(claim)
    }
  },
  warnings: (object, old) => PodWarnings.ofTemplate("spec.template", object, old),
  validate: (object) => validate(object, true),
  *validateUpdate(object, old) {
    yield* validate(object, false)
    yield* Check.immutableSelector(object, old)
    for (const name of ["volumeClaimTemplates", "serviceName", "podManagementPolicy"]) {
      yield* Check.immutable(`spec.${name}`, Json.at(object, "spec", name), Json.at(old, "spec", name))
    }
  }
})

function* validate(object: JsonObject, isNew: boolean): Errors {
  const given = Json.object(object.spec)
  const policy = given.podManagementPolicy
  if (policy !== "OrderedReady" && policy !== "Parallel") {
    yield FieldError.invalid("spec.podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'")
  }
  yield* validateUpdate(Json.object(given.updateStrategy))
  yield* Check.notNegative("spec.replicas", given.replicas)
  yield* Check.notNegative("spec.minReadySeconds", given.minReadySeconds)
  const service = Json.text(given.serviceName) ?? ""
  if (isNew && service !== "") yield* Check.text("spec.serviceName", service, Format.dnsLabel)
  yield* Templates.selector("spec.selector", given.selector, "statefulset")
  const template = withClaims(given)
  yield* Templates.selected("spec.template", template, given.selector)
  yield* PodValidation.template("spec.template", template)
  yield* Templates.forEver("spec.template", template, "StatefulSet")
}

/** The Pod template with the volumes of the `volumeClaimTemplates`. */
const withClaims = (given: JsonObject): JsonObject => {
  const template = Json.object(given.template)
  const claims = Json.objects(given.volumeClaimTemplates)
  if (claims.length === 0) return template
  const names = new Set(claims.map((claim) => Json.text(Json.at(claim, "metadata", "name")) ?? ""))
  const added = [...names].map((name) => ({ name, persistentVolumeClaim: { claimName: name } }))
  const own = Json.objects(Json.at(template, "spec", "volumes")).filter(({ name }) => !names.has(Json.text(name) ?? ""))
  return { ...template, spec: { ...Json.object(template.spec), volumes: [...added, ...own] } }
}

function* validateUpdate({ rollingUpdate, type }: JsonObject): Errors {
  // The value as a kube-apiserver prints its internal Go type.
  const shown = Json.isObject(rollingUpdate)
    ? { Partition: rollingUpdate.partition ?? 0, MaxUnavailable: rollingUpdate.maxUnavailable ?? null }
    : null
  if (type === "OnDelete") {
    if (rollingUpdate !== undefined) {
      yield FieldError.invalid(
        "spec.updateStrategy.rollingUpdate",
        shown,
        "only allowed for updateStrategy 'RollingUpdate'"
      )
    }
  } else if (type === "RollingUpdate") {
    yield* Check.notNegative("spec.updateStrategy.rollingUpdate.partition", Json.at(rollingUpdate, "partition"))
  } else {
    yield FieldError.invalid(
      "spec.updateStrategy",
      { Type: type ?? "", RollingUpdate: shown },
      "must be 'RollingUpdate' or 'OnDelete'"
    )
  }
}

function* validateStatus(object: JsonObject): Errors {
  yield* Templates.counts(
    "status",
    Json.object(object.status),
    [
      "replicas",
      "readyReplicas",
      "currentReplicas",
      "updatedReplicas",
      "availableReplicas",
      "observedGeneration",
      "collisionCount"
    ],
    [
      ["readyReplicas", "replicas", "status.replicas"],
      ["currentReplicas", "replicas", "status.replicas"],
      ["updatedReplicas", "replicas", "status.replicas"],
      ["availableReplicas", "replicas", "status.replicas"],
      ["availableReplicas", "readyReplicas", "status.readyReplicas"]
    ]
  )
}

/** The definition of apps/v1 StatefulSet. */
export const statefulSet: Definition = {
  group: "apps",
  version: "v1",
  kind: "StatefulSet",
  strategy: main,
  status: statusStrategy(main, "apps/v1.StatefulSet", { validateUpdate: validateStatus }),
  scale: {
    specReplicas: ["spec", "replicas"],
    statusReplicas: ["status", "replicas"],
    selector: ["spec", "selector"]
  },
  unconditionalUpdate: true
}

/** The definition of apps/v1 ControllerRevision. */
export const controllerRevision: Definition = {
  group: "apps",
  version: "v1",
  kind: "ControllerRevision",
  strategy: strategy({
    shape: "apps/v1.ControllerRevision",
    validate: validateRevision,
    *validateUpdate(object, old) {
      yield* validateRevision(object)
      yield* Check.immutable("data", object.data, old.data)
    }
  }),
  unconditionalUpdate: true
}

function* validateRevision(object: JsonObject): Errors {
  if (object.data === undefined || object.data === null) yield FieldError.required("data", "data is mandatory")
  yield* Check.notNegative("revision", object.revision)
}
