/**
 * The pods behind a Service: which they are, and the ports at which they are reached.
 */
import { at, type JsonObject, number, objects, text } from "../Json.ts"
import { keyOfObject, labelsOf, nameOf, namespaceOf } from "../ObjectMeta.ts"
import type { Change } from "../Store.ts"
import { matches, ofMap } from "../select/LabelSelector.ts"
import type { Snapshot } from "./BuiltInController.ts"
import { isFinished } from "./Pods.ts"
import * as Storages from "./Storages.ts"

/** Whether its endpoints are for a controller to find. */
export const hasSelector = (service: JsonObject): boolean =>
  at(service, "spec", "selector") !== undefined && at(service, "spec", "type") !== "ExternalName"

/** Whether it has no address of its own. */
export const isHeadless = (service: JsonObject): boolean => at(service, "spec", "clusterIP") === "None"

/** The label of what belongs to a Service without an address. */
export const headlessLabel = (service: JsonObject): { readonly [name: string]: string } =>
  isHeadless(service) ? { "service.kubernetes.io/headless": "" } : {}

/** Whether pods that are not ready count as ready. */
export const publishesAll = (service: JsonObject): boolean => at(service, "spec", "publishNotReadyAddresses") === true

const selects = (service: JsonObject, pod: JsonObject): boolean =>
  hasSelector(service) && matches(ofMap(at(service, "spec", "selector")), labelsOf(pod))

/** The pods behind a Service that have an address and have not ended. */
export const podsOf = (snapshot: Snapshot, service: JsonObject): ReadonlyArray<JsonObject> =>
  snapshot
    .list(Storages.pods, namespaceOf(service))
    .filter((pod) => !isFinished(pod) && addressesOf(pod).length > 0 && selects(service, pod))

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

/** The ports at which a pod is reached. */
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

/** The name by which DNS knows a pod of a Service. */
export const hostnameOf = (service: JsonObject, pod: JsonObject): string | undefined =>
  at(pod, "spec", "subdomain") === nameOf(service) ? text(at(pod, "spec", "hostname")) : undefined

/** The Services that a change of a pod, or of one of them, concerns. */
export const servicesOf = ({ object, previous, storage }: Change, snapshot: Snapshot): ReadonlyArray<string> => {
  if (storage === Storages.services) return [keyOfObject(object)]
  return snapshot
    .list(Storages.services, namespaceOf(object))
    .filter((service) => selects(service, object) || (previous !== undefined && selects(service, previous)))
    .map(keyOfObject)
}

/** What an endpoint says it is. */
export const targetOf = (pod: JsonObject): JsonObject => ({
  kind: "Pod",
  namespace: namespaceOf(pod),
  name: nameOf(pod),
  uid: text(at(pod, "metadata", "uid"))
})
