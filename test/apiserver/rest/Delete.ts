/**
 * DELETE: the server removes an object at once, or marks it until its finalizers are gone and its grace period is over. The client chooses
 * what happens to the dependents. For that choice, the server adds a finalizer, which the garbage collector removes.
 */

import * as Admission from "../admission/NamespaceLifecycle.ts"
import { isKind, type ServerState, type WriteOptions } from "../admission/ServerState.ts"
import * as EmptyObject from "../fields/EmptyObject.ts"
import * as Conditions from "../model/Conditions.ts"
import * as Failure from "../model/Failure.ts"
import * as Json from "../model/Json.ts"
import { convertAhead, type Kind } from "../model/Kind.ts"
import * as ObjectMeta from "../model/ObjectMeta.ts"
import * as ObjectMetaValidation from "../model/ObjectMetaValidation.ts"
import { timestamp } from "../model/Timestamp.ts"
import * as Precondition from "../storage/Precondition.ts"
import * as Query from "./Query.ts"

/** The result of a deletion. */
export interface Deleted {
  /** The current or the last state of the object, or a Status if the kind returns a Status. */
  readonly answer: Json.JsonObject
  readonly gone: boolean
}

/** The body of a deletion: DeleteOptions. */
type DeleteOptionsJson = Json.JsonObject

/** The object to delete, and the options. */
interface Deletion {
  readonly kind: Kind
  readonly current: Json.JsonObject
  readonly deleteOptions: DeleteOptionsJson
  readonly options: WriteOptions
}

/** Deletes an object with DeleteOptions. Throws a Failure. */
export const remove = (
  state: ServerState,
  kind: Kind,
  namespace: string,
  name: string,
  deleteOptions: DeleteOptionsJson,
  options: WriteOptions
): Deleted => {
  Query.checkDeletion(deleteOptions)
  warnOfOrphans(kind, deleteOptions, options)
  ObjectMetaValidation.checkSegment(name)
  Admission.checkDelete(kind, name)
  const stored = state.store.get(kind.storage, kind.namespaced ? namespace : "", name)
  if (stored === undefined) throw Failure.notFound(kind, name)
  const current = kind.fromStorage(stored)
  checkPreconditions(kind, name, current, Json.object(deleteOptions.preconditions))
  const attributes = {
    operation: "DELETE" as const,
    resource: kind,
    subresource: "",
    namespace: kind.namespaced ? namespace : "",
    name: options.collection === true ? "" : name,
    object: null,
    oldObject: current,
    deleteOptions
  }
  options.mutate?.(attributes)
  options.admit?.(attributes)
  const deletion: Deletion = { kind, current, deleteOptions, options }
  if (isKind(kind, "", "Namespace")) return removeNamespace(state, deletion)
  if (isKind(kind, "apiextensions.k8s.io", "CustomResourceDefinition") && !ObjectMeta.isDeleting(current)) {
    return removeDefinition(state, deletion)
  }
  return removeNow(state, deletion)
}

const removeNow = (state: ServerState, { deleteOptions, current, kind, options }: Deletion): Deleted => {
  const grace = graceOf(kind, current, deleteOptions, options.now)
  if (grace === "pending") return { answer: answerOf(kind, current), gone: false }
  const draft = Json.copy(current)
  const metadata = ObjectMeta.draftOf(draft)
  if (grace !== undefined) mark(metadata, grace)
  const finalizers = finalizersAfter(kind, ObjectMeta.finalizersOf(current), deleteOptions)
  if (finalizers.length > 0) metadata.finalizers = [...finalizers]
  else delete metadata.finalizers
  if (finalizers.length > 0 && grace === undefined) markEnded(metadata, options.now)
  if (finalizers.length > 0 || (grace?.seconds ?? 0) > 0) return markDeleted(state, kind, draft, options)
  // A kube-apiserver loses the object between the removal of the finalizers and the deletion.
  const lost = ObjectMeta.finalizersOf(current).length > 0
  if (options.dryRun) return { answer: lost ? nothingOf(kind) : answerOf(kind, draft), gone: true }
  if (lost && Json.at(deleteOptions, "preconditions", "resourceVersion") !== undefined) {
    const version = String(Json.at(current, "metadata", "resourceVersion"))
    throw Precondition.failed(
      kind,
      ObjectMeta.namespaceOf(current),
      ObjectMeta.nameOf(current),
      "ResourceVersion",
      "",
      version
    )
  }
  convertAhead(
    kind,
    state.store.get(kind.storage, ObjectMeta.namespaceOf(current), ObjectMeta.nameOf(current)) ?? draft
  )
  // Watches see that the pod is terminating before it is gone.
  if (grace !== undefined) state.store.put(kind.storage, kind.toStorage(draft))
  const last = state.store.remove(kind.storage, ObjectMeta.namespaceOf(current), ObjectMeta.nameOf(current))
  return { answer: answerOf(kind, last === undefined ? draft : kind.fromStorage(last)), gone: true }
}

