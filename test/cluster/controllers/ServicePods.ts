/** The pods of a Service, and the ports at which they are reachable. */
import { at, copy, type Json, type JsonObject, number, object, objects, text } from "@homeostat/apiserver/model/Json"
import {
  annotationsOf,
  keyOfObject,
  labelsOf,
  nameOf,
  namespaceOf,
  withMetadata
} from "@homeostat/apiserver/model/ObjectMeta"
import { matches, ofMap } from "@homeostat/apiserver/storage/LabelSelector"
import type { Change } from "@homeostat/apiserver/storage/Store"
import type { Snapshot } from "./BuiltInController.ts"
import { conditionOf, isFinished } from "./ManagedPods.ts"
import * as Storages from "./Storages.ts"

/** Whether the controllers maintain the endpoints of a Service. */
export const hasSelector = (service: JsonObject): boolean =>
  at(service, "spec", "selector") !== undefined && at(service, "spec", "type") !== "ExternalName"

/** Whether a Service has no cluster IP. */
export const isHeadless = (service: JsonObject): boolean => at(service, "spec", "clusterIP") === "None"

/** Returns the label of the endpoints of a headless Service. */
export const headlessLabel = (service: JsonObject): { readonly [name: string]: string } =>
  isHeadless(service) ? { "service.kubernetes.io/headless": "" } : {}

/** Whether pods that are not ready count as ready. */
export const publishesAll = (service: JsonObject): boolean => at(service, "spec", "publishNotReadyAddresses") === true

const selects = (service: JsonObject, pod: JsonObject): boolean =>
  hasSelector(service) && matches(ofMap(at(service, "spec", "selector")), labelsOf(pod))

const selected = (snapshot: Snapshot, service: JsonObject): ReadonlyArray<JsonObject> =>
  snapshot.list(Storages.pods, namespaceOf(service)).filter((pod) => selects(service, pod))

/** Returns the pods of a Service that have an address and have not ended. */
export const podsOf = (snapshot: Snapshot, service: JsonObject): ReadonlyArray<JsonObject> =>
  selected(snapshot, service).filter((pod) => !isFinished(pod) && addressesOf(pod).length > 0)

const annotation = "endpoints.kubernetes.io/last-change-trigger-time"

/** The trigger time of a pass. Its memory holds the times of the changes so far. */
export interface Trigger {
  /** Adds the time of the first change since the last pass to the object that is written, if there was a change. */
  readonly annotated: (written: JsonObject) => JsonObject
  readonly memory: Json
}

/** Returns the changes since the pass that left `memory`: pods whose readiness changed, and the creation of the Service. */
export const triggerOf = (snapshot: Snapshot, service: JsonObject, memory: Json | undefined): Trigger => {
  const before = object(memory)
  const now = {
    ...Object.fromEntries(
      selected(snapshot, service).map((pod) => [nameOf(pod), conditionOf(pod, "Ready")?.lastTransitionTime])
    ),
    // The empty name is never the name of a pod.
    "": at(service, "metadata", "creationTimestamp")
  }
  const changes = Object.entries(now).flatMap(([name, time]) =>
    (text(time) ?? "") > (text(before[name]) ?? "") ? [`${time}`] : []
  )
  const first = memory === undefined ? text(now[""]) : changes.toSorted()[0]
  return {
    annotated: (written) => {
      const { [annotation]: _, ...others } = annotationsOf(written)
      const annotations = first === undefined ? others : { ...others, [annotation]: first }
      return withMetadata(written, { annotations: Object.keys(annotations).length === 0 ? undefined : annotations })
    },
    memory: copy(now)
  }
}

/** The addresses of a pod. */
export const addressesOf = (pod: JsonObject): ReadonlyArray<string> => {
  const all = objects(at(pod, "status", "podIPs")).map(({ ip }) => text(ip) ?? "")
  const only = text(at(pod, "status", "podIP"))
  return all.length > 0 || only === undefined ? all : [only]
}

/** A port of a pod. */
export interface Port {
  readonly name: string
  readonly port: number
  readonly protocol: string
  readonly appProtocol: string | undefined
}

/** Returns the ports at which a pod is reachable. */
export const portsOf = (service: JsonObject, pod: JsonObject): ReadonlyArray<Port> =>
  objects(at(service, "spec", "ports")).flatMap((port): ReadonlyArray<Port> => {
    const protocol = text(port.protocol) ?? "TCP"
    const found = portIn(pod, port.targetPort ?? port.port, protocol)
    return found === undefined
      ? []
      : [{ name: text(port.name) ?? "", port: found, protocol, appProtocol: text(port.appProtocol) }]
  })

const portIn = (pod: JsonObject, target: unknown, protocol: string): number | undefined =>
  typeof target === "number"
    ? target
    : number(
        [...objects(at(pod, "spec", "containers")), ...objects(at(pod, "spec", "initContainers"))]
          .flatMap((container) => objects(container.ports))
          .find((port) => port.name === target && (port.protocol ?? "TCP") === protocol)?.containerPort
      )

/** Returns the host name of a pod of a Service in DNS; undefined if the pod has none. */
export const hostnameOf = (service: JsonObject, pod: JsonObject): string | undefined =>
  at(pod, "spec", "subdomain") === nameOf(service) ? text(at(pod, "spec", "hostname")) : undefined

/** Returns the Services that a change of a pod or Service concerns. */
export const servicesOf = (
  { object: changed, previous, storage }: Change,
  snapshot: Snapshot
): ReadonlyArray<string> => {
  if (storage === Storages.services) return [keyOfObject(changed)]
  return snapshot
    .list(Storages.services, namespaceOf(changed))
    .filter((service) => selects(service, changed) || (previous !== undefined && selects(service, previous)))
    .map(keyOfObject)
}

/** Returns the targetRef of an endpoint. */
export const targetOf = (pod: JsonObject): JsonObject => ({
  kind: "Pod",
  namespace: namespaceOf(pod),
  name: nameOf(pod),
  uid: text(at(pod, "metadata", "uid"))
})
