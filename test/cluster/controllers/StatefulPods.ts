/** The pods of a StatefulSet. Each pod has a stable name with an ordinal, and its own claims. */
import { at, copy, type JsonObject, object, objects, text } from "@homeostat/apiserver/model/Json"
import { isDeleting, labelsOf, nameOf, withMetadata } from "@homeostat/apiserver/model/ObjectMeta"
import type { Snapshot, Write } from "./BuiltInController.ts"
import { fromTemplate, isAvailable, isReady, phaseOf } from "./ManagedPods.ts"
import * as Revisions from "./Revisions.ts"
import * as StatefulClaims from "./StatefulClaims.ts"

const nameLabel = "statefulset.kubernetes.io/pod-name"
const indexLabel = "apps.kubernetes.io/pod-index"

/** Returns the two parts of a pod's name: the name of the StatefulSet and an ordinal. */
const placeOf = (pod: JsonObject): { readonly parent: string; readonly ordinal: number } | undefined => {
  const name = nameOf(pod)
  const dash = name.lastIndexOf("-")
  const digits = name.slice(dash + 1)
  return dash < 0 || !/^\d{1,10}$/.test(digits) ? undefined : { parent: name.slice(0, dash), ordinal: Number(digits) }
}

/** Returns the ordinal in the name of a pod; -1 for a name without an ordinal. */
export const ordinalOf = (pod: JsonObject): number => placeOf(pod)?.ordinal ?? -1

/** Whether a pod has a name of the StatefulSet. */
export const isMember = (set: JsonObject, pod: JsonObject): boolean => placeOf(pod)?.parent === nameOf(set)

/** The revision of a pod. */
export const revisionOf = (pod: JsonObject): string => labelsOf(pod)[Revisions.podLabel] ?? ""

/** Whether a pod is Running and Ready. */
export const isRunningAndReady = (pod: JsonObject): boolean => phaseOf(pod) === "Running" && isReady(pod)

/** Whether a pod is missing, not available or being deleted. */
export const isUnavailable = (set: JsonObject, pod: JsonObject | undefined, now: number): boolean =>
  pod === undefined || !isAvailable(set, pod, now) || isDeleting(pod)

const event = (set: JsonObject, verb: string, pod: string, error?: string): Write => ({
  verb: "record",
  about: set,
  type: error === undefined ? "Normal" : "Warning",
  reason: `${error === undefined ? "Successful" : "Failed"}${verb}`,
  message: `${verb} Pod ${pod} in StatefulSet ${nameOf(set)} ${error === undefined ? "successful" : `failed error: ${error}`}`
})

const nameAt = (set: JsonObject, ordinal: number): string => `${nameOf(set)}-${ordinal}`

const identity = (set: JsonObject, ordinal: number): JsonObject => ({
  [nameLabel]: nameAt(set, ordinal),
  [indexLabel]: String(ordinal)
})

/** Returns the volumes of a pod: its claims, and the other volumes of the template. */
const volumes = (set: JsonObject, ordinal: number, others: ReadonlyArray<JsonObject>): ReadonlyArray<JsonObject> => {
  const claims = StatefulClaims.of(set, ordinal)
  const names = new Set(claims.map(({ volume }) => volume))
  return [
    ...claims.map(({ name, volume }) => ({ name: volume, persistentVolumeClaim: { claimName: name } })),
    ...others.filter(({ name }) => !names.has(text(name) ?? ""))
  ]
}

/** Returns the pod of an ordinal with the template of a revision. */
const made = (set: JsonObject, revision: JsonObject, ordinal: number): JsonObject => {
  const pod = fromTemplate(Revisions.templateOf(revision), set)
  const spec = object(pod.spec)
  const all = volumes(set, ordinal, objects(spec.volumes))
  const name = nameAt(set, ordinal)
  return withMetadata(
    {
      ...pod,
      spec: {
        ...spec,
        hostname: name,
        subdomain: text(at(set, "spec", "serviceName")),
        ...(all.length === 0 ? {} : { volumes: all })
      }
    },
    { name, labels: { ...labelsOf(pod), ...identity(set, ordinal), [Revisions.podLabel]: nameOf(revision) } }
  )
}

/** Creates the claims and then the pod of an ordinal. `orElse` is written if a creation fails. */
export const create = (
  snapshot: Snapshot,
  set: JsonObject,
  revision: JsonObject,
  ordinal: number,
  orElse: ReadonlyArray<Write>
): ReadonlyArray<Write> => {
  const pod = made(set, revision, ordinal)
  return [
    ...StatefulClaims.create(snapshot, set, ordinal, orElse),
    {
      verb: "create",
      object: copy(pod),
      done: () => [event(set, "Create", nameOf(pod))],
      failed: ({ code, message }) => [...(code === 409 ? [] : [event(set, "Create", nameOf(pod), message)]), ...orElse]
    }
  ]
}

/** Deletes a pod. */
export const remove = (set: JsonObject, pod: JsonObject): Write => ({
  verb: "delete",
  object: pod,
  done: () => [event(set, "Delete", nameOf(pod))],
  failed: ({ message }) => [event(set, "Delete", nameOf(pod), message)]
})

/** Sets the identity and the volumes of an adopted pod, and the owners of its claims. */
export const conform = (snapshot: Snapshot, set: JsonObject, pod: JsonObject): ReadonlyArray<Write> => {
  const ordinal = ordinalOf(pod)
  const claims = StatefulClaims.own(snapshot, set, pod)
  const isNamed = labelsOf(pod)[nameLabel] === nameOf(pod)
  const given = objects(at(pod, "spec", "volumes"))
  const isStored = StatefulClaims.of(set, ordinal).every(({ name, volume }) =>
    given.some((one) => one.name === volume && at(one, "persistentVolumeClaim", "claimName") === name)
  )
  if (claims.length === 0 && isNamed && isStored) return []
  const named = isNamed ? pod : withMetadata(pod, { labels: { ...labelsOf(pod), ...identity(set, ordinal) } })
  const changed = isStored ? named : { ...named, spec: { ...object(pod.spec), volumes: volumes(set, ordinal, given) } }
  return [
    ...(isStored ? [] : StatefulClaims.create(snapshot, set, ordinal, [])),
    ...claims,
    {
      verb: "update",
      object: changed,
      done: () => [event(set, "Update", nameOf(pod))],
      failed: ({ message }) => [event(set, "Update", nameOf(pod), message)]
    }
  ]
}
