/**
 * The PersistentVolumeClaims of a StatefulSet's pods. The retention policy decides which object owns a claim, and when the claim is
 * deleted.
 */
import { at, copy, type JsonObject, number, object, objects, text, texts } from "@homeostat/apiserver/model/Json"
import {
  controllerReference,
  isDeleting,
  nameOf,
  namespaceOf,
  ownersOf,
  uidOf,
  withMetadata
} from "@homeostat/apiserver/model/ObjectMeta"
import type { Snapshot, Write } from "./BuiltInController.ts"
import * as Storages from "./Storages.ts"

/** A claim of a pod. */
export interface Claim {
  /** The name of the volume and of the claim template. */
  readonly volume: string
  readonly name: string
  readonly template: JsonObject
}

/** Returns the claims of the pod with this ordinal. */
export const of = (set: JsonObject, ordinal: number): ReadonlyArray<Claim> =>
  objects(at(set, "spec", "volumeClaimTemplates")).map((template) => ({
    volume: nameOf(template),
    name: `${nameOf(template)}-${nameOf(set)}-${ordinal}`,
    template
  }))

/** Creates the missing claims of a pod. `orElse` is written if a creation fails. */
export const create = (
  snapshot: Snapshot,
  set: JsonObject,
  ordinal: number,
  orElse: ReadonlyArray<Write>
): ReadonlyArray<Write> =>
  of(set, ordinal)
    .filter(({ name }) => snapshot.get(Storages.claims, namespaceOf(set), name) === undefined)
    .map(({ name, template }) => {
      const { annotations, labels } = object(template.metadata)
      const event = (error?: string): Write => ({
        verb: "record",
        about: set,
        type: error === undefined ? "Normal" : "Warning",
        reason: error === undefined ? "SuccessfulCreate" : "FailedCreate",
        message:
          error === undefined
            ? `Create Claim ${name} Pod ${nameOf(set)}-${ordinal} in StatefulSet ${nameOf(set)} success`
            : `Create Claim ${name} for Pod ${nameOf(set)}-${ordinal} in StatefulSet ${nameOf(set)} failed error: ${error}`
      })
      return {
        verb: "create" as const,
        object: copy({
          apiVersion: "v1",
          kind: "PersistentVolumeClaim",
          metadata: {
            name,
            namespace: namespaceOf(set),
            ...(annotations === undefined ? {} : { annotations }),
            labels: { ...texts(labels), ...texts(at(set, "spec", "selector", "matchLabels")) }
          },
          spec: object(template.spec)
        }),
        done: () => [event()],
        failed: ({ message }: { readonly message: string }) => [event(message), ...orElse]
      }
    })

const policyOf = (set: JsonObject, when: "whenDeleted" | "whenScaled"): string =>
  text(at(set, "spec", "persistentVolumeClaimRetentionPolicy", when)) ?? "Retain"

/** Returns the lowest and the highest ordinal of a StatefulSet. */
export const range = (set: JsonObject): { readonly start: number; readonly end: number } => {
  const start = number(at(set, "spec", "ordinals", "start")) ?? 0
  return { start, end: start + (number(at(set, "spec", "replicas")) ?? 0) - 1 }
}

const isOwner = (reference: JsonObject, owner: JsonObject): boolean =>
  reference.apiVersion === owner.apiVersion && reference.kind === owner.kind && reference.name === nameOf(owner)

/** Whether a claim belongs to a deleted owner with the name of this one. */
const isStale = (claim: JsonObject, owner: JsonObject): boolean => {
  const reference = ownersOf(claim).find((one) => isOwner(one, owner))
  return reference !== undefined && reference.uid !== uidOf(owner)
}

/** Whether the creation of a pod must wait, because a claim of the previous pod with its name is deleted with that pod. */
export const areStale = (snapshot: Snapshot, set: JsonObject, ordinal: number): boolean =>
  policyOf(set, "whenScaled") === "Delete" &&
  of(set, ordinal).some(({ name }) => {
    const claim = snapshot.get(Storages.claims, namespaceOf(set), name)
    const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: `${nameOf(set)}-${ordinal}` } }
    return claim !== undefined && isStale(claim, pod)
  })

/** Whether a claim of a pod is being deleted, so that no pod can use it. */
export const areDeleting = (snapshot: Snapshot, set: JsonObject, ordinal: number): boolean =>
  of(set, ordinal).some(({ name }) => {
    const claim = snapshot.get(Storages.claims, namespaceOf(set), name)
    return claim !== undefined && isDeleting(claim)
  })

/** Sets the owners of the claims of a pod by the retention policy. */
export const own = (snapshot: Snapshot, set: JsonObject, pod: JsonObject): ReadonlyArray<Write> => {
  const ordinal = Number(nameOf(pod).slice(nameOf(pod).lastIndexOf("-") + 1))
  return of(set, ordinal).flatMap(({ name }): ReadonlyArray<Write> => {
    const claim = snapshot.get(Storages.claims, namespaceOf(set), name)
    if (claim === undefined || isStale(claim, set) || isStale(claim, pod)) return []
    const others = ownersOf(claim).filter((one) => !isOwner(one, set) && !isOwner(one, pod))
    const mine = ownersOf(claim).filter((one) => isOwner(one, set) || isOwner(one, pod))
    const [deleted, scaled] = [policyOf(set, "whenDeleted"), policyOf(set, "whenScaled")]
    const isRetained = deleted === "Retain" && scaled === "Retain"
    const isOthers = !isRetained && others.some(({ controller }) => controller === true)
    const { end, start } = range(set)
    const isScaledDown = ordinal < start || ordinal > end
    const owner =
      scaled === "Delete" && isScaledDown
        ? pod
        : deleted === "Delete" && (scaled === "Retain" || !isScaledDown)
          ? set
          : undefined
    const wanted = isOthers || owner === undefined ? undefined : owner
    const isSo =
      mine.length === (wanted === undefined ? 0 : 1) &&
      mine.every(({ controller, uid }) => controller === true && uid === uidOf(wanted ?? {}))
    if (isSo) return []
    const message = `PersistentVolumeClaim ${name} has a conflicting OwnerReference that acts as a manging controller, the retention policy is ignored for this claim`
    const references = wanted === undefined ? others : [...others, controllerReference(wanted)]
    return [
      ...(isOthers
        ? [{ verb: "record" as const, about: set, type: "Warning" as const, reason: "ConflictingController", message }]
        : []),
      {
        verb: "update",
        object: withMetadata(claim, { ownerReferences: references.length === 0 ? undefined : references })
      }
    ]
  })
}
