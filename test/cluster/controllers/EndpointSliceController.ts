/**
 * EndpointSlices: the pods of a Service, at most a hundred per slice. An endpoint stays in its slice. New endpoints go to the first slice
 * with room. Topology hints are not supported.
 */
import { at, copy, equal, type Json, type JsonObject, list, objects, text } from "@homeostat/apiserver/model/Json"
import {
  controllerReference,
  isDeleting,
  labelsOf,
  nameOf,
  namespaceOf,
  ofKey,
  ownersOf,
  prefixOf,
  uidOf,
  withMetadata
} from "@homeostat/apiserver/model/ObjectMeta"
import { type BuiltInController, nothing, type Pass, type Snapshot, type Write } from "./BuiltInController.ts"
import { isReady, nodeOf } from "./ManagedPods.ts"
import {
  addressesOf,
  hasSelector,
  headlessLabel,
  hostnameOf,
  podsOf,
  portsOf,
  publishesAll,
  servicesOf,
  targetOf,
  triggerOf
} from "./ServicePods.ts"
import * as Storages from "./Storages.ts"

const serviceLabel = "kubernetes.io/service-name"
const managedBy = "endpointslice.kubernetes.io/managed-by"
const manager = "endpointslice-controller.k8s.io"

/** The maximum number of endpoints in a slice. */
const capacity = 100

const reconcile = (snapshot: Snapshot, key: string, before: Json | undefined): Pass => {
  const service = snapshot.get(Storages.services, ...ofKey(key))
  // The garbage collector deletes the slices of a missing Service.
  if (service === undefined || isDeleting(service) || !hasSelector(service)) return nothing
  const existing = snapshot
    .dependents(uidOf(service))
    .filter(({ object, storage }) => storage === Storages.endpointSlices && labelsOf(object)[managedBy] === manager)
    .map(({ object }) => object)
    .filter((slice) => !isDeleting(slice))
  const families = list(at(service, "spec", "ipFamilies"))
  const types = families.length === 0 ? ["IPv4"] : families.map((family) => text(family) ?? "IPv4")
  const others = existing.filter((slice) => !types.includes(text(slice.addressType) ?? ""))
  const { annotated, memory } = triggerOf(snapshot, service, before)
  const ofAll = types.flatMap((type) => {
    const there = existing.filter((slice) => slice.addressType === type)
    return reusing(service, ofType(snapshot, service, type, there))
  })
  return {
    writes: [
      ...ofAll.map((write) =>
        write.verb === "create" || write.verb === "update" ? { ...write, object: annotated(write.object) } : write
      ),
      ...others.map(remove)
    ],
    memory
  }
}

/** Reuses slices: an update of a slice replaces a deletion and a creation. */
const reusing = (service: JsonObject, writes: ReadonlyArray<Write>): ReadonlyArray<Write> => {
  const fresh = writes.filter((write) => write.verb === "create")
  const spare = writes.filter((write) => write.verb === "delete")
  const reused = fresh
    .slice(0, spare.length)
    .map(({ object }, index) => update(service, spare[index]?.object ?? {}, object))
  return [
    ...writes.filter(({ verb }) => verb !== "create" && verb !== "delete"),
    ...reused,
    ...fresh.slice(reused.length),
    ...spare.slice(reused.length)
  ]
}

const remove = (slice: JsonObject): Write => ({ verb: "delete", object: slice })

/** Endpoints with the same ports. */
interface Group {
  readonly ports: ReadonlyArray<JsonObject>
  readonly endpoints: Array<JsonObject>
}

const ofType = (
  snapshot: Snapshot,
  service: JsonObject,
  type: string,
  existing: ReadonlyArray<JsonObject>
): ReadonlyArray<Write> => {
  const groups = new Map<string, Group>()
  for (const pod of podsOf(snapshot, service)) {
    const addresses = addressesOf(pod).filter((address) => address.includes(":") === (type === "IPv6"))
    const isPlaced = publishesAll(service) || snapshot.get(Storages.nodes, "", nodeOf(pod)) !== undefined
    if (addresses.length === 0 || !isPlaced) continue
    const ports = portsOf(service, pod).map((port) => copy({ ...port }))
    const key = keyOf(ports)
    const group = groups.get(key) ?? { ports, endpoints: [] }
    groups.set(key, group)
    group.endpoints.push(endpointOf(snapshot, service, pod, addresses))
  }
  const byKey = (key: string) => existing.filter((slice) => keyOf(objects(slice.ports)) === key)
  const kept = [...groups].flatMap(([key, group]) => placed(service, type, group, byKey(key)))
  const unused = existing.filter((slice) => !groups.has(keyOf(objects(slice.ports))))
  if (groups.size > 0) return [...kept, ...unused.map(remove)]
  const [first, ...rest] = existing
  const empty = sliceOf(service, type, [], [])
  const isEmpty = first !== undefined && list(first.endpoints).length === 0 && list(first.ports).length === 0
  if (first === undefined) return [{ verb: "create", object: empty }]
  const written = isEmpty ? relabelled(service, first) : [update(service, first, empty)]
  return [...written, ...rest.map(remove)]
}

