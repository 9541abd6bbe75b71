/**
 * Deployments: a ReplicaSet per template, and a rollout from the old ReplicaSets to the new one.
 *
 * A pass does the first pending step of this list, and updates the status:
 * - adopt and release ReplicaSets
 * - report that the Deployment is paused or resumed
 * - create the new ReplicaSet or update its annotations
 * - scale the ReplicaSets after a change of `replicas`
 * - scale up the new ReplicaSet, and scale down the old ones
 * - clean up the history
 */
import { at, type JsonObject, number, object } from "@homeostat/apiserver/model/Json"
import {
  annotationsOf,
  controllerKey,
  controllerOf,
  createdAt,
  isDeleting,
  keyOfObject,
  nameOf,
  namespaceOf,
  ofKey,
  uidOf,
  withMetadata
} from "@homeostat/apiserver/model/ObjectMeta"
import { ofLabelSelector } from "@homeostat/apiserver/storage/LabelSelector"
import type { Change } from "@homeostat/apiserver/storage/Store"
import { type BuiltInController, nothing, type Pass, type Snapshot, type Write } from "./BuiltInController.ts"
import { claim } from "./Claim.ts"
import * as Claimants from "./Claimants.ts"
import * as Status from "./DeploymentStatus.ts"
import { isFinished } from "./ManagedPods.ts"
import * as NewReplicaSet from "./NewReplicaSet.ts"
import * as Rollout from "./Rollout.ts"
import * as Storages from "./Storages.ts"

const reconcile = (snapshot: Snapshot, key: string, now: number): Pass => {
  const deployment = snapshot.get(Storages.deployments, ...ofKey(key))
  if (deployment === undefined) return nothing
  const selector = ofLabelSelector(at(deployment, "spec", "selector"))
  const claimed = claim(snapshot, Storages.replicaSets, deployment, selector)
  if (claimed.patches.length > 0) return { writes: claimed.patches }
  const sets = NewReplicaSet.sorted(deployment, claimed.objects)
  if (isDeleting(deployment)) return settled(deployment, sets, now)
  const paused = pauseChanged(deployment, now)
  if (paused !== undefined) return { writes: [status(paused)] }
  if (at(deployment, "spec", "paused") === true) {
    return known(deployment, sets, now) ?? scaled(deployment, sets, now)
  }
  if (isScaled(deployment, sets)) return known(deployment, sets, now) ?? scaled(deployment, sets, now)
  return Rollout.isRolling(deployment)
    ? rolled(snapshot, deployment, sets, now)
    : recreated(snapshot, deployment, sets, now)
}

const status = (deployment: JsonObject): Write => ({ verb: "update", subresource: "status", object: deployment })

/** Writes the status if it has changed. */
const statusWrites = (deployment: JsonObject, next: JsonObject): ReadonlyArray<Write> =>
  Status.isReportedBy(deployment, next) ? [] : [status({ ...deployment, status: next })]

/** Ends a pass outside of a rollout. */
const settled = (deployment: JsonObject, { fresh, old }: NewReplicaSet.Sets, now: number): Pass => ({
  writes: statusWrites(deployment, Status.calculated(deployment, fresh, old, now))
})

/** Ends a pass of a rollout. If nothing changes, the next pass runs at the progress deadline. */
const inRollout = (
  deployment: JsonObject,
  { fresh, old }: NewReplicaSet.Sets,
  now: number,
  writes: ReadonlyArray<Write> = []
): Pass => {
  const next = Status.ofRollout(deployment, fresh, old, now)
  const last = statusWrites(deployment, next)
  const waits = last.length === 0 && !Status.isComplete(deployment, next)
  const left = waits ? Status.untilTimedOut(deployment, now) : undefined
  return { writes: [...writes, ...last], again: left === 0 ? undefined : left }
}

/** Returns the Deployment with the condition for paused or resumed; undefined if the condition is up to date. */
const pauseChanged = (deployment: JsonObject, now: number): JsonObject | undefined => {
  const reason = Status.progressing(deployment)?.reason
  if (Status.deadlineOf(deployment) === undefined || reason === "ProgressDeadlineExceeded") return undefined
  const isPaused = at(deployment, "spec", "paused") === true
  if (isPaused === (reason === "DeploymentPaused")) return undefined
  const [nextReason, message] = isPaused
    ? ["DeploymentPaused", "Deployment is paused"]
    : ["DeploymentResumed", "Deployment is resumed"]
  return Status.withCondition(deployment, Status.condition("Progressing", "Unknown", nextReason, message, now))
}

/**
 * Returns the pass that sets the revisions of the new ReplicaSet and of the Deployment. Undefined if both are up to date, or the new
 * ReplicaSet does not exist.
 */
