/** ControllerRevisions: the earlier templates of a StatefulSet or DaemonSet, which distinguish its pods and allow a rollback. */
import * as GoText from "@homeostat/apiserver/model/GoText"
import { at, equal, type JsonObject, number, object, texts } from "@homeostat/apiserver/model/Json"
import {
  annotationsOf,
  controllerReference,
  createdAt,
  nameOf,
  namespaceOf
} from "@homeostat/apiserver/model/ObjectMeta"
import { safe } from "./PodTemplateHash.ts"

/** The label of a pod with its revision. */
export const podLabel = "controller-revision-hash"

/** Returns the data of the revision for the template of an owner: a strategic merge patch. */
export const dataOf = (owner: JsonObject): JsonObject => ({
  spec: { template: { ...object(at(owner, "spec", "template")), $patch: "replace" } }
})

/** Whether a revision has the template of an owner. */
export const isOf = (revision: JsonObject, owner: JsonObject): boolean => equal(revision.data, dataOf(owner))

/** Returns the template of a revision. */
export const templateOf = (revision: JsonObject): JsonObject => {
  const { $patch: _, ...template } = object(at(revision, "data", "spec", "template"))
  return template
}

/** Returns the number of a revision; a higher number is newer. */
export const revisionOf = (revision: JsonObject): number => number(revision.revision) ?? 0

/** Sorts the revisions, the oldest first. */
export const sorted = (revisions: ReadonlyArray<JsonObject>): ReadonlyArray<JsonObject> =>
  revisions.toSorted(
    (one, other) =>
      revisionOf(one) - revisionOf(other) || createdAt(one) - createdAt(other) || (nameOf(one) < nameOf(other) ? -1 : 1)
  )

/** Returns the hash of a revision's data, as a real StatefulSet computes it. */
export const hashOf = (data: JsonObject, collisions: number): string => {
  let hash = 0x811c9dc5
  for (const byte of new TextEncoder().encode(`${GoText.json(data)}${collisions}`)) {
    hash = (Math.imul(hash, 0x01000193) ^ byte) >>> 0
  }
  return safe(hash)
}

/** Returns the revision to create for the template of an owner, with this hash and number. */
export const made = (owner: JsonObject, hash: string, label: string, revision: number): JsonObject => ({
  apiVersion: "apps/v1",
  kind: "ControllerRevision",
  metadata: {
    name: `${nameOf(owner).slice(0, 223)}-${hash}`,
    namespace: namespaceOf(owner),
    labels: { ...texts(at(owner, "spec", "template", "metadata", "labels")), [label]: hash },
    annotations: annotationsOf(owner),
    ownerReferences: [controllerReference(owner)]
  },
  data: dataOf(owner),
  revision
})
