/** Endpoints: the addresses of the pods of a Service, for clients that do not read EndpointSlices. */
import {
  at,
  copy,
  equal,
  isList,
  type Json,
  type JsonObject,
  list,
  object,
  text
} from "@homeostat/apiserver/model/Json"
import { isDeleting, labelsOf, ofKey, withMetadata } from "@homeostat/apiserver/model/ObjectMeta"
import { type BuiltInController, nothing, type Pass, type Snapshot } from "./BuiltInController.ts"
import { isReady, nodeOf } from "./ManagedPods.ts"
import {
  addressesOf,
  hasSelector,
  headlessLabel,
  hostnameOf,
  isHeadless,
  podsOf,
  portsOf,
  publishesAll,
  servicesOf,
  targetOf,
  triggerOf
} from "./ServicePods.ts"
import * as Storages from "./Storages.ts"

const reconcile = (snapshot: Snapshot, key: string, before: Json | undefined): Pass => {
  const [namespace, name] = ofKey(key)
  const service = snapshot.get(Storages.services, namespace, name)
  const current = snapshot.get(Storages.endpoints, namespace, name)
  if (service === undefined) return { writes: current === undefined ? [] : [{ verb: "delete", object: current }] }
  if (!hasSelector(service)) return nothing
  const subsets = subsetsOf(snapshot, service)
  const { annotated, memory } = triggerOf(snapshot, service, before)
  const labels = {
    ...labelsOf(service),
    ...headlessLabel(service),
    "endpoints.kubernetes.io/managed-by": "endpoint-controller"
  }
  const filled = subsets.length === 0 ? {} : { subsets }
  if (current === undefined) {
    const metadata = { name, namespace, labels }
    const object = annotated({ apiVersion: "v1", kind: "Endpoints", metadata, ...filled })
    return { writes: [{ verb: "create", object }], memory }
  }
  if (equal(list(current.subsets), subsets) && equal(labelsOf(current), labels)) return { writes: [], memory }
  const { subsets: _, ...others } = withMetadata(current, { labels })
  return { writes: [{ verb: "update", object: annotated({ ...others, ...filled }) }], memory }
}

/** Groups the addresses by their ports. */
const subsetsOf = (snapshot: Snapshot, service: JsonObject): ReadonlyArray<JsonObject> => {
  const subsets = new Map<
    string,
    { ready: Array<JsonObject>; unready: Array<JsonObject>; ports: JsonObject["ports"] }
  >()
  for (const pod of podsOf(snapshot, service)) {
    if (isDeleting(pod)) continue
    const ports = portsOf(service, pod).map(({ appProtocol, name, port, protocol }) =>
      copy({ name: name === "" ? undefined : name, port, protocol, appProtocol })
    )
    if (ports.length === 0 && !(isHeadless(service) && list(at(service, "spec", "ports")).length === 0)) continue
    const key = JSON.stringify(ports)
    const subset = subsets.get(key) ?? { ready: [], unready: [], ports }
    subsets.set(key, subset)
    const into = publishesAll(service) || isReady(pod) ? subset.ready : subset.unready
    into.push(addressOf(service, pod))
  }
  return [...subsets.values()].map(({ ports, ready, unready }) =>
    withoutEmpty({ addresses: ready.sort(byAddress), notReadyAddresses: unready.sort(byAddress), ports })
  )
}

const addressOf = (service: JsonObject, pod: JsonObject): JsonObject =>
  copy({
    ip: addressesOf(pod)[0] ?? "",
    hostname: hostnameOf(service, pod),
    nodeName: nodeOf(pod) === "" ? undefined : nodeOf(pod),
    targetRef: targetOf(pod)
  })

const byAddress = (one: JsonObject, other: JsonObject): number =>
  compare(one.ip, other.ip) || compare(at(one, "targetRef", "uid"), at(other, "targetRef", "uid"))

const compare = (one: Json | undefined, other: Json | undefined): number =>
  one === other ? 0 : (text(one) ?? "") < (text(other) ?? "") ? -1 : 1

/** Removes empty lists. */
const withoutEmpty = (subset: JsonObject): JsonObject =>
  object(Object.fromEntries(Object.entries(subset).filter(([, value]) => !(isList(value) && value.length === 0))))

/** The Endpoints controller. */
export const endpointsController: BuiltInController = {
  name: "endpoints-controller",
  manager: "kube-controller-manager",
  component: "endpoint-controller",
  storages: [Storages.services, Storages.pods],
  keys: servicesOf,
  reconcile: (snapshot, key, _, memory) => reconcile(snapshot, key, memory)
}