const known = (deployment: JsonObject, { fresh, old }: NewReplicaSet.Sets, now: number): Pass | undefined => {
  if (fresh === undefined) return undefined
  const updated = NewReplicaSet.updated(deployment, fresh, old)
  if (updated !== undefined) return { writes: [{ verb: "update", object: updated }] }
  const numbered = withRevision(deployment, NewReplicaSet.revisionOf(fresh))
  const isNew = Status.deadlineOf(deployment) !== undefined && Status.progressing(deployment) === undefined
  if (numbered === deployment && !isNew) return undefined
  const found = `Found new replica set ${JSON.stringify(nameOf(fresh))}`
  return {
    writes: [
      status(
        isNew
          ? Status.withCondition(numbered, Status.condition("Progressing", "True", "FoundNewReplicaSet", found, now))
          : numbered
      )
    ]
  }
}

const withRevision = (deployment: JsonObject, revision: number): JsonObject => {
  const annotations = annotationsOf(deployment)
  return annotations[NewReplicaSet.revisionAnnotation] === String(revision)
    ? deployment
    : withMetadata(deployment, {
        annotations: { ...annotations, [NewReplicaSet.revisionAnnotation]: String(revision) }
      })
}

/** Returns the pass that creates the new ReplicaSet. */
const created = (snapshot: Snapshot, deployment: JsonObject, old: ReadonlyArray<JsonObject>, now: number): Pass => {
  const made = NewReplicaSet.made(deployment, old)
  const name = nameOf(made)
  if (snapshot.get(Storages.replicaSets, namespaceOf(made), name) !== undefined) {
    const collisionCount = (number(at(deployment, "status", "collisionCount")) ?? 0) + 1
    return { writes: [status({ ...deployment, status: { ...object(deployment.status), collisionCount } })] }
  }
  const watched = Status.deadlineOf(deployment) !== undefined
  const progressing = (value: "True" | "False", reason: string, message: string, of: JsonObject) =>
    watched ? Status.withCondition(of, Status.condition("Progressing", value, reason, message, now)) : of
  const replicas = Rollout.wanted(made)
  return {
    writes: [
      {
        verb: "create",
        object: made,
        done: () => (replicas > 0 ? [scaling(deployment, `Scaled up replica set ${name} from 0 to ${replicas}`)] : []),
        failed: ({ message }) => {
          const failureMessage = `Failed to create new replica set ${JSON.stringify(name)}: ${message}`
          return [
            ...(watched ? [status(progressing("False", "ReplicaSetCreateError", failureMessage, deployment))] : []),
            {
              verb: "record",
              about: deployment,
              type: "Warning",
              reason: "ReplicaSetCreateError",
              message: failureMessage
            }
          ]
        }
      },
      // The real controller writes both conditions of a resumed Deployment in one pass, and the second write conflicts with the first.
      ...(Status.progressing(deployment)?.reason === "DeploymentResumed"
        ? []
        : [
            status(
              progressing(
                "True",
                "NewReplicaSetCreated",
                `Created new replica set ${JSON.stringify(name)}`,
                withRevision(deployment, NewReplicaSet.revisionOf(made))
              )
            )
          ])
    ]
  }
}

const scaling = (deployment: JsonObject, message: string): Write => ({
  verb: "record",
  about: deployment,
  type: "Normal",
  reason: "ScalingReplicaSet",
  message
})

/** Scales ReplicaSets. */
const resize = (deployment: JsonObject, steps: ReadonlyArray<Rollout.Step>): ReadonlyArray<Write> =>
  steps.flatMap(([set, replicas]) => {
    const resized = NewReplicaSet.resized(deployment, set, replicas)
    const before = Rollout.wanted(set)
    const way = before < replicas ? "up" : "down"
    const done = (): ReadonlyArray<Write> =>
      before === replicas
        ? []
        : [scaling(deployment, `Scaled ${way} replica set ${nameOf(set)} from ${before} to ${replicas}`)]
    return resized === undefined ? [] : [{ verb: "update" as const, object: resized, done }]
  })

/** Whether `replicas` has changed since the ReplicaSets were last scaled. */
const isScaled = (deployment: JsonObject, { fresh, old }: NewReplicaSet.Sets): boolean =>
  Rollout.active(fresh === undefined ? old : [...old, fresh]).some((set) => {
    const desired = Rollout.count(annotationsOf(set)[Rollout.desiredAnnotation])
    return desired !== undefined && desired !== Rollout.wanted(deployment)
  })

/** Returns the pass after a change of `replicas`. */
const scaled = (deployment: JsonObject, sets: NewReplicaSet.Sets, now: number): Pass => {
  const { writes } = settled(deployment, sets, now)
  const paused = at(deployment, "spec", "paused") === true
  return {
    writes: [
      ...resize(deployment, scalingSteps(deployment, sets)),
      ...(paused ? cleanUp(deployment, sets.old) : []),
      ...writes
    ]
  }
}

const scalingSteps = (deployment: JsonObject, { fresh, old }: NewReplicaSet.Sets): ReadonlyArray<Rollout.Step> => {
  const all = fresh === undefined ? old : [...old, fresh]
  const active = Rollout.active(all)
  const replicas = Rollout.wanted(deployment)
  if (active.length <= 1) {
    const only = active[0] ?? fresh ?? old.toSorted((one, other) => createdAt(other) - createdAt(one))[0]
    return only === undefined || Rollout.wanted(only) === replicas ? [] : [[only, replicas]]
  }
  if (fresh !== undefined && isSaturated(deployment, fresh)) return Rollout.active(old).map((set) => [set, 0])
  return Rollout.isRolling(deployment) ? Rollout.proportionally(deployment, all) : []
}

