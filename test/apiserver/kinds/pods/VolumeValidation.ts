/**
 * Validation of the volumes of a Pod.
 * It does not validate the fields of volumes of clouds and storage systems, only that each volume has one source.
 */
import * as FieldError from "../../model/FieldError.ts"
import * as Format from "../../model/Format.ts"
import type { JsonObject, Json as JsonValue } from "../../model/Json.ts"
import * as Json from "../../model/Json.ts"
import * as Quantity from "../../model/Quantity.ts"
import * as Check from "../Check.ts"
import type { Errors } from "../Definition.ts"
import { fieldRef, resourceFieldRef } from "./References.ts"

/** Yields the errors of `volumes`. Adds each valid volume to `mountable`, by name. */
export function* volumes(field: string, spec: JsonObject, mountable: Map<string, JsonObject>): Errors {
  for (const [index, volume] of Json.objects(spec.volumes).entries()) {
    const at = `${field}.volumes[${index}]`
    const name = Json.text(volume.name) ?? ""
    const errors = [...source(at, volume), ...Check.requiredText(`${at}.name`, name, Format.dnsLabel)]
    if (mountable.has(name)) errors.push(FieldError.duplicate(`${at}.name`, name))
    if (errors.length === 0) mountable.set(name, volume)
    else yield* errors
  }
}

/** Yields an error unless the path is relative and has no `..` step. */
export function* descendingPath(field: string, path: string): Errors {
  if (path.startsWith("/")) yield FieldError.invalid(field, path, "must be a relative path")
  yield* noBackSteps(field, path)
}

const fileMode = "must be a number between 0 and 0777 (octal), both inclusive"

/** The volume sources in the order in which a kube-apiserver validates them. */
const sources: ReadonlyArray<string> = [
  "emptyDir",
  "hostPath",
  "gitRepo",
  "gcePersistentDisk",
  "awsElasticBlockStore",
  "secret",
  "nfs",
  "iscsi",
  "glusterfs",
  "flocker",
  "persistentVolumeClaim",
  "rbd",
  "cinder",
  "cephfs",
  "quobyte",
  "downwardAPI",
  "fc",
  "flexVolume",
  "configMap",
  "azureFile",
  "vsphereVolume",
  "photonPersistentDisk",
  "portworxVolume",
  "azureDisk",
  "storageos",
  "projected",
  "scaleIO",
  "csi",
  "ephemeral",
  "image"
]

function* source(field: string, volume: JsonObject): Errors {
  let found = false
  for (const name of sources) {
    const given = volume[name]
    if (!Json.isObject(given)) continue
    if (found) {
      const type = name === "downwardAPI" ? "downwarAPI" : name === "cephfs" ? "cephFS" : name
      yield FieldError.forbidden(`${field}.${type}`, "may not specify more than 1 volume type")
    } else yield* checks[name]?.(`${field}.${name}`, given) ?? []
    found = true
  }
  if (!found) yield FieldError.required(field, "must specify a volume type")
}

const checks: { readonly [source: string]: (field: string, source: JsonObject) => Errors } = {
  *emptyDir(field, { sizeLimit }) {
    if (typeof sizeLimit === "string" && Quantity.amount(sizeLimit) < 0n) {
      yield FieldError.forbidden(`${field}.sizeLimit`, "SizeLimit field must be a valid resource quantity")
    }
  },
  *hostPath(field, source) {
    const path = Json.text(source.path) ?? ""
    if (path === "") return yield FieldError.required(`${field}.path`)
    yield* noBackSteps(`${field}.path`, path)
    const type = Json.text(source.type) ?? ""
    if (!hostPathTypes.includes(type)) yield FieldError.notSupported(`${field}.type`, type, hostPathTypes)
  },
  *secret(field, source) {
    yield* Check.requiredText(`${field}.secretName`, source.secretName)
    yield* files(field, source)
  },
  *configMap(field, source) {
    yield* Check.requiredText(`${field}.name`, source.name)
    yield* files(field, source)
  },
  *persistentVolumeClaim(field, source) {
    yield* Check.requiredText(`${field}.claimName`, source.claimName)
  },
  *nfs(field, source) {
    yield* Check.requiredText(`${field}.server`, source.server)
    const path = Json.text(source.path) ?? ""
    if (path === "") yield FieldError.required(`${field}.path`)
    if (!path.startsWith("/")) yield FieldError.invalid(`${field}.path`, path, "must be an absolute path")
  },
  *downwardAPI(field, source) {
    yield* mode(`${field}.defaultMode`, source.defaultMode)
    yield* downwardFiles(field, source)
  },
  *projected(field, source) {
    yield* mode(`${field}.defaultMode`, source.defaultMode)
    yield* projections(`${field}.sources`, Json.objects(source.sources))
  }
}