/** The empty object of a kind in the internal version of a kube-apiserver, where missing replicas are 0. */
const nothingOf = (kind: Kind): Json.JsonObject => {
  const empty = EmptyObject.ofKind(kind)
  if (kind.custom || kind.scale === undefined) return empty
  const draft = Json.copy(empty)
  const [last = "", ...path] = [...kind.scale.specReplicas].reverse()
  path.reduceRight(Json.member, draft)[last] = 0
  return draft
}

/** A namespace is removed after its content is gone and a client has removed its finalizer at `/finalize`. */
const removeNamespace = (state: ServerState, deletion: Deletion): Deleted => {
  const { deleteOptions, current, kind, options } = deletion
  if (ObjectMeta.isDeleting(current)) {
    const waits = Json.list(Json.at(current, "spec", "finalizers")).length > 0
    return waits ? { answer: current, gone: false } : removeNow(state, deletion)
  }
  const draft = Json.copy(current)
  const metadata = ObjectMeta.draftOf(draft)
  metadata.deletionTimestamp = timestamp(options.now)
  Json.member(draft, "status").phase = "Terminating"
  const finalizers = finalizersAfter(kind, ObjectMeta.finalizersOf(current), deleteOptions)
  if (finalizers.length > 0) metadata.finalizers = [...finalizers]
  return markDeleted(state, kind, draft, options)
}

/** A CRD is removed after its objects are gone. */
const removeDefinition = (state: ServerState, { current, kind, options }: Deletion): Deleted => {
  const draft = Json.copy(current)
  const metadata = ObjectMeta.draftOf(draft)
  metadata.deletionTimestamp = timestamp(options.now)
  metadata.finalizers = [...new Set([...ObjectMeta.finalizersOf(current), ObjectMeta.cleanup])]
  Conditions.set(draft, terminating, options.now)
  return markDeleted(state, kind, draft, options)
}

const terminating: Conditions.Condition = {
  type: "Terminating",
  status: "True",
  reason: "InstanceDeletionPending",
  message: "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
}

/** Keeps the object and marks it as deleted. Changes nothing if the object is marked already. */
const markDeleted = (state: ServerState, kind: Kind, draft: Json.JsonObject, options: WriteOptions): Deleted => {
  const next = kind.toStorage(draft)
  convertAhead(kind, next)
  const before = state.store.get(kind.storage, ObjectMeta.namespaceOf(draft), ObjectMeta.nameOf(draft))
  const written = options.dryRun || Json.equal(next, before) ? next : state.store.put(kind.storage, next)
  return { answer: kind.fromStorage(written), gone: false }
}

const answerOf = (kind: Kind, object: Json.JsonObject): Json.JsonObject =>
  kind.deletedAs === "object"
    ? object
    : {
        kind: "Status",
        apiVersion: "v1",
        metadata: {},
        status: "Success",
        details: {
          name: ObjectMeta.nameOf(object),
          ...(kind.group === "" ? {} : { group: kind.group }),
          kind: kind.plural,
          uid: Json.at(object, "metadata", "uid")
        }
      }

/** Throws a Failure (409) if the object does not meet the preconditions of the deletion. */
export const checkPreconditions = (
  kind: Kind,
  name: string,
  current: Json.JsonObject,
  preconditions: Json.JsonObject
): void => {
  const uid = Json.at(current, "metadata", "uid")
  const version = Json.at(current, "metadata", "resourceVersion")
  const named = { ...kind, plural: kind.kind }
  if (preconditions.uid !== undefined && preconditions.uid !== uid) {
    throw Failure.conflict(
      named,
      name,
      `the UID in the precondition (${String(preconditions.uid)}) does not match the UID in record (${String(uid)}). The object might have been deleted and then recreated`
    )
  }
  if (preconditions.resourceVersion !== undefined && preconditions.resourceVersion !== version) {
    throw Failure.conflict(
      named,
      name,
      `the ResourceVersion in the precondition (${String(preconditions.resourceVersion)}) does not match the ResourceVersion in record (${String(version)}). The object might have been modified`
    )
  }
}

