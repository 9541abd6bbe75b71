/**
 * Built-in kinds whose fields are owned in ways that custom ones don't have: a list with defaults among its keys, structs that are
 * always there, merge keys of old, no schema of its own for data.
 */
import type { Owned } from "@homeostat/testkit/server/apply/ManagedFields"
import * as Shape from "@homeostat/testkit/server/builtin/Shape"
import type { Draft, DraftObject, Json, JsonObject } from "@homeostat/testkit/server/Json"
import * as J from "@homeostat/testkit/server/Json"
import type { Scale } from "@homeostat/testkit/server/Kind"
import { schemaOf } from "@homeostat/testkit/server/openapi/Documents"
import type { Subject } from "./Judge.ts"

const owned = (group: string, version: string, kind: string): Owned => ({
  group,
  version,
  kind,
  custom: false,
  schema: schemaOf(group, version, kind) ?? {},
  zero: Shape.zero(Shape.of(Shape.nameOf({ group, version, kind })))
})

/** The members that have defaults: what the server filled in is taken from its answer. */
const defaulted = new Set([
  "replicas",
  "strategy",
  "type",
  "rollingUpdate",
  "maxSurge",
  "maxUnavailable",
  "revisionHistoryLimit",
  "progressDeadlineSeconds",
  "restartPolicy",
  "terminationGracePeriodSeconds",
  "dnsPolicy",
  "securityContext",
  "schedulerName",
  "terminationMessagePath",
  "terminationMessagePolicy",
  "imagePullPolicy",
  "protocol",
  "targetPort",
  "sessionAffinity",
  "sessionAffinityConfig",
  "internalTrafficPolicy",
  "defaultMode",
  "apiVersion"
])

const fill = (draft: Draft | undefined, answer: Json | undefined): void => {
  if (Array.isArray(draft)) {
    if (!J.isList(answer) || answer.length !== draft.length) return
    for (const [index, item] of draft.entries()) fill(item, answer[index])
    return
  }
  if (typeof draft !== "object" || draft === null || !J.isObject(answer)) return
  for (const [name, value] of Object.entries(answer)) {
    if (value === undefined) continue
    if ((draft[name] ?? null) === null && defaulted.has(name)) draft[name] = J.copy(value)
    else fill(draft[name], value)
  }
}

const read =
  (shape: string) =>
  (draft: DraftObject, answer: JsonObject): void => {
    Shape.canonicalize(Shape.of(shape), draft, "kept")
    if (answer.kind !== "Status") fill(draft.spec, answer.spec)
    Shape.canonicalize(Shape.of(shape), draft, "kept")
  }

const replicas: Scale = {
  specReplicas: ["spec", "replicas"],
  statusReplicas: ["status", "replicas"],
  selector: undefined
}

/** Deployments. */
export const deployments: Subject = {
  kind: { ...owned("apps", "v1", "Deployment"), plural: "deployments", scale: replicas },
  resetFields: [["status"]],
  statusResetFields: [["spec"], ["metadata", "labels"]],
  default: read("apps.Deployment"),
  prepared: []
}

/** Services. */
export const services: Subject = {
  kind: { ...owned("", "v1", "Service"), plural: "services", scale: undefined },
  resetFields: [["status"]],
  statusResetFields: [["spec"]],
  default: read("Service"),
  prepared: [
    ["spec", "clusterIP"],
    ["spec", "clusterIPs"],
    ["spec", "ipFamilies"],
    ["spec", "ipFamilyPolicy"]
  ]
}

/** ConfigMaps. */
export const configMaps: Subject = {
  kind: { ...owned("", "v1", "ConfigMap"), plural: "configmaps", scale: undefined },
  resetFields: [],
  statusResetFields: [],
  default: read("ConfigMap"),
  prepared: []
}
