/** v1 PersistentVolumeClaim, v1 PersistentVolume and storage.k8s.io/v1 StorageClass. */

import * as Failure from "../../model/Failure.ts"
import * as FieldError from "../../model/FieldError.ts"
import * as Format from "../../model/Format.ts"
import * as GoType from "../../model/GoType.ts"
import type { DraftObject, JsonObject } from "../../model/Json.ts"
import * as Json from "../../model/Json.ts"
import type { Writing } from "../../model/Kind.ts"
import * as Quantity from "../../model/Quantity.ts"
import { timestamp } from "../../model/Timestamp.ts"
import * as Check from "../Check.ts"
import { type Definition, type Errors, fill, keep, part, statusStrategy, strategy } from "../Definition.ts"
import { roundUp } from "../pods/PodDefaults.ts"
import * as ClaimDefaults from "./ClaimDefaults.ts"

const accessModes = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"]
const defaultClass = "storageclass.kubernetes.io/is-default-class"

/** The admission plugin StorageObjectInUseProtection: adds the finalizer that protects an object in use from deletion. */
const protect = (draft: DraftObject, finalizer: string): void => {
  const finalizers = Json.items(Json.member(draft, "metadata"), "finalizers")
  if (!finalizers.includes(finalizer)) finalizers.push(finalizer)
}

/** The admission plugin DefaultStorageClass: sets the newest default class on a claim without a class. */
const chooseClass = (draft: DraftObject, { stored }: Writing): void => {
  const spec = Json.member(draft, "spec")
  if (spec.storageClassName !== undefined) return
  const [newest] = stored("storage.k8s.io/storageclasses")
    .filter((one) => Json.at(one, "metadata", "annotations", defaultClass) === "true")
    .toSorted((one, other) => {
      const [late, early] = [other, one].map((each) => Json.text(Json.at(each, "metadata", "creationTimestamp")) ?? "")
      return (late ?? "").localeCompare(early ?? "")
    })
  const name = Json.text(Json.at(newest, "metadata", "name"))
  if (name !== undefined) spec.storageClassName = name
}

/** Copies `dataSource` to `dataSourceRef`, or back if the reference stays in the namespace of the claim. */
const joinSources = (draft: DraftObject): void => {
  const spec = Json.member(draft, "spec")
  const { dataSource, dataSourceRef } = spec
  if (dataSource !== undefined && dataSourceRef === undefined) spec.dataSourceRef = Json.copy(dataSource)
  else if (
    dataSourceRef !== undefined &&
    dataSource === undefined &&
    Json.at(dataSourceRef, "namespace") === undefined
  ) {
    spec.dataSource = Json.copy(dataSourceRef)
  }
}

const claimStrategy = strategy({
  shape: "core/v1.PersistentVolumeClaim",
  status: { phase: "Pending" },
  default: ClaimDefaults.fillIn,
  admit: (draft, old, writing) => {
    if (old !== null) return
    chooseClass(draft, writing)
    protect(draft, "kubernetes.io/pvc-protection")
  },
  prepareForCreate: joinSources,
  prepareForUpdate: joinSources,
  validate: (object) => validateClaim(Json.object(object.spec)),
  *validateUpdate(object, old, writing) {
    const errors = [...validateClaim(Json.object(object.spec)), ...claimChange(object, old)]
    yield* errors
    if (errors.length === 0) admitGrowth(object, old, writing)
  }
})

/** The admission plugin PersistentVolumeClaimResize. Throws a Failure (403) if a claim grows and its class does not allow expansion. */
const admitGrowth = (object: JsonObject, old: JsonObject, { stored }: Writing): void => {
  if (size(object, "spec", "resources", "requests") <= size(old, "spec", "resources", "requests")) return
  const name = Json.at(old, "spec", "storageClassName") ?? ""
  const found = stored("storage.k8s.io/storageclasses").find((one) => Json.at(one, "metadata", "name") === name)
  if (found?.allowVolumeExpansion === true) return
  throw Failure.forbidden(
    { group: "", kind: "PersistentVolumeClaim", plural: "persistentvolumeclaims" },
    Json.text(Json.at(object, "metadata", "name")) ?? "",
    "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize"
  )
}

