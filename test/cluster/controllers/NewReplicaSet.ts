/**
 * The ReplicaSets of a Deployment: which of them has its template, the one to be made when none has, and the annotations
 * by which they are numbered.
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

/** The label by which the pods of one ReplicaSet differ from those of another. */
const hashLabel = "pod-template-hash"

/** The number of a rollout, on the Deployment and its ReplicaSets; and the numbers that a ReplicaSet had before. */
export const revisionAnnotation = "deployment.kubernetes.io/revision"
const historyAnnotation = "deployment.kubernetes.io/revision-history"

/** What is a Deployment's own and not for its ReplicaSets. */
const own = new Set([
  "kubectl.kubernetes.io/last-applied-configuration",
  revisionAnnotation,
  historyAnnotation,
  desiredAnnotation,
  maxAnnotation,
  "deprecated.deployment.rollback.to"
])

/** How long the history of one ReplicaSet may be, in characters. */
const longestHistory = 2000

/** The number of a ReplicaSet's rollout; 0: none. */
export const revisionOf = (set: JsonObject): number => count(annotationsOf(set)[revisionAnnotation]) ?? 0

/** The ReplicaSets of a Deployment. */
export interface Sets {
  /** The one with its template: the oldest, if there are several. */
  readonly fresh: JsonObject | undefined
  /** The others, by age. */
  readonly old: ReadonlyArray<JsonObject>
}

/** Tells the new one from the old ones. */
export const sorted = (deployment: JsonObject, sets: ReadonlyArray<JsonObject>): Sets => {
  const all = byAge(sets)
  const fresh = all.find((set) => equal(withoutHash(set), withoutHash(deployment)))
  return { fresh, old: all.filter((set) => set !== fresh) }
}

/** The template of a Deployment or ReplicaSet as both have it. */
const withoutHash = (of: JsonObject): JsonObject => {
  const template = object(at(of, "spec", "template"))
  const { creationTimestamp: _, labels, ...metadata } = object(template.metadata)
  const { [hashLabel]: __, ...others } = texts(labels)
  return { ...template, metadata: { ...metadata, labels: others } }
}

const nextRevision = (old: ReadonlyArray<JsonObject>): number => Math.max(0, ...old.map(revisionOf)) + 1

/** The annotations of the new ReplicaSet, given those it has. */
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

/** The new ReplicaSet as it should be annotated; undefined where it is. */
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

/** The ReplicaSet to be made for the template of a Deployment. */
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

/** What tells a scaling from a rollout. */
const replicasAnnotations = (deployment: JsonObject): { readonly [name: string]: string } => ({
  [desiredAnnotation]: String(wanted(deployment)),
  [maxAnnotation]: String(wanted(deployment) + maxSurge(deployment))
})

/** A ReplicaSet of another size; undefined where nothing changes. */
export const resized = (deployment: JsonObject, set: JsonObject, replicas: number): JsonObject | undefined => {
  const annotations = { ...annotationsOf(set), ...replicasAnnotations(deployment) }
  if (wanted(set) === replicas && equal(annotations, annotationsOf(set))) return undefined
  return { ...withMetadata(set, { annotations }), spec: { ...object(set.spec), replicas } }
}
