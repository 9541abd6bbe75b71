/**
 * Validation of references in a Pod: to its fields, its resources, and keys of ConfigMaps and Secrets.
 */
import * as FieldError from "../../model/FieldError.ts"
import * as Format from "../../model/Format.ts"
import type { JsonObject } from "../../model/Json.ts"
import * as Json from "../../model/Json.ts"
import * as Check from "../Check.ts"
import type { Errors } from "../Definition.ts"

/** Yields the errors of a `fieldRef`. Files (`file`) and variables support different fields. */
export function* fieldRef(field: string, reference: JsonObject, file: boolean): Errors {
  const path = Json.text(reference.fieldPath) ?? ""
  if (path === "") return yield FieldError.required(`${field}.fieldPath`)
  const allowed = file ? fileFields : variableFields
  const subscript = /^(metadata\.annotations|metadata\.labels)\['(.*)'\]$/.exec(path)
  if (subscript !== null) {
    const [, of, key = ""] = subscript
    return yield* Check.text(field, of === "metadata.annotations" ? key.toLowerCase() : key, Format.labelKey)
  }
  if (!known.has(path)) {
    return yield FieldError.invalid(
      `${field}.fieldPath`,
      path,
      `error converting fieldPath: field label not supported: ${path}`
    )
  }
  if (!allowed.includes(path)) yield FieldError.notSupported(`${field}.fieldPath`, path, allowed)
}

/** Yields the errors of a `resourceFieldRef`. A file (`file`) requires `containerName`. */
export function* resourceFieldRef(field: string, reference: JsonObject, file: boolean): Errors {
  const resource = Json.text(reference.resource) ?? ""
  if (file && (Json.text(reference.containerName) ?? "") === "") {
    return yield FieldError.required(`${field}.containerName`)
  }
  if (resource === "") yield FieldError.required(`${field}.resource`)
  else if (!resources.includes(resource) && !/^(limits|requests)\.hugepages-/.test(resource)) {
    yield FieldError.notSupported(`${field}.resource`, resource, resources)
  }
}

/** Yields the errors of a reference to a key of a ConfigMap or Secret. */
export function* keyRef(field: string, reference: JsonObject): Errors {
  yield* Check.text(`${field}.name`, Json.text(reference.name) ?? "", Format.dnsSubdomain)
  yield* Check.requiredText(`${field}.key`, reference.key, Format.configKey)
}

const variableFields = [
  "metadata.name",
  "metadata.namespace",
  "metadata.uid",
  "spec.nodeName",
  "spec.serviceAccountName",
  "status.hostIP",
  "status.hostIPs",
  "status.podIP",
  "status.podIPs"
]

const fileFields = ["metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"]

const known: ReadonlySet<string> = new Set([
  ...variableFields,
  ...fileFields,
  "spec.restartPolicy",
  "spec.schedulerName",
  "status.phase"
])

const resources = [
  "limits.cpu",
  "limits.ephemeral-storage",
  "limits.memory",
  "requests.cpu",
  "requests.ephemeral-storage",
  "requests.memory"
]