const size = (claim: JsonObject, ...path: ReadonlyArray<string>): bigint =>
  Quantity.amount(Json.text(Json.at(claim, ...path, "storage")) ?? "0")

function* validateClaim(spec: JsonObject): Errors {
  const modes = Json.list(spec.accessModes)
  if (modes.length === 0) yield FieldError.required("spec.accessModes", "at least 1 access mode is required")
  yield* Check.labelSelector("spec.selector", spec.selector)
  yield* validateMode("spec.accessModes", modes)
  const storage = Json.text(Json.at(spec, "resources", "requests", "storage"))
  if (storage === undefined) yield FieldError.required("spec.resources[storage]")
  else if (Quantity.amount(storage) <= 0n) {
    yield FieldError.invalid("spec.resources[storage]", storage, "must be greater than zero")
  }
  const name = Json.text(spec.storageClassName) ?? ""
  if (name !== "") yield* Check.text("spec.storageClassName", name, Format.dnsSubdomain)
  const mode = spec.volumeMode
  if (mode !== undefined) yield* Check.word("spec.volumeMode", mode, ["Block", "Filesystem"])
}

function* validateMode(field: string, modes: ReadonlyArray<Json.Json>): Errors {
  for (const mode of modes) {
    if (typeof mode !== "string" || !accessModes.includes(mode)) yield FieldError.notSupported(field, mode, accessModes)
  }
  if (modes.includes("ReadWriteOncePod") && modes.length > 1) {
    yield FieldError.forbidden(field, "may not use ReadWriteOncePod with other access modes")
  }
}

function* claimChange(object: JsonObject, old: JsonObject): Errors {
  const bound = Json.at(object, "status", "phase") === "Bound"
  const before = Json.object(old.spec)
  const frozen = (given: JsonObject): JsonObject => {
    const { resources, ...rest } = given
    const { requests, ...others } = Json.object(resources)
    const { storage: _, ...amounts } = Json.object(requests)
    return bound ? { ...rest, resources: { ...others, requests: amounts } } : given
  }
  const spec = { ...Json.object(object.spec) }
  // An update may set unset fields: the volume controller sets `volumeName`, and a default sets the class.
  const chosen = { ...before, volumeName: before.volumeName ?? spec.volumeName }
  if (before.storageClassName === undefined) delete spec.storageClassName
  if (!Json.equal(frozen(spec), frozen(chosen))) {
    yield FieldError.forbidden(
      "spec",
      "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n"
    )
  }
  const requested = size(object, "spec", "resources", "requests")
  if (requested < size(old, "spec", "resources", "requests") && requested <= size(old, "status", "capacity")) {
    yield FieldError.forbidden("spec.resources.requests.storage", "field can not be less than status.capacity")
  }
  yield* Check.immutable("volumeMode", spec.volumeMode ?? null, before.volumeMode ?? null)
}

/** The definition of PersistentVolumeClaim. */
export const persistentVolumeClaim: Definition = {
  group: "",
  version: "v1",
  kind: "PersistentVolumeClaim",
  strategy: claimStrategy,
  status: statusStrategy(claimStrategy, "core/v1.PersistentVolumeClaim"),
  unconditionalUpdate: true
}

const volumeStrategy = strategy({
  shape: "core/v1.PersistentVolume",
  status: { phase: "Pending" },
  default: (draft) => {
    const spec = Json.member(draft, "spec")
    fill(Json.member(draft, "status"), "phase", "Pending")
    fill(spec, "persistentVolumeReclaimPolicy", "Retain")
    fill(spec, "volumeMode", "Filesystem")
    const hostPath = part(spec, "hostPath")
    if (hostPath !== undefined) fill(hostPath, "type", "")
    roundUp(part(spec, "capacity"))
  },
  admit: (draft, old) => {
    if (old === null) protect(draft, "kubernetes.io/pv-protection")
  },
  prepareForCreate: (draft, { now }) => {
    Json.member(draft, "status").lastPhaseTransitionTime = timestamp(now)
  },
  validate: validateVolumes,
  *validateUpdate(object, old) {
    yield* validateVolumes(object)
    for (const source of volumeSources) {
      const [given, before] = [Json.at(object, "spec", source), Json.at(old, "spec", source)]
      if (!Json.equal(given, before)) {
        yield FieldError.forbidden(
          "spec.persistentvolumesource",
          "spec.persistentvolumesource is immutable after creation\n"
        )
      }
    }
    yield* Check.immutable("volumeMode", Json.at(object, "spec", "volumeMode"), Json.at(old, "spec", "volumeMode"))
  }
})

