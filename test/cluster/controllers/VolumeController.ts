/**
 * Binds claims to volumes. A claim gets a matching volume or a new one, whatever its class. A claim with the class "" only gets existing
 * volumes. With a class of the mode WaitForFirstConsumer, a claim waits for a pod that uses it. The kubelet manages the contents of the
 * volumes.
 */

import { at, type Json, type JsonObject, list, object, objects, text } from "@homeostat/apiserver/model/Json"
import {
  annotationsOf,
  finalizerPatch,
  finalizersOf,
  isDeleting,
  keyOfObject,
  labelsOf,
  nameOf,
  namespaceOf,
  ofKey,
  uidOf,
  withMetadata
} from "@homeostat/apiserver/model/ObjectMeta"
import { timestamp } from "@homeostat/apiserver/model/Timestamp"
import { matches, ofLabelSelector } from "@homeostat/apiserver/storage/LabelSelector"
import type { Change } from "@homeostat/apiserver/storage/Store"
import { type BuiltInController, nothing, type Pass, type Snapshot, type Write } from "./BuiltInController.ts"
import { isFinished } from "./ManagedPods.ts"
import { claimsOf } from "./Scheduler.ts"
import * as Storages from "./Storages.ts"

const provisioner = "homeostat.dev/folder"
const boundByController = "pv.kubernetes.io/bound-by-controller"
const bindCompleted = "pv.kubernetes.io/bind-completed"

const reconcile = (snapshot: Snapshot, key: string, now: number, memory: Json | undefined): Pass =>
  key.includes("/") ? ofClaim(snapshot, key, now, memory) : ofVolume(snapshot, key, now)

const ofClaim = (snapshot: Snapshot, key: string, now: number, memory: Json | undefined): Pass => {
  const claim = snapshot.get(Storages.claims, ...ofKey(key))
  if (claim === undefined) return nothing
  if (isDeleting(claim)) return { writes: released(claim, "kubernetes.io/pvc-protection", isUsed(snapshot, claim)) }
  const name = text(at(claim, "spec", "volumeName"))
  const volume = name === undefined ? volumeFor(snapshot, claim) : snapshot.get(Storages.volumes, "", name)
  if (volume === undefined) return name === undefined ? provisioned(snapshot, claim, memory) : nothing
  const owner = at(volume, "spec", "claimRef", "uid")
  if (owner === undefined) return { writes: [reserve(volume, claim)] }
  if (owner !== uidOf(claim)) return nothing
  if (annotationsOf(claim)[bindCompleted] === undefined) return { writes: [bind(claim, volume)] }
  if (at(claim, "status", "phase") === "Bound") return { writes: usage(snapshot, claim, now) }
  const { accessModes, capacity } = object(volume.spec)
  const status = { ...object(claim.status), phase: "Bound", accessModes, capacity }
  return {
    writes: [{ verb: "update", subresource: "status", object: { ...claim, status } }, ...phase(volume, "Bound", now)]
  }
}

/** Removes the protection finalizer of an object that is not in use. */
const released = (of: JsonObject, finalizer: string, isInUse: boolean): ReadonlyArray<Write> =>
  finalizersOf(of).includes(finalizer) && !isInUse
    ? [{ verb: "patch", object: of, patch: finalizerPatch(of, finalizer) }]
    : []

const isUsed = (snapshot: Snapshot, claim: JsonObject): boolean =>
  snapshot
    .list(Storages.pods, namespaceOf(claim))
    .some((pod) => claimsOf(pod).includes(nameOf(claim)) && !isFinished(pod))

/** Reports in the status of a bound claim whether a pod uses it. */
const usage = (snapshot: Snapshot, claim: JsonObject, now: number): ReadonlyArray<Write> => {
  const [status, reason, message] = isUsed(snapshot, claim)
    ? ["False", "PodUsingPVC", "A pod is currently referencing this PVC"]
    : ["True", "NoPodsUsingPVC", "No pods are currently referencing this PVC"]
  const conditions = objects(at(claim, "status", "conditions"))
  const place = conditions.findIndex(({ type }) => type === "Unused")
  if (conditions[place]?.status === status) return []
  const unused = { type: "Unused", status, lastTransitionTime: timestamp(now), reason, message }
  const next = place < 0 ? [...conditions, unused] : conditions.with(place, unused)
  const updatedClaim = { ...claim, status: { ...object(claim.status), conditions: next } }
  return [{ verb: "update", subresource: "status", object: updatedClaim }]
}