const hostPathTypes = [
  "",
  "BlockDevice",
  "CharDevice",
  "Directory",
  "DirectoryOrCreate",
  "File",
  "FileOrCreate",
  "Socket"
]

function* projections(field: string, sources: ReadonlyArray<JsonObject>): Errors {
  for (const [index, source] of sources.entries()) {
    const at = `${field}[${index}]`
    const names = Object.keys(source)
    for (const name of names.slice(1)) {
      yield FieldError.forbidden(`${at}.${name}`, "may not specify more than 1 volume type per source")
    }
    const [name = ""] = names
    const given = Json.object(source[name])
    if (name === "secret" || name === "configMap") {
      yield* Check.requiredText(`${at}.${name}.name`, given.name)
      yield* keys(`${at}.${name}`, given)
    } else if (name === "downwardAPI") yield* downwardFiles(`${at}.downwardAPI`, given)
    else if (name === "serviceAccountToken") yield* token(`${at}.serviceAccountToken`, given)
    else if (name === "") yield FieldError.required(at, "must specify a volume projection type")
  }
}

function* token(field: string, source: JsonObject): Errors {
  const seconds = Json.number(source.expirationSeconds) ?? 0
  if (seconds < 600) {
    yield FieldError.invalid(`${field}.expirationSeconds`, seconds, "may not specify a duration less than 10 minutes")
  }
  if (seconds > 2 ** 32) {
    yield FieldError.invalid(
      `${field}.expirationSeconds`,
      seconds,
      "may not specify a duration larger than 2^32 seconds"
    )
  }
  const path = Json.text(source.path) ?? ""
  if (path === "") yield FieldError.required(`${field}.path`)
  else yield* ownPath(`${field}.path`, path)
}

function* downwardFiles(field: string, source: JsonObject): Errors {
  for (const [index, file] of Json.objects(source.items).entries()) {
    const at = `${field}`
    const path = Json.text(file.path) ?? ""
    if (path === "") yield FieldError.required(`${at}.path`)
    yield* ownPath(`${at}.path`, path)
    const { fieldRef: field_, resourceFieldRef: resource } = file
    if (Json.isObject(field_)) {
      yield* fieldRef(`${at}.fieldRef`, field_, true)
      if (resource !== undefined) {
        yield FieldError.invalid(
          at,
          `resource${index}`,
          "fieldRef and resourceFieldRef can not be specified simultaneously"
        )
      }
    } else if (Json.isObject(resource)) yield* resourceFieldRef(`${at}.resourceFieldRef`, resource, true)
    else yield FieldError.required(at, "one of fieldRef and resourceFieldRef is required")
    yield* mode(`${at}.mode`, file.mode)
  }
}

function* files(field: string, source: JsonObject): Errors {
  yield* mode(`${field}.defaultMode`, source.defaultMode)
  yield* keys(field, source)
}

function* keys(field: string, source: JsonObject): Errors {
  for (const [index, item] of Json.objects(source.items).entries()) {
    const at = `${field}.items[${index}]`
    yield* Check.requiredText(`${at}.key`, item.key)
    yield* Check.requiredText(`${at}.path`, item.path)
    yield* ownPath(`${at}.path`, Json.text(item.path) ?? "")
    yield* mode(`${at}.mode`, item.mode)
  }
}

function* mode(field: string, value: JsonValue | undefined): Errors {
  const given = Json.number(value)
  if (given !== undefined && (given < 0 || given > 0o777)) yield FieldError.invalid(field, given, fileMode)
}

function* ownPath(field: string, path: string): Errors {
  yield* descendingPath(field, path)
  if (path.startsWith("..") && !path.startsWith("../"))
    yield FieldError.invalid(field, path, "must not start with '..'")
}

function* noBackSteps(field: string, path: string): Errors {
  if (path.split("/").includes("..")) yield FieldError.invalid(field, path, "must not contain '..'")
}
