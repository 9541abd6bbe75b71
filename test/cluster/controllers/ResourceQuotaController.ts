/** The status of ResourceQuotas: the limits of the spec, and the usage of the objects in the namespace. */
import * as QuotaUsage from "@homeostat/apiserver/kinds/config/QuotaUsage"
import * as PodResources from "@homeostat/apiserver/kinds/pods/PodResources"
import { at, equal, type JsonObject, object } from "@homeostat/apiserver/model/Json"
import { keyOfObject, namespaceOf, ofKey } from "@homeostat/apiserver/model/ObjectMeta"
import * as Quantity from "@homeostat/apiserver/model/Quantity"
import { type BuiltInController, nothing, type Pass, type Snapshot } from "./BuiltInController.ts"

const storage = "/resourcequotas"

const zero: Quantity.Quantity = { nanos: 0n, format: "DecimalSI" }

/** Returns the usage of each name that a resource of the cluster counts. */
const usageOf = (snapshot: Snapshot, quota: JsonObject, names: ReadonlyArray<string>, now: number) => {
  const used = new Map<string, Quantity.Quantity>()
  for (const resource of snapshot.resources()) {
    const own = names.filter((name) => QuotaUsage.counts(resource, name))
    if (own.length === 0) continue
    for (const name of own) used.set(name, used.get(name) ?? zero)
    for (const each of snapshot.list(resource.storage, namespaceOf(quota))) {
      if (!QuotaUsage.isInScope(quota, resource, each)) continue
      const usage = QuotaUsage.of(resource, each, now)
      const added = own.flatMap((name) => {
        const value = usage.get(name)
        return value === undefined ? [] : [[name, value] as const]
      })
      for (const [name, value] of PodResources.sum(used, new Map(added))) used.set(name, value)
    }
  }
  return used
}

const reconcile = (snapshot: Snapshot, key: string, now: number): Pass => {
  const quota = snapshot.get(storage, ...ofKey(key))
  if (quota === undefined) return nothing
  const hard = object(at(quota, "spec", "hard"))
  const before = object(at(quota, "status", "used"))
  const usage = usageOf(snapshot, quota, Object.keys(hard), now)
  const used = Object.fromEntries(
    Object.keys(hard).flatMap((name) => {
      const quantity = usage.get(name)
      const value = quantity === undefined ? before[name] : Quantity.format(quantity)
      return value === undefined ? [] : [[name, value]]
    })
  )
  const status = { hard, used }
  return equal(object(quota.status), status)
    ? nothing
    : { writes: [{ verb: "update", subresource: "status", object: { ...quota, status } }] }
}

/** The resourcequota controller. */
export const resourceQuotaController: BuiltInController = {
  name: "resourcequota",
  manager: "kube-controller-manager",
  component: "resourcequota-controller",
  storages: undefined,
  keys: ({ object: changed, storage: place }, snapshot) => {
    if (place === storage) return [keyOfObject(changed)]
    const namespace = namespaceOf(changed)
    return namespace === "" ? [] : snapshot.list(storage, namespace).map(keyOfObject)
  },
  reconcile: (snapshot, key, now) => reconcile(snapshot, key, now)
}
