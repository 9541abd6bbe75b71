/** The program and its place in the cluster, as OpenTelemetry's resource attributes. */
import * as Attribute from "@homeostat/runtime/telemetry/Attribute"
import type { Environment } from "./TraceSettings.ts"

/** A running program. */
export interface Service {
  readonly name: string
  readonly version: string
  /** Distinguishes the process from its replicas. */
  readonly instance: string
}

/**
 * The resource attributes. A pod gets them from the downward API: `POD_NAMESPACE`, `POD_NAME`, `POD_UID`, `NODE_NAME`.
 * `OTEL_RESOURCE_ATTRIBUTES` and `OTEL_SERVICE_NAME` override them.
 */
export const attributesOf = (service: Service, environment: Environment): Readonly<Record<string, string>> => {
  // In a pod the host name is the name of the pod; elsewhere it is not.
  const host = environment.KUBERNETES_SERVICE_HOST === undefined ? undefined : environment.HOSTNAME
  const known = {
    [Attribute.serviceName]: service.name,
    [Attribute.serviceVersion]: service.version,
    [Attribute.serviceInstance]: service.instance,
    [Attribute.namespace]: environment.POD_NAMESPACE,
    [Attribute.podName]: environment.POD_NAME || host,
    [Attribute.podUid]: environment.POD_UID,
    [Attribute.nodeName]: environment.NODE_NAME
  }
  return Object.fromEntries(
    Object.entries(known).flatMap(([name, value]) => (value === undefined || value === "" ? [] : [[name, value]]))
  )
}
