/**
 * StatefulSets: create, update and delete pods with ordinals and their claims in order.
 *
 * Not supported: the strategy Recreate, which kube-apiserver 1.37 does not enable by default.
 */
import { at, type JsonObject, number, object, objects, text } from "@homeostat/apiserver/model/Json"
import { isDeleting, keyOfObject, nameOf, namespaceOf, ofKey } from "@homeostat/apiserver/model/ObjectMeta"
import { ofLabelSelector } from "@homeostat/apiserver/storage/LabelSelector"
import type { Change } from "@homeostat/apiserver/storage/Store"
import { type BuiltInController, nothing, type Pass, type Snapshot, type Write } from "./BuiltInController.ts"
import { claim } from "./Claim.ts"
import * as Claimants from "./Claimants.ts"
import { isAvailable, isFinished, phaseOf, untilNextAvailable } from "./ManagedPods.ts"
import * as Revisions from "./Revisions.ts"
import * as StatefulClaims from "./StatefulClaims.ts"
import * as StatefulPods from "./StatefulPods.ts"
import * as Storages from "./Storages.ts"

const hashLabel = "controller.kubernetes.io/hash"

/** The revisions of a StatefulSet. */
interface History {
  /** The revision of the pods that are not updated yet. */
  readonly current: JsonObject
  readonly update: JsonObject
  readonly collisions: number
  readonly writes: ReadonlyArray<Write>
}

/** A StatefulSet with its pods. */
interface State {
  readonly snapshot: Snapshot
  readonly set: JsonObject
  readonly history: History
  /** By place; undefined: not created yet. */
  readonly replicas: ReadonlyArray<JsonObject | undefined>
  /** The pods beyond the replicas, the highest ordinal first. */
  readonly condemned: ReadonlyArray<JsonObject>
  readonly start: number
  readonly isParallel: boolean
  readonly now: number
}

const reconcile = (snapshot: Snapshot, key: string, now: number): Pass => {
  const set = snapshot.get(Storages.statefulSets, ...ofKey(key))
  if (set === undefined) return nothing
  const selector = ofLabelSelector(at(set, "spec", "selector"))
  const pods = claim(snapshot, Storages.pods, set, selector)
  const revisions = claim(snapshot, Storages.revisions, set, selector)
  const claims = [...revisions.patches, ...pods.patches.filter(({ object }) => StatefulPods.isMember(set, object))]
  if (claims.length > 0) return { writes: claims }
  const members = pods.objects.filter((pod) => StatefulPods.isMember(set, pod))
  const history = historyOf(snapshot, set, Revisions.sorted(revisions.objects))
  const state = stateOf(snapshot, set, history, members, now)
  const status = statusWrites(state, 0)
  if (isDeleting(set)) return { writes: [...history.writes, ...status] }
  const { deleted, writes } = managed(state, status)
  return {
    writes: [
      ...history.writes,
      ...writes,
      ...statusWrites(state, deleted),
      ...truncated(set, history, members, Revisions.sorted(revisions.objects))
    ],
    again: untilNextAvailable(set, members, now)
  }
}

const historyOf = (snapshot: Snapshot, set: JsonObject, revisions: ReadonlyArray<JsonObject>): History => {
  const last = revisions.at(-1)
  const next = last === undefined ? 1 : Revisions.revisionOf(last) + 1
  const currentName = text(at(set, "status", "currentRevision"))
  let collisions = number(at(set, "status", "collisionCount")) ?? 0
  const found = (update: JsonObject, writes: ReadonlyArray<Write>): History => ({
    current: revisions.find((one) => nameOf(one) === currentName) ?? update,
    update,
    collisions,
    writes
  })
  const same = revisions.findLast((one) => Revisions.isOf(one, set))
  if (same !== undefined && same === last) return found(same, [])
  if (same !== undefined) {
    const changed = { ...same, revision: next }
    return found(changed, [{ verb: "update", object: changed }])
  }
  const made = () => Revisions.made(set, Revisions.hashOf(Revisions.dataOf(set), collisions), hashLabel, next)
  let update = made()
  for (;;) {
    const taken = snapshot.get(Storages.revisions, namespaceOf(set), nameOf(update))
    if (taken === undefined) return found(update, [{ verb: "create", object: update }])
    if (Revisions.isOf(taken, set)) return found(taken, [])
    collisions++
    update = made()
  }
}