const volumeSources = ["hostPath", "local", "nfs", "csi", "iscsi", "fc"]

function* validateVolumes(object: JsonObject): Errors {
  const spec = Json.object(object.spec)
  const modes = Json.list(spec.accessModes)
  if (modes.length === 0) yield FieldError.required("spec.accessModes")
  yield* validateMode("spec.accessModes", modes)
  const capacity = Json.texts(spec.capacity)
  const { storage } = capacity
  if (Object.keys(capacity).length === 0) yield FieldError.required("spec.capacity")
  if (storage === undefined || Object.keys(capacity).length > 1) {
    yield FieldError.make(
      "FieldValueNotSupported",
      "spec.capacity",
      Check.sorted(spec.capacity),
      'supported values: "storage"'
    )
  }
  for (const name in capacity) {
    if (Quantity.amount(capacity[name] ?? "0") <= 0n) {
      yield FieldError.invalid(`spec.capacity[${name}]`, capacity[name], "must be greater than zero")
    }
  }
  yield* Check.word("spec.persistentVolumeReclaimPolicy", spec.persistentVolumeReclaimPolicy, [
    "Delete",
    "Recycle",
    "Retain"
  ])
  const found = volumeSources.filter((name) => spec[name] !== undefined)
  for (const name of found.slice(1)) {
    yield FieldError.forbidden(`spec.${name}`, "may not specify more than 1 volume type")
  }
  if (Object.keys(spec).every((name) => GoType.fieldPath("PersistentVolumeSpec", name) === name)) {
    yield FieldError.required("spec", "must specify a volume type")
  }
  const path = Json.at(spec, "hostPath", "path")
  if (spec.hostPath !== undefined) yield* Check.requiredText("spec.hostPath.path", path)
}

/** The definition of PersistentVolume. */
export const persistentVolume: Definition = {
  group: "",
  version: "v1",
  kind: "PersistentVolume",
  strategy: volumeStrategy,
  status: statusStrategy(volumeStrategy, "core/v1.PersistentVolume", {
    prepareForUpdate: (draft, old, { now }) => {
      const status = Json.member(draft, "status")
      const before = Json.at(old, "status", "lastPhaseTransitionTime")
      const given = status.lastPhaseTransitionTime
      if (status.phase === Json.at(old, "status", "phase")) {
        if (given === undefined) keep(draft, old, "status", "lastPhaseTransitionTime")
      } else if (given === undefined || given === before) status.lastPhaseTransitionTime = timestamp(now)
    }
  }),
  unconditionalUpdate: true
}

/** The definition of StorageClass. */
export const storageClass: Definition = {
  group: "storage.k8s.io",
  version: "v1",
  kind: "StorageClass",
  strategy: strategy({
    shape: "storage/v1.StorageClass",
    default: (draft) => {
      fill(draft, "reclaimPolicy", "Delete")
      fill(draft, "volumeBindingMode", "Immediate")
    },
    validate: validateClass,
    *validateUpdate(object, old) {
      yield* validateClass(object)
      for (const name of ["parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"]) {
        if (!Json.equal(object[name], old[name])) yield FieldError.invalid(name, null, "field is immutable")
      }
    }
  }),
  unconditionalUpdate: true
}

function* validateClass(object: JsonObject): Errors {
  const policy = object.reclaimPolicy
  if (policy !== "Delete" && policy !== "Retain") {
    yield FieldError.notSupported("reclaimPolicy", policy, ["Delete", "Retain"])
  }
  const mode = object.volumeBindingMode
  if (mode !== "Immediate" && mode !== "WaitForFirstConsumer") {
    yield FieldError.notSupported("volumeBindingMode", mode, ["Immediate", "WaitForFirstConsumer"])
  }
  yield* Check.requiredText("provisioner", object.provisioner)
}
