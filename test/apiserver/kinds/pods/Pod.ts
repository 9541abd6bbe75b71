/** v1 Pod and PodTemplate. */

import * as FieldError from "../../model/FieldError.ts"
import * as Format from "../../model/Format.ts"
import type { DraftObject, JsonObject } from "../../model/Json.ts"
import * as Json from "../../model/Json.ts"
import { timestamp } from "../../model/Timestamp.ts"
import * as Check from "../Check.ts"
import {
  type Definition,
  drafts,
  type Errors,
  fill,
  keep,
  part,
  spec,
  statusStrategy,
  strategy
} from "../Definition.ts"
import * as AppArmor from "./AppArmor.ts"
import * as Admission from "./PodAdmission.ts"
import * as Defaults from "./PodDefaults.ts"
import * as Validation from "./PodValidation.ts"
import * as PodWarnings from "./PodWarnings.ts"
import * as QualityOfService from "./QualityOfService.ts"

const specOf = (object: JsonObject): JsonObject => Json.object(object.spec)

const main = strategy({
  shape: "core/v1.Pod",
  generation: spec,
  status: { phase: "Pending" },
  default: (draft) => {
    Defaults.pod(draft)
    Defaults.status(draft)
  },
  admit: Admission.admit,
  prepareForCreate: (draft, writing) => {
    const podSpec = Json.member(draft, "spec")
    const status = Json.member(draft, "status")
    AppArmor.sync(draft, writing.warn)
    status.qosClass = QualityOfService.of(podSpec)
    if (Json.list(podSpec.schedulingGates).length > 0) {
      status.conditions = [
        {
          type: "PodScheduled",
          status: "False",
          reason: "SchedulingGated",
          message: "Scheduling is blocked due to non-empty scheduling gates",
          lastProbeTime: null,
          lastTransitionTime: timestamp(writing.now)
        }
      ]
    }
  },
  *warnings(pod, old) {
    // Mostly controllers update Pods, and controllers do not read warnings.
    if (old !== undefined) return
    yield* PodWarnings.ofName(pod, "the Pod's hostname")
    yield* PodWarnings.of("", pod)
  },
  *validate(pod) {
    yield* Validation.ofPod(specOf(pod))
    if (Json.list(specOf(pod).ephemeralContainers).length > 0) {
      yield FieldError.forbidden("spec.ephemeralContainers", "cannot be set on create")
    }
    if (specOf(pod).nodeName !== undefined && Json.list(specOf(pod).schedulingGates).length > 0) {
      yield FieldError.forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared")
    }
  },
  *validateUpdate(pod, old) {
    yield* Validation.ofPod(specOf(pod))
    yield* Validation.change(specOf(pod), specOf(old))
  }
})

/** Keeps fields that an older kubelet does not know and leaves out. */
const prepareStatus = (draft: DraftObject, old: JsonObject): void => {
  const status = Json.member(draft, "status")
  for (const name of ["qosClass", "observedGeneration"])
    if (status[name] === undefined) keep(draft, old, "status", name)
  const before = Json.objects(Json.at(old, "status", "conditions"))
  for (const condition of drafts(status, "conditions")) {
    const generation = Json.number(before.find(({ type }) => type === condition.type)?.observedGeneration)
    if (generation !== undefined) fill(condition, "observedGeneration", generation)
  }
}

function* validateStatus(pod: JsonObject, old: JsonObject): Errors {
  for (const [index, { type }] of Json.objects(Json.at(pod, "status", "conditions")).entries()) {
    const name = Json.text(type) ?? ""
    if (!systemConditions.has(name)) yield* Check.text(`status.conditions[${index}].type`, name, Format.labelKey)
  }
  yield* Check.immutable(
    "status.qosClass",
    Json.at(pod, "status", "qosClass") ?? "",
    Json.at(old, "status", "qosClass") ?? ""
  )
  yield* transitions("status.containerStatuses", pod, old)
}

const systemConditions: ReadonlySet<string> = new Set([
  "PodScheduled",
  "Ready",
  "Initialized",
  "ContainersReady",
  "DisruptionTarget"
])

/** Yields an error if a container leaves the state `terminated`, although the restart policy does not restart it. */
function* transitions(field: string, pod: JsonObject, old: JsonObject): Errors {
  const policy = Json.at(old, "spec", "restartPolicy")
  if (policy === "Always") return
  const now = Json.objects(Json.at(pod, "status", "containerStatuses"))
  for (const [index, before] of Json.objects(Json.at(old, "status", "containerStatuses")).entries()) {
    const ended = stateOf(before, "terminated")
    if (ended === undefined || (policy === "OnFailure" && ended.exitCode !== 0)) continue
    const next = now.find(({ name }) => name === before.name)
    if (next !== undefined && stateOf(next, "terminated") === undefined) {
      yield FieldError.forbidden(`${field}[${index}].state`, "may not be transitioned to non-terminated state")
    }
  }
}

const stateOf = (status: JsonObject, name: string): JsonObject | undefined => {
  const found = Json.at(status, "state", name)
  return Json.isObject(found) ? found : undefined
}

/** The message of the row condition `Completed`, by phase. */
const completed: ReadonlyMap<string, string> = new Map([
  ["Succeeded", "The pod has completed successfully."],
  ["Failed", "The pod failed."]
])

/** The definition of Pod. */
export const pod: Definition = {
  group: "",
  version: "v1",
  kind: "Pod",
  strategy: main,
  status: statusStrategy(main, "core/v1.Pod", {
    kept: [
      ["metadata", "deletionTimestamp"],
      ["metadata", "ownerReferences"]
    ],
    prepareForUpdate: prepareStatus,
    validateUpdate: validateStatus
  }),
  unconditionalUpdate: true,
  graceful: true,
  rowConditions: (object) => {
    const phase = Json.text(Json.at(object, "status", "phase")) ?? ""
    const message = completed.get(phase)
    return message === undefined ? [] : [{ type: "Completed", status: "True", reason: phase, message }]
  },
  gracePeriod: (object, requested) => {
    const phase = Json.at(object, "status", "phase")
    const scheduled = Json.text(specOf(object).nodeName) ?? ""
    if (scheduled === "" || phase === "Failed" || phase === "Succeeded") return 0
    const period = requested ?? Json.number(specOf(object).terminationGracePeriodSeconds) ?? 0
    return period < 0 ? 1 : period
  },
  selectableFields: (object) => {
    const podSpec = specOf(object)
    const status = Json.object(object.status)
    const ips = Json.objects(status.podIPs)
    return {
      "spec.nodeName": Json.text(podSpec.nodeName) ?? "",
      "spec.restartPolicy": Json.text(podSpec.restartPolicy) ?? "",
      "spec.schedulerName": Json.text(podSpec.schedulerName) ?? "",
      "spec.serviceAccountName": Json.text(podSpec.serviceAccountName) ?? "",
      "spec.hostNetwork": String(podSpec.hostNetwork === true),
      "status.phase": Json.text(status.phase) ?? "",
      "status.podIP": Json.text(ips[0]?.ip) ?? "",
      "status.nominatedNodeName": Json.text(status.nominatedNodeName) ?? ""
    }
  }
}

/** The definition of PodTemplate. */
export const podTemplate: Definition = {
  group: "",
  version: "v1",
  kind: "PodTemplate",
  strategy: strategy({
    shape: "core/v1.PodTemplate",
    generation: [["template"]],
    default: (draft) => Defaults.template(part(draft, "template")),
    warnings: (object, old) => PodWarnings.ofTemplate("template", object, old),
    validate: (object) => Validation.template("template", Json.object(object.template))
  }),
  unconditionalUpdate: true
}