const keyOf = (ports: ReadonlyArray<JsonObject>): string =>
  JSON.stringify(
    ports.map(({ appProtocol, name, port, protocol }) => [name ?? "", port, protocol, appProtocol ?? null]).sort()
  )

/** Distributes the endpoints of a group to slices. */
const placed = (
  service: JsonObject,
  type: string,
  { endpoints, ports }: Group,
  existing: ReadonlyArray<JsonObject>
): ReadonlyArray<Write> => {
  const left = new Map(endpoints.map((endpoint) => [identity(endpoint), endpoint]))
  const filled = existing.map((slice) => {
    const kept = objects(slice.endpoints).flatMap((endpoint) => {
      const next = left.get(identity(endpoint))
      left.delete(identity(endpoint))
      return next === undefined ? [] : [next]
    })
    return { slice, endpoints: kept }
  })
  const fresh = [...left.values()]
  for (const { endpoints: into } of filled) into.push(...fresh.splice(0, capacity - into.length))
  const writes = filled.flatMap(({ endpoints: now, slice }): ReadonlyArray<Write> => {
    if (now.length === 0 && fresh.length === 0 && endpoints.length > 0) return [remove(slice)]
    return equal(list(slice.endpoints), now)
      ? relabelled(service, slice)
      : [update(service, slice, { endpoints: now, ports })]
  })
  while (fresh.length > 0) {
    writes.push({ verb: "create", object: sliceOf(service, type, ports, fresh.splice(0, capacity)) })
  }
  return writes
}

const identity = (endpoint: JsonObject): string => text(at(endpoint, "targetRef", "uid")) ?? ""

const update = (service: JsonObject, slice: JsonObject, { endpoints, ports }: JsonObject): Write => ({
  verb: "update",
  object: { ...withMetadata(slice, { labels: labelled(service) }), endpoints, ports }
})

const relabelled = (service: JsonObject, slice: JsonObject): ReadonlyArray<Write> =>
  equal(labelsOf(slice), labelled(service)) ? [] : [update(service, slice, slice)]

const labelled = (service: JsonObject): { readonly [name: string]: string } => ({
  ...labelsOf(service),
  ...headlessLabel(service),
  [serviceLabel]: nameOf(service),
  [managedBy]: manager
})

const sliceOf = (
  service: JsonObject,
  addressType: string,
  ports: ReadonlyArray<JsonObject>,
  endpoints: ReadonlyArray<JsonObject>
): JsonObject => ({
  apiVersion: "discovery.k8s.io/v1",
  kind: "EndpointSlice",
  metadata: {
    generateName: prefixOf(nameOf(service)),
    namespace: namespaceOf(service),
    labels: labelled(service),
    ownerReferences: [controllerReference(service)]
  },
  addressType,
  endpoints,
  ports
})

const endpointOf = (
  snapshot: Snapshot,
  service: JsonObject,
  pod: JsonObject,
  addresses: ReadonlyArray<string>
): JsonObject => {
  const serving = isReady(pod)
  const terminating = isDeleting(pod)
  const node = snapshot.get(Storages.nodes, "", nodeOf(pod))
  return copy({
    addresses,
    conditions: { ready: publishesAll(service) || (serving && !terminating), serving, terminating },
    targetRef: targetOf(pod),
    nodeName: nodeOf(pod) === "" ? undefined : nodeOf(pod),
    zone: node === undefined ? undefined : labelsOf(node)["topology.kubernetes.io/zone"],
    hostname: hostnameOf(service, pod)
  })
}

/** The EndpointSlice controller. */
export const endpointSliceController: BuiltInController = {
  name: "endpointslice-controller",
  manager: "kube-controller-manager",
  component: "endpoint-slice-controller",
  storages: [Storages.services, Storages.pods, Storages.nodes, Storages.endpointSlices],
  keys: (change, snapshot) => {
    const { object, storage, type } = change
    if (storage === Storages.nodes) {
      return type === "MODIFIED"
        ? []
        : snapshot.list(Storages.services).map((one) => `${namespaceOf(one)}/${nameOf(one)}`)
    }
    if (storage !== Storages.endpointSlices) return servicesOf(change, snapshot)
    return ownersOf(object)
      .filter(({ kind }) => kind === "Service")
      .map(({ name }) => `${namespaceOf(object)}/${text(name)}`)
  },
  reconcile: (snapshot, key, _, memory) => reconcile(snapshot, key, memory)
}
