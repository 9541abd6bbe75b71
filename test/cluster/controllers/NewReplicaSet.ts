/**
 * The ReplicaSets of a Deployment: the one with its current template, the creation of a new one, and the annotations with their revisions.
 */
import { at, equal, type JsonObject, number, object, texts } from "@homeostat/apiserver/model/Json"
import {
  annotationsOf,
  controllerReference,
  nameOf,
  namespaceOf,
  withMetadata
} from "@homeostat/apiserver/model/ObjectMeta"
import { hashOf } from "./PodTemplateHash.ts"
import { byAge, count, desiredAnnotation, maxAnnotation, maxSurge, newReplicas, wanted } from "./Rollout.ts"

/** The label that distinguishes the pods of the ReplicaSets. */
const hashLabel = "pod-template-hash"

/** The annotations with the revision of a rollout, and with the earlier revisions of a ReplicaSet. */
export const revisionAnnotation = "deployment.kubernetes.io/revision"
const historyAnnotation = "deployment.kubernetes.io/revision-history"

/** The annotations of a Deployment that its ReplicaSets do not get. */
const own = new Set([
  "kubectl.kubernetes.io/last-applied-configuration",
  revisionAnnotation,
  historyAnnotation,
  desiredAnnotation,
  maxAnnotation,
  "deprecated.deployment.rollback.to"
])

/** The maximum length of the revision history, in characters. */
const longestHistory = 2000

/** Returns the revision of a ReplicaSet; 0 if it has none. */
export const revisionOf = (set: JsonObject): number => count(annotationsOf(set)[revisionAnnotation]) ?? 0

/** The ReplicaSets of a Deployment. */
export interface Sets {
  /** The ReplicaSet with the current template; the oldest if there are several. */
  readonly fresh: JsonObject | undefined
  /** The other ReplicaSets, the oldest first. */
  readonly old: ReadonlyArray<JsonObject>
}

/** Separates the new ReplicaSet from the old ones. */
export const sorted = (deployment: JsonObject, sets: ReadonlyArray<JsonObject>): Sets => {
  const all = byAge(sets)
  const fresh = all.find((set) => equal(withoutHash(set), withoutHash(deployment)))
  return { fresh, old: all.filter((set) => set !== fresh) }
}

/** Returns the template of a Deployment or ReplicaSet without its hash label, so that templates can be compared. */
const withoutHash = (of: JsonObject): JsonObject => {
  const template = object(at(of, "spec", "template"))
  const { creationTimestamp: _, labels, ...metadata } = object(template.metadata)
  const { [hashLabel]: __, ...others } = texts(labels)
  return { ...template, metadata: { ...metadata, labels: others } }
}

const nextRevision = (old: ReadonlyArray<JsonObject>): number => Math.max(0, ...old.map(revisionOf)) + 1

/** Returns the annotations of the new ReplicaSet from its current ones. */
const annotated = (
  deployment: JsonObject,
  before: { readonly [name: string]: string },
  old: ReadonlyArray<JsonObject>
): { readonly [name: string]: string } => {
  const copied = Object.fromEntries(Object.entries(annotationsOf(deployment)).filter(([name]) => !own.has(name)))
  const revision = before[revisionAnnotation]
  const next = nextRevision(old)
  if (revision !== undefined && (count(revision) ?? 0) >= next) return { ...before, ...copied }
  const history = revision === undefined ? undefined : extended(before[historyAnnotation], revision)
  return {
    ...before,
    ...copied,
    [revisionAnnotation]: String(next),
    ...(history === undefined ? {} : { [historyAnnotation]: history })
  }
}

const extended = (history: string | undefined, revision: string): string => {
  const revisions = [...(history ? history.split(",") : []), revision]
  while (revisions.join().length > longestHistory) revisions.shift()
  return revisions.join()
}

/** Returns the new ReplicaSet with its annotations; undefined if they are up to date. */
export const updated = (
  deployment: JsonObject,
  fresh: JsonObject,
  old: ReadonlyArray<JsonObject>
): JsonObject | undefined => {
  const before = annotationsOf(fresh)
  const annotations = annotated(deployment, before, old)
  const seconds = number(at(deployment, "spec", "minReadySeconds")) ?? 0
  if (equal(annotations, before) && (number(at(fresh, "spec", "minReadySeconds")) ?? 0) === seconds) return undefined
  return { ...withMetadata(fresh, { annotations }), spec: { ...object(fresh.spec), minReadySeconds: seconds } }
}

/** Returns the ReplicaSet to create for the template of a Deployment. */
export const made = (deployment: JsonObject, old: ReadonlyArray<JsonObject>): JsonObject => {
  const template = object(at(deployment, "spec", "template"))
  const hash = hashOf(template, number(at(deployment, "status", "collisionCount")) ?? 0)
  const labels = { ...texts(at(template, "metadata", "labels")), [hashLabel]: hash }
  const selector = object(at(deployment, "spec", "selector"))
  const minReadySeconds = number(at(deployment, "spec", "minReadySeconds")) ?? 0
  return {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    metadata: {
      name: `${nameOf(deployment).slice(0, 253 - 1 - hash.length)}-${hash}`,
      namespace: namespaceOf(deployment),
      labels,
      annotations: { ...annotated(deployment, {}, old), ...replicasAnnotations(deployment) },
      ownerReferences: [controllerReference(deployment)]
    },
    spec: {
      replicas: newReplicas(deployment, old, 0),
      ...(minReadySeconds === 0 ? {} : { minReadySeconds }),
      selector: { ...selector, matchLabels: { ...texts(selector.matchLabels), [hashLabel]: hash } },
      template: { ...template, metadata: { ...object(template.metadata), labels } }
    }
  }
}

/** The annotations that distinguish scaling from a rollout. */
const replicasAnnotations = (deployment: JsonObject): { readonly [name: string]: string } => ({
  [desiredAnnotation]: String(wanted(deployment)),
  [maxAnnotation]: String(wanted(deployment) + maxSurge(deployment))
})

/** Returns a ReplicaSet with another size; undefined if nothing changes. */
export const resized = (deployment: JsonObject, set: JsonObject, replicas: number): JsonObject | undefined => {
  const annotations = { ...annotationsOf(set), ...replicasAnnotations(deployment) }
  if (wanted(set) === replicas && equal(annotations, annotationsOf(set))) return undefined
  return { ...withMetadata(set, { annotations }), spec: { ...object(set.spec), replicas } }
}