/** Whether the new ReplicaSet has all its pods, and all of them are available. */
const isSaturated = (deployment: JsonObject, fresh: JsonObject): boolean => {
  const replicas = Rollout.wanted(deployment)
  return (
    Rollout.wanted(fresh) === replicas &&
    Rollout.count(annotationsOf(fresh)[Rollout.desiredAnnotation]) === replicas &&
    Rollout.counted(fresh, "availableReplicas") === replicas
  )
}

/** Returns a pass of a rolling update. */
const rolled = (snapshot: Snapshot, deployment: JsonObject, sets: NewReplicaSet.Sets, now: number): Pass => {
  const { fresh, old } = sets
  if (fresh === undefined) return created(snapshot, deployment, old, now)
  const first = known(deployment, sets, now)
  if (first !== undefined) return first
  const replicas = Rollout.wanted(fresh)
  const next =
    replicas > Rollout.wanted(deployment) ? Rollout.wanted(deployment) : Rollout.newReplicas(deployment, old, replicas)
  const steps: ReadonlyArray<Rollout.Step> =
    next !== replicas ? [[fresh, next]] : Rollout.scaleDown(deployment, fresh, old)
  return inRollout(deployment, sets, now, steps.length > 0 ? resize(deployment, steps) : finished(deployment, old))
}

/** Returns a pass of the strategy Recreate, which stops all old pods first. */
const recreated = (snapshot: Snapshot, deployment: JsonObject, sets: NewReplicaSet.Sets, now: number): Pass => {
  const { fresh, old } = sets
  const first = known(deployment, sets, now)
  if (first !== undefined) return first
  const down = resize(
    deployment,
    Rollout.active(old).map((set) => [set, 0])
  )
  if (down.length > 0) return inRollout(deployment, sets, now, down)
  if (Rollout.countedOfAll(old, "replicas") > 0 || old.some((set) => hasPods(snapshot, set))) {
    return inRollout(deployment, sets, now)
  }
  if (fresh === undefined) return created(snapshot, deployment, old, now)
  const replicas = Rollout.wanted(deployment)
  const up = replicas === Rollout.wanted(fresh) ? [] : resize(deployment, [[fresh, replicas]])
  return inRollout(deployment, sets, now, [...up, ...finished(deployment, old)])
}

/** Whether a pod of a ReplicaSet is running or terminating. */
const hasPods = (snapshot: Snapshot, set: JsonObject): boolean =>
  snapshot
    .dependents(uidOf(set))
    .some(
      ({ object, storage }) =>
        storage === Storages.pods && controllerOf(object)?.uid === uidOf(set) && !isFinished(object)
    )

const finished = (deployment: JsonObject, old: ReadonlyArray<JsonObject>): ReadonlyArray<Write> =>
  Status.isComplete(deployment, object(deployment.status)) ? cleanUp(deployment, old) : []

/** Deletes the oldest ReplicaSets beyond `revisionHistoryLimit`. */
const cleanUp = (deployment: JsonObject, old: ReadonlyArray<JsonObject>): ReadonlyArray<Write> => {
  const limit = number(at(deployment, "spec", "revisionHistoryLimit"))
  const kept = old
    .filter((set) => !isDeleting(set))
    .toSorted((one, other) => NewReplicaSet.revisionOf(one) - NewReplicaSet.revisionOf(other))
  return kept.slice(0, Math.max(0, kept.length - (limit ?? Number.MAX_SAFE_INTEGER))).flatMap((set) => {
    const isSeen = (number(at(set, "metadata", "generation")) ?? 0) <= Rollout.counted(set, "observedGeneration")
    const isEmpty = Rollout.wanted(set) === 0 && Rollout.counted(set, "replicas") === 0
    return isEmpty && isSeen ? [{ verb: "delete" as const, object: set }] : []
  })
}

const kind: Claimants.Kind = { storage: Storages.deployments, apiVersion: "apps/v1", kind: "Deployment" }

const keys = (change: Change, snapshot: Snapshot): ReadonlyArray<string> => {
  const { object, storage, type } = change
  if (storage === Storages.deployments) return [keyOfObject(object)]
  if (storage === Storages.pods) {
    const owner = type === "DELETED" ? controllerKey(object, "apps/v1", "ReplicaSet") : undefined
    const set = owner === undefined ? undefined : snapshot.get(Storages.replicaSets, ...ofKey(owner))
    const key = set === undefined ? undefined : controllerKey(set, "apps/v1", "Deployment")
    return key === undefined ? [] : [key]
  }
  return Claimants.keys(change, snapshot, kind)
}

/** The Deployment controller. It ignores the deprecated rollback annotation, because kubectl rolls back by itself. */
export const deploymentController: BuiltInController = {
  name: "deployment-controller",
  manager: "kube-controller-manager",
  component: "deployment-controller",
  storages: [Storages.deployments, Storages.replicaSets, Storages.pods],
  keys,
  reconcile
}
