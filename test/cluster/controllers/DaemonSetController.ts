/**
 * DaemonSets: a pod on each node that the template allows.
 */
import { at, equal, type Json, type JsonObject, number, object } from "@homeostat/apiserver/model/Json"
import { isDeleting, keyOfObject, labelsOf, nameOf, namespaceOf, ofKey } from "@homeostat/apiserver/model/ObjectMeta"
import { ofLabelSelector } from "@homeostat/apiserver/storage/LabelSelector"
import type { Change } from "@homeostat/apiserver/storage/Store"
import { type BuiltInController, nothing, type Pass, type Snapshot, type Write } from "./BuiltInController.ts"
import { claim } from "./Claim.ts"
import * as Claimants from "./Claimants.ts"
import * as DaemonPods from "./DaemonPods.ts"
import * as DaemonSetRollout from "./DaemonSetRollout.ts"
import { isAvailable, isReady, nodeOf, phaseOf, untilNextAvailable } from "./ManagedPods.ts"
import { hashOf } from "./PodTemplateHash.ts"
import * as Revisions from "./Revisions.ts"
import * as Storages from "./Storages.ts"

/** The back-off before the deletion of a failed pod of a node: 1 s at first, doubled with each further failure. In milliseconds. */
const firstBackoff = 1_000
const longestBackoff = 900_000

/** The maximum number of pods that one pass creates or deletes. */
const burst = 250

const reconcile = (snapshot: Snapshot, key: string, now: number, memory: Json | undefined): Pass => {
  const set = snapshot.get(Storages.daemonSets, ...ofKey(key))
  if (set === undefined || isDeleting(set)) return nothing
  const selector = ofLabelSelector(at(set, "spec", "selector"))
  const pods = claim(snapshot, Storages.pods, set, selector)
  const revisions = claim(snapshot, Storages.revisions, set, selector)
  const claims = [...revisions.patches, ...pods.patches]
  if (claims.length > 0) return { writes: claims, memory }
  const history = historyOf(snapshot, set, Revisions.sorted(revisions.objects))
  if (history === undefined) {
    // Another template already has this hash.
    const collisionCount = (number(at(set, "status", "collisionCount")) ?? 0) + 1
    const status = { ...object(set.status), collisionCount }
    return { writes: [{ verb: "update", subresource: "status", object: { ...set, status } }], memory }
  }
  const state: DaemonSetRollout.State = {
    set,
    nodes: snapshot.list(Storages.nodes),
    pods: DaemonPods.byNode(pods.objects),
    hash: labelsOf(history.current)[Revisions.podLabel] ?? "",
    now
  }
  const status = statusWrites(state)
  const managed = manage(state, object(memory))
  const isRolling = at(set, "spec", "updateStrategy", "type") === "RollingUpdate"
  const isQuiet = managed.create.length === 0 && managed.remove.length === 0
  const { create, remove } = isRolling && isQuiet ? DaemonSetRollout.step(state) : managed
  return {
    writes: [
      ...history.writes,
      ...managed.reports,
      ...create.slice(0, burst).map((node) => DaemonPods.create(set, node, state.hash, status)),
      ...remove.slice(0, burst).map((pod) => DaemonPods.remove(set, pod)),
      ...truncated(set, history.old, pods.objects),
      ...status
    ],
    again: soonest([managed.again, untilNextAvailable(set, pods.objects, now)]),
    memory: managed.memory
  }
}

const soonest = (waits: ReadonlyArray<number | undefined>): number | undefined => {
  const future = waits.filter((wait) => wait !== undefined).filter((wait) => wait > 0)
  return future.length === 0 ? undefined : Math.min(...future)
}

/** The revisions of a DaemonSet. */
interface History {
  readonly current: JsonObject
  readonly old: ReadonlyArray<JsonObject>
  readonly writes: ReadonlyArray<Write>
}

/** Returns the revisions; undefined if another template already has the hash of this one. */
const historyOf = (snapshot: Snapshot, set: JsonObject, revisions: ReadonlyArray<JsonObject>): History | undefined => {
  const same = revisions.findLast((one) => Revisions.isOf(one, set))
  const old = revisions.filter((one) => !Revisions.isOf(one, set))
  const next = Math.max(0, ...old.map(Revisions.revisionOf)) + 1
  if (same !== undefined) {
    const isNewest = Revisions.revisionOf(same) >= next
    const current = isNewest ? same : { ...same, revision: next }
    return { current, old, writes: isNewest ? [] : [{ verb: "update", object: current }] }
  }
  const hash = hashOf(object(at(set, "spec", "template")), number(at(set, "status", "collisionCount")) ?? 0)
  const current = Revisions.made(set, hash, Revisions.podLabel, next)
  return snapshot.get(Storages.revisions, namespaceOf(set), nameOf(current)) === undefined
    ? { current, old, writes: [{ verb: "create", object: current }] }
    : undefined
}

/** The changes that bring exactly one pod to each node. */
interface Managed extends DaemonSetRollout.Changes {
  readonly reports: ReadonlyArray<Write>
  readonly again: number | undefined
  /** By node: the time of the last deletion of a failed pod, and the next back-off. */
  readonly memory: JsonObject
}