/** The grace period of a deletion. */
interface Grace {
  readonly seconds: number
  readonly deletionTimestamp: string
}

/** The grace period. Undefined: the kind has no grace period, or it was zero. `pending`: an earlier grace period has not ended. */
const graceOf = (
  kind: Kind,
  current: Json.JsonObject,
  deleteOptions: DeleteOptionsJson,
  now: number
): Grace | "pending" | undefined => {
  if (kind.graceful !== true) return undefined
  const given = Json.number(deleteOptions.gracePeriodSeconds)
  const seconds = given !== undefined && given < 0 ? 1 : given
  if (!ObjectMeta.isDeleting(current)) {
    const period = kind.gracePeriod(current, seconds)
    return { seconds: period, deletionTimestamp: timestamp(now + period * 1000) }
  }
  const before = Json.number(Json.at(current, "metadata", "deletionGracePeriodSeconds")) ?? 0
  if (before === 0) return undefined
  if (seconds === undefined || seconds >= before) return "pending"
  const begun = Date.parse(Json.text(Json.at(current, "metadata", "deletionTimestamp")) ?? "") - before * 1000
  const end = begun + seconds * 1000
  // A shorter grace period that is over already ends now, but the kubelet must still confirm the end of the pod.
  return end < now
    ? { seconds: Math.min(seconds, 1), deletionTimestamp: timestamp(now) }
    : { seconds, deletionTimestamp: timestamp(end) }
}

const mark = (metadata: Json.DraftObject, { deletionTimestamp, seconds }: Grace): void => {
  if (metadata.deletionTimestamp === undefined) incrementGeneration(metadata)
  metadata.deletionTimestamp = deletionTimestamp
  metadata.deletionGracePeriodSeconds = seconds
}

const markEnded = (metadata: Json.DraftObject, now: number): void => {
  const before = metadata.deletionTimestamp
  if (before === undefined) incrementGeneration(metadata)
  if (typeof before !== "string" || Date.parse(before) > now) metadata.deletionTimestamp = timestamp(now)
  metadata.deletionGracePeriodSeconds = 0
}

const incrementGeneration = (metadata: Json.DraftObject): void => {
  const generation = metadata.generation
  if (typeof generation === "number" && generation > 0) metadata.generation = generation + 1
}

/** The finalizers after the deletion: with the garbage collector's finalizer that the deletion requires, and without the other one. */
const finalizersAfter = (
  kind: Kind,
  finalizers: ReadonlyArray<string>,
  deleteOptions: DeleteOptionsJson
): ReadonlyArray<string> => {
  const policy = policyOf(kind, finalizers, deleteOptions)
  const wanted =
    policy === "Orphan" ? [ObjectMeta.orphan] : policy === "Foreground" ? [ObjectMeta.foregroundDeletion] : []
  const others = finalizers.filter((one) => one !== ObjectMeta.orphan && one !== ObjectMeta.foregroundDeletion)
  const next = [...others, ...wanted]
  // Compares the finalizers as sets, so that duplicates stay.
  return new Set(next).symmetricDifference(new Set(finalizers)).size === 0 ? finalizers : next
}

/** Warns that a deletion without a propagation policy leaves the dependents. */
export const warnOfOrphans = (
  kind: Kind,
  deleteOptions: DeleteOptionsJson,
  { warn }: Pick<WriteOptions, "warn">
): void => {
  if (kind.dependents !== "orphaned") return
  if ((deleteOptions.propagationPolicy ?? deleteOptions.orphanDependents ?? null) !== null) return
  warn(
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning"
  )
}

type Policy = "Orphan" | "Foreground" | "Background"

const policyOf = (kind: Kind, finalizers: ReadonlyArray<string>, deleteOptions: DeleteOptionsJson): Policy => {
  if (kind.dependents === "ignored") return "Background"
  const { orphanDependents, propagationPolicy } = deleteOptions
  if (typeof orphanDependents === "boolean") return orphanDependents ? "Orphan" : "Background"
  if (propagationPolicy === "Orphan" || propagationPolicy === "Foreground" || propagationPolicy === "Background") {
    return propagationPolicy
  }
  const noted = finalizers.find((one) => one === ObjectMeta.orphan || one === ObjectMeta.foregroundDeletion)
  if (noted !== undefined) return noted === ObjectMeta.orphan ? "Orphan" : "Foreground"
  return kind.dependents === "orphaned" ? "Orphan" : "Background"
}
