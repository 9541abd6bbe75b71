/** Kinds of the Gateway API, which a cluster has as CRDs. Their types have the fields of the standard channel that routes need. */
import type { Condition } from "./Condition.ts"
import type { ObjectMeta } from "./KubernetesObject.ts"
import * as Resource from "./Resource.ts"

const group = "gateway.networking.k8s.io"

/** A reference to an object, such as a Service or a Gateway. */
interface Reference {
  readonly group?: string
  readonly kind?: string
  readonly name: string
  readonly namespace?: string
  readonly port?: number
}

/** A Gateway, or a listener of it. */
interface ParentReference extends Reference {
  readonly sectionName?: string
}

/** A match of a header or a query parameter. */
interface ValueMatch {
  readonly type?: "Exact" | "RegularExpression"
  readonly name: string
  readonly value: string
}

/** The requests of a rule. */
interface Match {
  readonly path?: { readonly type?: "Exact" | "PathPrefix" | "RegularExpression"; readonly value?: string }
  readonly headers?: ReadonlyArray<ValueMatch>
  readonly queryParams?: ReadonlyArray<ValueMatch>
  readonly method?: string
}

/** A filter by its type, with a field of the same name, such as `requestRedirect`. */
interface Filter {
  readonly type: string
  readonly [field: string]: unknown
}

/** A rule of a route: requests, and the Services that answer them. */
interface Rule {
  readonly name?: string
  readonly matches?: ReadonlyArray<Match>
  readonly filters?: ReadonlyArray<Filter>
  readonly backendRefs?: ReadonlyArray<
    Reference & { readonly weight?: number; readonly filters?: ReadonlyArray<Filter> }
  >
  readonly timeouts?: { readonly request?: string; readonly backendRequest?: string }
}

/** A route as the server returned it. */
interface Route {
  readonly apiVersion?: string
  readonly kind?: string
  readonly metadata: ObjectMeta
  readonly spec: {
    readonly parentRefs?: ReadonlyArray<ParentReference>
    readonly hostnames?: ReadonlyArray<string>
    readonly rules?: ReadonlyArray<Rule>
  }
  readonly status?: {
    readonly parents: ReadonlyArray<{
      readonly parentRef: ParentReference
      readonly controllerName: string
      readonly conditions?: ReadonlyArray<Condition>
    }>
  }
}

/** A port of a Gateway. */
interface Listener {
  readonly name: string
  readonly hostname?: string
  readonly port: number
  readonly protocol: string
  readonly tls?: {
    readonly mode?: "Terminate" | "Passthrough"
    readonly certificateRefs?: ReadonlyArray<Reference>
    readonly options?: { readonly [name: string]: string }
  }
  readonly allowedRoutes?: {
    readonly namespaces?: { readonly from?: "All" | "Selector" | "Same" | "None"; readonly selector?: object }
    readonly kinds?: ReadonlyArray<{ readonly group?: string; readonly kind: string }>
  }
}

/** An address of a Gateway. */
interface Address {
  readonly type?: string
  readonly value: string
}

/** A point of entry as the server returned it. */
interface Entry {
  readonly apiVersion?: string
  readonly kind?: string
  readonly metadata: ObjectMeta
  readonly spec: {
    readonly gatewayClassName: string
    readonly listeners: ReadonlyArray<Listener>
    readonly addresses?: ReadonlyArray<Address>
  }
  readonly status?: {
    readonly addresses?: ReadonlyArray<Address>
    readonly conditions?: ReadonlyArray<Condition>
    readonly listeners?: ReadonlyArray<{
      readonly name: string
      readonly attachedRoutes: number
      readonly conditions: ReadonlyArray<Condition>
    }>
  }
}

/** `gateway.networking.k8s.io/v1` HTTPRoute, a CRD of the Gateway API. */
export const HTTPRoute: Resource.Resource<Route> = Resource.make({
  group,
  version: "v1",
  kind: "HTTPRoute",
  plural: "httproutes"
})
/** An HTTPRoute as the server returned it. */
export type HTTPRoute = typeof HTTPRoute.Type

/** `gateway.networking.k8s.io/v1` Gateway, a CRD of the Gateway API. */
export const Gateway: Resource.Resource<Entry> = Resource.make({
  group,
  version: "v1",
  kind: "Gateway",
  plural: "gateways"
})
/** A Gateway as the server returned it. */
export type Gateway = typeof Gateway.Type