/** Returns the volume that is reserved for a claim, or the smallest free one that fits. */
const volumeFor = (snapshot: Snapshot, claim: JsonObject): JsonObject | undefined => {
  const all = snapshot.list(Storages.volumes).filter((volume) => !isDeleting(volume))
  const meant = all.find((volume) => at(volume, "spec", "claimRef", "uid") === uidOf(claim))
  return meant ?? all.filter((volume) => fits(volume, claim)).toSorted((one, other) => sizeOf(one) - sizeOf(other))[0]
}

const sizeOf = (volume: JsonObject): number => bytes(at(volume, "spec", "capacity", "storage"))

const fits = (volume: JsonObject, claim: JsonObject): boolean => {
  const spec = object(claim.spec)
  const reference = object(at(volume, "spec", "claimRef"))
  const isFree =
    reference.name === undefined ||
    (reference.uid === undefined && `${text(reference.namespace)}/${text(reference.name)}` === keyOfObject(claim))
  const modes = list(at(volume, "spec", "accessModes"))
  return (
    isFree &&
    (at(volume, "spec", "storageClassName") ?? "") === (spec.storageClassName ?? "") &&
    list(spec.accessModes).every((mode) => modes.includes(mode)) &&
    sizeOf(volume) >= requested(claim) &&
    (spec.selector === undefined || matches(ofLabelSelector(spec.selector), labelsOf(volume)))
  )
}

const requested = (claim: JsonObject): number => bytes(at(claim, "spec", "resources", "requests", "storage"))

const units: { readonly [unit: string]: number } = { "": 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12 }
const binaryUnits: { readonly [unit: string]: number } = { Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40 }

/** Returns the bytes of a quantity. */
const bytes = (quantity: Json | undefined): number => {
  const [, digits = "0", unit = ""] = /^([\d.]+)([A-Za-z]*)$/.exec(String(quantity)) ?? []
  return Number(digits) * (units[unit] ?? binaryUnits[unit] ?? 1)
}

/** Provisions a volume for a claim, if the claim does not wait. `memory` is the resourceVersion for which an Event reports the wait. */
const provisioned = (snapshot: Snapshot, claim: JsonObject, memory: Json | undefined): Pass => {
  const version = at(claim, "metadata", "resourceVersion")
  const waiting = (reason: string, message: string): Pass => ({
    writes: memory === version ? [] : [event(claim, reason, message)],
    memory: version
  })
  const className = text(at(claim, "spec", "storageClassName"))
  if (className === "") return waiting("FailedBinding", noClass)
  const storageClass = snapshot.get(Storages.storageClasses, "", className ?? "")
  if (at(storageClass, "volumeBindingMode") === "WaitForFirstConsumer" && !isUsed(snapshot, claim)) {
    return waiting("WaitForFirstConsumer", "waiting for first consumer to be created before binding")
  }
  const name = `pvc-${uidOf(claim)}`
  const { accessModes, volumeMode } = object(claim.spec)
  return {
    writes: [
      {
        verb: "create",
        object: {
          apiVersion: "v1",
          kind: "PersistentVolume",
          metadata: { name, annotations: { "pv.kubernetes.io/provisioned-by": provisioner } },
          spec: {
            accessModes,
            capacity: { storage: at(claim, "spec", "resources", "requests", "storage") },
            claimRef: referenceTo(claim),
            csi: { driver: provisioner, volumeHandle: name },
            persistentVolumeReclaimPolicy: text(at(storageClass, "reclaimPolicy")) ?? "Delete",
            ...(className === undefined ? {} : { storageClassName: className }),
            ...(volumeMode === undefined ? {} : { volumeMode })
          }
        },
        done: () => [event(claim, "ProvisioningSucceeded", `Successfully provisioned volume ${name}`)]
      }
    ]
  }
}

const noClass = "no persistent volumes available for this claim and no storage class is set"