const stateOf = (
  snapshot: Snapshot,
  set: JsonObject,
  history: History,
  members: ReadonlyArray<JsonObject>,
  now: number
): State => {
  const { end, start } = StatefulClaims.range(set)
  const byOrdinal = new Map(members.map((pod) => [StatefulPods.ordinalOf(pod), pod]))
  return {
    snapshot,
    set,
    history,
    replicas: Array.from({ length: end - start + 1 }, (_, place) => byOrdinal.get(start + place)),
    condemned: members
      .filter((pod) => StatefulPods.ordinalOf(pod) < start || StatefulPods.ordinalOf(pod) > end)
      .toSorted((one, other) => StatefulPods.ordinalOf(other) - StatefulPods.ordinalOf(one)),
    start,
    isParallel: at(set, "spec", "podManagementPolicy") === "Parallel",
    now
  }
}

/** The writes for pods, and how many of them delete a pod for its update. */
interface Managed {
  readonly writes: ReadonlyArray<Write>
  readonly deleted: number
}

const managed = (state: State, orElse: ReadonlyArray<Write>): Managed => {
  const { condemned, isParallel, now, replicas, set, snapshot } = state
  const writes: Array<Write> = []
  const stopped: Managed = { writes, deleted: 0 }
  for (const [place, pod] of replicas.entries()) {
    const { stops, writes: more } = replica(state, place, pod, orElse)
    writes.push(...more)
    if (stops && !isParallel) return stopped
  }
  for (const pod of condemned) writes.push(...StatefulClaims.own(snapshot, set, pod))
  const unhealthy = [...replicas, ...condemned.toReversed()].find((pod) => StatefulPods.isUnavailable(set, pod, now))
  for (const pod of condemned) {
    if (isDeleting(pod)) {
      if (isParallel) continue
      return stopped
    }
    const isHealthy = StatefulPods.isRunningAndReady(pod) && isAvailable(set, pod, now)
    if (!isParallel && !isHealthy && pod !== unhealthy) return stopped
    writes.push(StatefulPods.remove(set, pod))
    if (!isParallel) return stopped
  }
  if (at(set, "spec", "updateStrategy", "type") === "OnDelete") return stopped
  const outdated = toUpdate(state)
  return { writes: [...writes, ...outdated.map((pod) => StatefulPods.remove(set, pod))], deleted: outdated.length }
}

/** Returns the writes for an ordinal, and whether the later ordinals wait for it. */
const replica = (
  state: State,
  place: number,
  pod: JsonObject | undefined,
  orElse: ReadonlyArray<Write>
): { readonly writes: ReadonlyArray<Write>; readonly stops: boolean } => {
  const { history, now, set, snapshot, start } = state
  const ordinal = start + place
  if (pod === undefined) {
    if (StatefulClaims.areStale(snapshot, set, ordinal) || StatefulClaims.areDeleting(snapshot, set, ordinal)) {
      return { writes: [], stops: true }
    }
    const partition = number(at(set, "spec", "updateStrategy", "rollingUpdate", "partition"))
    const revision = partition !== undefined && place < partition ? history.current : history.update
    return { writes: StatefulPods.create(snapshot, set, revision, ordinal, orElse), stops: true }
  }
  if (isFinished(pod)) return { writes: isDeleting(pod) ? [] : [StatefulPods.remove(set, pod)], stops: true }
  const claims =
    phaseOf(pod) === "Pending"
      ? [...StatefulClaims.create(snapshot, set, ordinal, orElse), ...StatefulClaims.own(snapshot, set, pod)]
      : []
  const isHealthy = StatefulPods.isRunningAndReady(pod) && isAvailable(set, pod, now)
  if (!state.isParallel && (isDeleting(pod) || !isHealthy)) return { writes: claims, stops: true }
  // The next pass handles everything except the claims of the pod.
  return { writes: claims.length > 0 ? claims : StatefulPods.conform(snapshot, set, pod), stops: false }
}

/** Returns the pods to delete, so that pods of the newest revision replace them. */
const toUpdate = ({ history, isParallel, now, replicas, set }: State): ReadonlyArray<JsonObject> => {
  const parameters = object(at(set, "spec", "updateStrategy", "rollingUpdate"))
  const most = maxUnavailable(parameters.maxUnavailable, replicas.length)
  const isOld = (pod: JsonObject) => StatefulPods.revisionOf(pod) !== nameOf(history.update) && !isDeleting(pod)
  const unavailable = replicas.filter((pod) => StatefulPods.isUnavailable(set, pod, now)).length
  const old = replicas
    .slice(number(parameters.partition) ?? 0)
    .filter((pod) => pod !== undefined)
    .filter(isOld)
    .toReversed()
  const budget = Math.max(0, most - unavailable)
  if (!isParallel) return old.slice(0, budget)
  const broken = old.filter((pod) => !isAvailable(set, pod, now))
  return [...broken, ...old.filter((pod) => !broken.includes(pod)).slice(0, budget)]
}

