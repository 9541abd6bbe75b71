/** apps/v1 DaemonSet. */
import * as FieldError from "../../model/FieldError.ts"
import type { DraftObject, JsonObject } from "../../model/Json.ts"
import * as Json from "../../model/Json.ts"
import * as Check from "../Check.ts"
import { type Definition, type Errors, fill, part, spec, statusStrategy, strategy } from "../Definition.ts"
import * as PodDefaults from "../pods/PodDefaults.ts"
import * as PodValidation from "../pods/PodValidation.ts"
import * as PodWarnings from "../pods/PodWarnings.ts"
import * as Templates from "./Templates.ts"

/** The annotation in which v1 keeps `templateGeneration` of the internal type. */
const templateGeneration = "deprecated.daemonset.template.generation"

const main = strategy({
  shape: "apps/v1.DaemonSet",
  status: {},
  generation: spec,
  default: (draft) => {
    // A kube-apiserver converts the annotation to a number of the internal type, and back.
    annotate(draft, generationOf(draft))
    const given = Json.member(draft, "spec")
    PodDefaults.template(part(given, "template"))
    const update = Json.member(given, "updateStrategy")
    fill(update, "type", "RollingUpdate")
    if (update.type === "RollingUpdate") {
      const rolling = Json.member(update, "rollingUpdate")
      fill(rolling, "maxUnavailable", 1)
      fill(rolling, "maxSurge", 0)
    }
    fill(given, "revisionHistoryLimit", 10)
  },
  prepareForCreate: (draft) => annotate(draft, Math.max(1, generationOf(draft))),
  prepareForUpdate: (draft, old) => {
    const before = generationOf(old)
    const changed = !Json.equal(Json.at(draft, "spec", "template"), Json.at(old, "spec", "template"))
    annotate(draft, before + (changed ? 1 : 0))
  },
  warnings: (object, old) => PodWarnings.ofTemplate("spec.template", object, old),
  validate,
  *validateUpdate(object, old) {
    yield* Check.immutableSelector(object, old)
    yield* validate(object)
  }
})

const annotate = (draft: DraftObject, generation: number): void => {
  Json.member(Json.member(draft, "metadata"), "annotations")[templateGeneration] = String(generation)
}

const generationOf = (object: JsonObject): number =>
  Number(Json.text(Json.at(object, "metadata", "annotations", templateGeneration)) ?? 0)

function* validate(object: JsonObject): Errors {
  const given = Json.object(object.spec)
  const { selector } = given
  const template = Json.object(given.template)
  yield* Check.labelSelector("spec.selector", selector)
  if (Json.isObject(selector)) {
    yield* Templates.selected("spec.template", template, selector)
    if (Check.isEmptySelector(selector)) {
      yield FieldError.invalid("spec.selector", selector, "empty selector is invalid for daemonset")
    }
  }
  yield* PodValidation.template("spec.template", template)
  yield* Templates.forEver("spec.template", template, "DaemonSet")
  yield* Check.notNegative("spec.minReadySeconds", given.minReadySeconds)
  yield* validateUpdate(Json.object(given.updateStrategy))
  yield* Check.notNegative("spec.revisionHistoryLimit", given.revisionHistoryLimit)
}

function* validateUpdate(strategy: JsonObject): Errors {
  if (strategy.type === "OnDelete") return
  if (strategy.type !== "RollingUpdate") {
    return yield FieldError.make(
      "FieldValueNotSupported",
      "spec.updateStrategy",
      Templates.shownUpdate(strategy),
      'supported values: "RollingUpdate", "OnDelete"'
    )
  }
  const at = "spec.updateStrategy.rollingUpdate"
  const { maxSurge, maxUnavailable } = Json.object(strategy.rollingUpdate)
  yield* Templates.countOrShare(`${at}.maxUnavailable`, maxUnavailable)
  yield* Templates.countOrShare(`${at}.maxSurge`, maxSurge)
  yield* Templates.atMostAll(`${at}.maxUnavailable`, maxUnavailable)
  yield* Templates.atMostAll(`${at}.maxSurge`, maxSurge)
  if (Templates.isNone(maxUnavailable)) {
    if (Templates.isNone(maxSurge)) yield FieldError.required(`${at}.maxUnavailable`, "cannot be 0 when maxSurge is 0")
  } else if (!Templates.isNone(maxSurge)) {
    yield FieldError.invalid(`${at}.maxSurge`, maxSurge, "may not be set when maxUnavailable is non-zero")
  }
}

/** The definition of DaemonSet. */
export const daemonSet: Definition = {
  group: "apps",
  version: "v1",
  kind: "DaemonSet",
  strategy: main,
  status: statusStrategy(main, "apps/v1.DaemonSet", {
    validateUpdate: (object) =>
      Templates.counts(
        "status",
        Json.object(object.status),
        [
          "currentNumberScheduled",
          "numberMisscheduled",
          "desiredNumberScheduled",
          "numberReady",
          "observedGeneration",
          "updatedNumberScheduled",
          "numberAvailable",
          "numberUnavailable"
        ],
        []
      )
  }),
  unconditionalUpdate: true,
  internal: (object) => {
    const draft = Json.copy(object)
    const metadata = Json.member(draft, "metadata")
    const annotations = Json.member(metadata, "annotations")
    delete annotations[templateGeneration]
    if (Json.isEmpty(annotations)) delete metadata.annotations
    return draft
  }
}