const manage = (state: DaemonSetRollout.State, memory: JsonObject): Managed => {
  const { nodes, now, pods, set } = state
  const create: Array<string> = []
  const remove: Array<JsonObject> = []
  const reports: Array<Write> = []
  const waits: Array<number> = []
  const backoffs: { [node: string]: JsonObject } = {}
  for (const node of nodes) {
    const name = nameOf(node)
    const { continues, runs } = DaemonPods.shouldRun(set, node)
    const onNode = pods.get(name) ?? []
    const living = onNode.filter((pod) => !isDeleting(pod))
    const before = object(memory[name])
    if (before.delay !== undefined && now - (number(before.at) ?? 0) < 2 * longestBackoff) backoffs[name] = before
    if (!continues) {
      remove.push(...living)
      continue
    }
    if (runs && onNode.length === 0) {
      create.push(name)
      continue
    }
    for (const pod of living) {
      if (phaseOf(pod) !== "Failed" && phaseOf(pod) !== "Succeeded") continue
      if (phaseOf(pod) === "Failed") {
        const last = backoffs[name]
        const delay = number(last?.delay) ?? 0
        const left = (number(last?.at) ?? 0) + delay - now
        if (last !== undefined && left > 0) {
          waits.push(left)
          continue
        }
        backoffs[name] = { at: now, delay: Math.min(longestBackoff, delay === 0 ? firstBackoff : delay * 2) }
      }
      reports.push(DaemonPods.ended(set, pod, name))
      remove.push(pod)
    }
    const running = DaemonPods.sorted(living.filter((pod) => phaseOf(pod) !== "Failed" && phaseOf(pod) !== "Succeeded"))
    if (!DaemonSetRollout.allowsSurge(set)) remove.push(...running.slice(1))
    else if (running.length === 0 && runs) create.push(name)
    else if (running.length > 1) remove.push(...surplus(state, running))
  }
  // Deletes pods that wait for a missing node.
  const names = new Set(nodes.map(nameOf))
  for (const [name, all] of pods) {
    if (!names.has(name)) remove.push(...all.filter((pod) => nodeOf(pod) === "" && !isDeleting(pod)))
  }
  return { create, remove, reports, again: soonest(waits), memory: backoffs }
}

/** Returns the pods of a node to delete. At most one pod of the newest template and one older available pod remain. */
const surplus = (
  { hash, now, set }: DaemonSetRollout.State,
  running: ReadonlyArray<JsonObject>
): ReadonlyArray<JsonObject> => {
  const isFresh = (pod: JsonObject) => labelsOf(pod)[Revisions.podLabel] === hash
  const fresh = running.find(isFresh)
  const old = running.find((pod) => !isFresh(pod))
  const others = running.filter((pod) => pod !== fresh && pod !== old)
  const isReplaced = fresh !== undefined && old !== undefined && (!isReady(old) || isAvailable(set, fresh, now))
  return isReplaced && old !== undefined ? [...others, old] : others
}

/** Deletes the oldest revisions without pods beyond the limit. */
const truncated = (
  set: JsonObject,
  old: ReadonlyArray<JsonObject>,
  pods: ReadonlyArray<JsonObject>
): ReadonlyArray<Write> => {
  const surplus = old.length - (number(at(set, "spec", "revisionHistoryLimit")) ?? 10)
  const live = new Set(pods.map((pod) => labelsOf(pod)[Revisions.podLabel]))
  return old
    .filter((one) => !live.has(labelsOf(one)[Revisions.podLabel]))
    .slice(0, Math.max(0, surplus))
    .map((one) => ({ verb: "delete", object: one }))
}

/** Writes the status if it has changed. */
const statusWrites = ({ hash, nodes, now, pods, set }: DaemonSetRollout.State): ReadonlyArray<Write> => {
  const running = nodes.filter((node) => DaemonPods.shouldRun(set, node).runs)
  const first = running
    .map((node) => DaemonPods.sorted(pods.get(nameOf(node)) ?? [])[0])
    .filter((pod) => pod !== undefined)
  const ready = first.filter(isReady)
  const available = ready.filter((pod) => isAvailable(set, pod, now)).length
  const misscheduled = nodes.filter((node) => !running.includes(node) && pods.has(nameOf(node))).length
  const counts: JsonObject = {
    currentNumberScheduled: first.length,
    numberMisscheduled: misscheduled,
    desiredNumberScheduled: running.length,
    numberReady: ready.length
  }
  const optional: JsonObject = {
    updatedNumberScheduled: first.filter((pod) => DaemonPods.isUpdated(set, pod, hash)).length,
    numberAvailable: available,
    numberUnavailable: running.length - available
  }
  const before = object(set.status)
  const generation = number(at(set, "metadata", "generation")) ?? 0
  const isSame = Object.entries({ ...counts, ...optional }).every(([name, value]) => (before[name] ?? 0) === value)
  if (isSame && (number(before.observedGeneration) ?? 0) >= generation) return []
  const { collisionCount, conditions } = before
  const status: JsonObject = {
    ...counts,
    ...Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== 0)),
    observedGeneration: generation,
    ...(collisionCount === undefined ? {} : { collisionCount }),
    ...(conditions === undefined ? {} : { conditions })
  }
  return [{ verb: "update", subresource: "status", object: { ...set, status } }]
}

const kind: Claimants.Kind = { storage: Storages.daemonSets, apiVersion: "apps/v1", kind: "DaemonSet" }

const keys = (change: Change, snapshot: Snapshot): ReadonlyArray<string> => {
  const { object, previous, storage, type } = change
  if (storage === Storages.daemonSets) return type === "DELETED" ? [] : [keyOfObject(object)]
  if (storage === Storages.nodes) {
    // A heartbeat of a node changes nothing.
    const isSame =
      previous !== undefined && equal(object.spec, previous.spec) && equal(labelsOf(object), labelsOf(previous))
    return isSame ? [] : snapshot.list(Storages.daemonSets).map(keyOfObject)
  }
  return Claimants.keys(change, snapshot, kind)
}

/** The DaemonSet controller. */
export const daemonSetController: BuiltInController = {
  name: "daemonset-controller",
  manager: "kube-controller-manager",
  component: "daemonset-controller",
  storages: [Storages.daemonSets, Storages.pods, Storages.nodes],
  keys,
  reconcile
}