const maxUnavailable = (value: JsonObject[string], replicas: number): number => {
  const percent = typeof value === "string" ? Math.floor((Number.parseInt(value, 10) * replicas) / 100) : value
  return Math.max(1, number(percent) ?? 1)
}

/** Writes the status if it has changed. `deleted` is the number of pods that this pass deletes for their update. */
const statusWrites = ({ condemned, history, now, replicas, set }: State, deleted: number): ReadonlyArray<Write> => {
  const pods = [...replicas, ...condemned].filter((pod) => pod !== undefined)
  const count = (holds: (pod: JsonObject) => boolean) => pods.filter(holds).length
  const ofRevision = (revision: JsonObject) =>
    count((pod) => !isDeleting(pod) && StatefulPods.revisionOf(pod) === nameOf(revision))
  const wanted = number(at(set, "spec", "replicas")) ?? 0
  const updated = ofRevision(history.update)
  const ready = count(StatefulPods.isRunningAndReady)
  const isComplete = updated === wanted && ready === wanted && pods.length === wanted
  const counts: JsonObject = {
    replicas: pods.length,
    readyReplicas: ready,
    availableReplicas: count((pod) => StatefulPods.isRunningAndReady(pod) && isAvailable(set, pod, now)),
    currentReplicas: isComplete ? updated : ofRevision(history.current) - deleted,
    updatedReplicas: updated
  }
  const names: JsonObject = {
    observedGeneration: number(at(set, "metadata", "generation")) ?? 0,
    currentRevision: nameOf(isComplete ? history.update : history.current),
    updateRevision: nameOf(history.update)
  }
  const before = object(set.status)
  const isSame =
    Object.entries(counts).every(([name, value]) => (before[name] ?? 0) === value) &&
    Object.entries(names).every(([name, value]) => before[name] === value)
  if (isSame) return []
  const conditions = objects(before.conditions)
  const status: JsonObject = {
    ...names,
    ...Object.fromEntries(
      Object.entries(counts).filter(
        ([name, value]) => value !== 0 || name === "replicas" || name === "availableReplicas"
      )
    ),
    collisionCount: history.collisions,
    ...(conditions.length === 0 ? {} : { conditions })
  }
  return [{ verb: "update", subresource: "status", object: { ...set, status } }]
}

/** Deletes the oldest revisions without pods beyond the limit. */
const truncated = (
  set: JsonObject,
  { current, update }: History,
  pods: ReadonlyArray<JsonObject>,
  revisions: ReadonlyArray<JsonObject>
): ReadonlyArray<Write> => {
  const live = new Set([nameOf(current), nameOf(update), ...pods.map(StatefulPods.revisionOf)])
  const old = revisions.filter((one) => !live.has(nameOf(one)))
  const limit = number(at(set, "spec", "revisionHistoryLimit")) ?? 10
  return old.slice(0, Math.max(0, old.length - limit)).map((one) => ({ verb: "delete", object: one }))
}

const kind: Claimants.Kind = { storage: Storages.statefulSets, apiVersion: "apps/v1", kind: "StatefulSet" }

const keys = (change: Change, snapshot: Snapshot): ReadonlyArray<string> => {
  const { object, storage, type } = change
  if (storage === Storages.statefulSets) return type === "DELETED" ? [] : [keyOfObject(object)]
  if (storage !== Storages.claims) return Claimants.keys(change, snapshot, kind)
  // A pod may wait for the deletion of a claim with its name.
  if (type !== "DELETED") return []
  const isTemplate = (set: JsonObject) =>
    objects(at(set, "spec", "volumeClaimTemplates")).some((template) =>
      nameOf(object).startsWith(`${nameOf(template)}-${nameOf(set)}-`)
    )
  return snapshot.list(Storages.statefulSets, namespaceOf(object)).filter(isTemplate).map(keyOfObject)
}

/** The StatefulSet controller. */
export const statefulSetController: BuiltInController = {
  name: "statefulset-controller",
  manager: "kube-controller-manager",
  component: "statefulset-controller",
  storages: [Storages.statefulSets, Storages.pods, Storages.claims],
  keys,
  reconcile
}
