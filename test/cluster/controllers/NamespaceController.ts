/**
 * Deletes the objects of a terminating namespace, the pods first. It reports the remaining objects, and finalizes the namespace when it is
 * empty. The real controller first waits five seconds for other API servers, which this cluster does not have.
 */

import { at, equal, type JsonObject, list, objects, text } from "@homeostat/apiserver/model/Json"
import type { Kind } from "@homeostat/apiserver/model/Kind"
import { finalizersOf, isDeleting, nameOf, namespaceOf } from "@homeostat/apiserver/model/ObjectMeta"
import { timestamp } from "@homeostat/apiserver/model/Timestamp"
import { type BuiltInController, nothing, type Pass, type Snapshot, type Write } from "./BuiltInController.ts"
import * as Storages from "./Storages.ts"

/** The remaining objects of one kind. */
interface Left {
  readonly kind: Kind
  readonly objects: ReadonlyArray<JsonObject>
}

const reconcile = (snapshot: Snapshot, key: string, now: number): Pass => {
  const namespace = snapshot.get(Storages.namespaces, "", key)
  if (namespace === undefined || !isDeleting(namespace)) return nothing
  const finalizers = list(at(namespace, "spec", "finalizers"))
  if (!finalizers.includes("kubernetes")) return nothing
  const left = leftIn(snapshot, key)
  const kept = left.flatMap((one) => one.objects).filter((object) => !isDeleting(object))
  // The deletion of these objects changes the namespace, which triggers the next pass.
  if (kept.length > 0) return { writes: kept.map(remove) }
  const conditions = conditionsOf(left, namespace, now)
  const conditionWrites: ReadonlyArray<Write> = equal(conditions, at(namespace, "status", "conditions"))
    ? []
    : [
        {
          verb: "update",
          subresource: "status",
          object: { ...namespace, status: { phase: "Terminating", conditions } }
        }
      ]
  if (conditionWrites.length > 0 || left.length > 0) return { writes: conditionWrites }
  const others = finalizers.filter((one) => one !== "kubernetes")
  return {
    writes: [{ verb: "update", subresource: "finalize", object: { ...namespace, spec: { finalizers: others } } }]
  }
}

/** Returns the objects to delete next: the pods, or all others when no pod is left. */
const leftIn = (snapshot: Snapshot, namespace: string): ReadonlyArray<Left> => {
  // Kinds that share a storage count once.
  const byStorage = new Map<string, Kind>()
  for (const kind of snapshot.resources()) {
    if (kind.namespaced && kind.verbs.includes("delete") && !byStorage.has(kind.storage))
      byStorage.set(kind.storage, kind)
  }
  const left = [...byStorage.values()]
    .map((kind) => ({ kind, objects: snapshot.list(kind.storage, namespace) }))
    .filter((one) => one.objects.length > 0)
  const pods = left.filter(({ kind }) => kind.storage === Storages.pods)
  return pods.length > 0 ? pods : left
}

const remove = (object: JsonObject): Write => ({ verb: "delete", object, propagation: "Background" })

const conditionsOf = (left: ReadonlyArray<Left>, namespace: JsonObject, now: number): ReadonlyArray<JsonObject> => {
  const resources = left
    .map(({ kind, objects }) => `${kind.plural}.${kind.group} has ${objects.length} resource instances`)
    .sort()
  const counts = new Map<string, number>()
  for (const finalizer of left.flatMap((one) => one.objects.flatMap((object) => finalizersOf(object)))) {
    const name = text(finalizer) ?? ""
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  const finalizers = [...counts].map(([name, count]) => `${name} in ${count} resource instances`).sort()
  const found: { readonly [type: string]: readonly [reason: string, message: string] | undefined } = {
    NamespaceContentRemaining:
      resources.length === 0
        ? undefined
        : ["SomeResourcesRemain", `Some resources are remaining: ${resources.join(", ")}`],
    NamespaceFinalizersRemaining:
      finalizers.length === 0
        ? undefined
        : ["SomeFinalizersRemain", `Some content in the namespace has finalizers remaining: ${finalizers.join(", ")}`]
  }
  const before = objects(at(namespace, "status", "conditions"))
  const ours = good.map(([type, ...fine]) => {
    const bad = found[type]
    const [reason, message] = bad ?? fine
    const status = bad === undefined ? "False" : "True"
    const old = before.find((condition) => condition.type === type)
    const lastTransitionTime = old?.status === status ? old.lastTransitionTime : timestamp(now)
    return { type, status, lastTransitionTime, reason, message }
  })
  return [...before.filter(({ type }) => !good.some(([one]) => one === type)), ...ours]
}

const good: ReadonlyArray<readonly [type: string, reason: string, message: string]> = [
  ["NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered", "All resources successfully discovered"],
  ["NamespaceDeletionGroupVersionParsingFailure", "ParsedGroupVersions", "All legacy kube types successfully parsed"],
  [
    "NamespaceDeletionContentFailure",
    "ContentDeleted",
    "All content successfully deleted, may be waiting on finalization"
  ],
  ["NamespaceContentRemaining", "ContentRemoved", "All content successfully removed"],
  ["NamespaceFinalizersRemaining", "ContentHasNoFinalizers", "All content-preserving finalizers finished"]
]

/** The namespace controller. */
export const namespaceController: BuiltInController = {
  name: "namespace-controller",
  manager: "kube-controller-manager",
  component: "namespace-controller",
  storages: undefined,
  keys: ({ object, storage }, snapshot) => {
    const name = storage === Storages.namespaces ? nameOf(object) : namespaceOf(object)
    const namespace = name === "" ? undefined : snapshot.get(Storages.namespaces, "", name)
    return namespace !== undefined && isDeleting(namespace) ? [name] : []
  },
  reconcile
}