const event = (about: JsonObject, reason: string, message: string): Write => ({
  verb: "record",
  about,
  type: "Normal",
  reason,
  message
})

const referenceTo = (claim: JsonObject): JsonObject => ({
  apiVersion: "v1",
  kind: "PersistentVolumeClaim",
  namespace: namespaceOf(claim),
  name: nameOf(claim),
  uid: uidOf(claim),
  resourceVersion: text(at(claim, "metadata", "resourceVersion"))
})

/** Reserves a free volume for a claim. */
const reserve = (volume: JsonObject, claim: JsonObject): Write => ({
  verb: "update",
  object: {
    ...withMetadata(volume, { annotations: { ...annotationsOf(volume), [boundByController]: "yes" } }),
    spec: { ...object(volume.spec), claimRef: referenceTo(claim) }
  }
})

/** Sets the volume of a claim. */
const bind = (claim: JsonObject, volume: JsonObject): Write => {
  const byController = at(claim, "spec", "volumeName") === undefined ? { [boundByController]: "yes" } : {}
  const annotations = { ...annotationsOf(claim), [bindCompleted]: "yes", ...byController }
  return {
    verb: "update",
    object: { ...withMetadata(claim, { annotations }), spec: { ...object(claim.spec), volumeName: nameOf(volume) } }
  }
}

const phase = (volume: JsonObject, to: string, now: number): ReadonlyArray<Write> =>
  at(volume, "status", "phase") === to
    ? []
    : [
        {
          verb: "update",
          subresource: "status",
          object: {
            ...volume,
            status: { ...object(volume.status), phase: to, lastPhaseTransitionTime: timestamp(now) }
          }
        }
      ]

const ofVolume = (snapshot: Snapshot, name: string, now: number): Pass => {
  const volume = snapshot.get(Storages.volumes, "", name)
  if (volume === undefined) return nothing
  const isBound = at(volume, "status", "phase") === "Bound"
  if (isDeleting(volume))
    return { writes: released(volume, "kubernetes.io/pv-protection", isBound && hasClaim(snapshot, volume)) }
  const uid = at(volume, "spec", "claimRef", "uid")
  if (uid === undefined) return { writes: phase(volume, "Available", now) }
  if (hasClaim(snapshot, volume)) return nothing
  return at(volume, "spec", "persistentVolumeReclaimPolicy") === "Delete"
    ? { writes: [...phase(volume, "Released", now), { verb: "delete", object: volume }] }
    : { writes: phase(volume, "Released", now) }
}

const hasClaim = (snapshot: Snapshot, volume: JsonObject): boolean => {
  const { name, namespace, uid } = object(at(volume, "spec", "claimRef"))
  const claim = snapshot.get(Storages.claims, text(namespace) ?? "", text(name) ?? "")
  return claim !== undefined && uidOf(claim) === uid
}

const keys = ({ object: changed, previous, storage }: Change, snapshot: Snapshot): ReadonlyArray<string> => {
  if (storage === Storages.pods) return [...new Set(claimsOf(changed))].map((name) => `${namespaceOf(changed)}/${name}`)
  if (storage === Storages.claims) {
    const volume = text(at(changed, "spec", "volumeName")) ?? text(at(previous, "spec", "volumeName"))
    return [keyOfObject(changed), ...(volume === undefined ? [] : [volume])]
  }
  if (storage === Storages.storageClasses) return pending(snapshot)
  const { name, namespace } = object(at(changed, "spec", "claimRef"))
  const claims = name === undefined ? pending(snapshot) : [`${text(namespace)}/${text(name)}`]
  return [nameOf(changed), ...claims]
}

const pending = (snapshot: Snapshot): ReadonlyArray<string> =>
  snapshot
    .list(Storages.claims)
    .filter((claim) => at(claim, "status", "phase") !== "Bound")
    .map(keyOfObject)

/** The volume controller, including the protection of objects in use. */
export const volumeController: BuiltInController = {
  name: "persistentvolume-binder-controller",
  manager: "kube-controller-manager",
  component: "persistentvolume-controller",
  storages: [Storages.claims, Storages.volumes, Storages.pods, Storages.storageClasses],
  keys,
  reconcile
}
