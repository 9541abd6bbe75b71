/** The route from outside of the cluster to a WebApp: its field in the spec, the HTTPRoute or Ingress, and the finding for the status. Pure. */
import * as Owned from "@homeostat/runtime/controller/Owned"
import { Ingress } from "@homeostat/runtime/resource/BuiltIn"
import type * as Condition from "@homeostat/runtime/resource/Condition"
import * as Field from "@homeostat/runtime/resource/Field"
import { HTTPRoute } from "@homeostat/runtime/resource/GatewayKinds"
import type { Desired, ObjectMeta } from "@homeostat/runtime/resource/KubernetesObject"
import * as Schema from "effect/Schema"
import { type Child, type Finding, problemFinding } from "./Finding.ts"

const optional = <S extends Schema.Top>(schema: S, description: string) =>
  Schema.optionalKey(schema).annotate({ description })

const label = "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
const dnsName = `${label}([.]${label})*`

const subdomain = Schema.String.check(Schema.isMaxLength(253), Schema.isPattern(new RegExp(`^${dnsName}$`)))

const host = Schema.String.check(Schema.isMaxLength(253)).pipe(
  Field.rule({
    // Ingress and HTTPRoute refuse IP addresses.
    rule: `self.matches('^([*][.])?${dnsName}$') && !self.matches('^[0-9.]+$')`,
    message: "must be a DNS name in lower case, such as shop.example.com or *.example.com, without a port"
  })
)

/** A path that both Ingress and HTTPRoute accept, so that a WebApp can change from one to the other. */
const path = Schema.String.check(Schema.isMaxLength(1024)).pipe(
  Field.rule({
    rule: "self.matches('^/([-A-Za-z0-9/._~!$&()*+,;=:@]|%[0-9A-Fa-f]{2})*$')",
    message: "must begin with /, and must have only characters of a URL path"
  }),
  Field.rule({
    rule: "!self.matches('//|/[.][.]?(/|$)|%2[Ff]')",
    message: "must be without //, /./, /../ and %2F"
  })
)

const Tls = Schema.Struct({
  secretName: optional(
    subdomain,
    "The Secret with the certificate of an Ingress. With an issuer, cert-manager writes it; <name>-tls by default."
  ),
  issuer: optional(subdomain, "The Issuer of cert-manager that issues the certificate of an Ingress."),
  clusterIssuer: optional(subdomain, "The ClusterIssuer of cert-manager that issues the certificate of an Ingress.")
}).pipe(
  Field.rule({
    rule: "!(has(self.issuer) && has(self.clusterIssuer))",
    message: "set either issuer or clusterIssuer"
  })
)

const GatewayReference = Schema.Struct({
  name: subdomain.annotate({ description: "The name of the Gateway." }),
  namespace: optional(
    Schema.String.check(Schema.isMaxLength(63), Schema.isPattern(new RegExp(`^${label}$`))),
    "The namespace of the Gateway; that of the WebApp by default."
  ),
  sectionName: optional(subdomain, "The listener of the Gateway; all listeners that accept the route by default.")
})

/** How clients outside of the cluster reach the application. */
export const Exposure = Schema.Struct({
  host: host.annotate({
    description: "The DNS name, such as shop.example.com, or *.example.com for all its subdomains."
  }),
  path: optional(path, "The prefix of the paths that reach the application; / by default."),
  tls: optional(
    Tls,
    "Clients use https. An Ingress needs a certificate: without secretName and issuer, the ingress controller serves its default one. A Gateway has the certificate in its listener."
  ),
  gateway: optional(GatewayReference, "A Gateway of the Gateway API, to which an HTTPRoute attaches the application."),
  ingressClass: optional(subdomain, "The IngressClass of the Ingress; the default class of the cluster by default.")
}).pipe(
  Field.rule({
    rule: "!(has(self.gateway) && has(self.ingressClass))",
    message: "set either gateway or ingressClass"
  }),
  Field.rule({
    rule: "!has(self.gateway) || !has(self.tls) || !(has(self.tls.secretName) || has(self.tls.issuer) || has(self.tls.clusterIssuer))",
    message: "with gateway, set tls: {} without a certificate (the listener of the Gateway has the certificate)"
  })
)

/** The part of a WebApp that a route depends on. */
interface App {
  readonly metadata: Pick<ObjectMeta, "name" | "namespace">
  readonly spec: { readonly port: number; readonly expose?: typeof Exposure.Type | undefined }
}

type Exposed = App & { readonly spec: { readonly expose: typeof Exposure.Type } }

const isExposed = (app: App): app is Exposed => app.spec.expose !== undefined

/** The route of a WebApp. */
export type Route = Ingress | HTTPRoute

/** The kinds of routes, for `owns`. A cluster may lack the Gateway API. */
export const kinds = [
  Owned.kind(Ingress, { removes: true }),
  Owned.kind(HTTPRoute, { removes: true, optional: true })
] as const

/**
 * The desired route; undefined without `expose`.
 *
 * @param options the options of each child of a WebApp
 */
export const routeOf = (
  app: App,
  labels: { readonly [key: string]: string },
  options: { readonly adoptAnnotation: string }
): Owned.Child<Route> | undefined => {
  if (!isExposed(app)) return undefined
  const metadata = { name: app.metadata.name, labels }
  return hasGateway(app)
    ? Owned.child(HTTPRoute, httpRouteOf(app, metadata), { ...options, replaces: [Ingress] })
    : Owned.child(Ingress, ingressOf(app, metadata), {
        ...options,
        replaces: [HTTPRoute],
        exclusive: [["spec", "rules"]]
      })
}

const hasGateway = ({ spec: { expose } }: Exposed): boolean => expose.gateway !== undefined

type Metadata = { readonly name: string; readonly labels: { readonly [key: string]: string } }

const ingressOf = ({ metadata: { name }, spec: { expose, port } }: Exposed, metadata: Metadata): Desired<Ingress> => {
  const { host, ingressClass, tls } = expose
  const { clusterIssuer, issuer } = tls ?? {}
  const isIssued = issuer !== undefined || clusterIssuer !== undefined
  const secretName = tls?.secretName ?? (isIssued ? `${name}-tls` : undefined)
  return {
    metadata: {
      ...metadata,
      annotations: {
        ...(issuer === undefined ? {} : { "cert-manager.io/issuer": issuer }),
        ...(clusterIssuer === undefined ? {} : { "cert-manager.io/cluster-issuer": clusterIssuer })
      }
    },
    spec: {
      ...(ingressClass === undefined ? {} : { ingressClassName: ingressClass }),
      ...(tls === undefined ? {} : { tls: [{ hosts: [host], ...(secretName === undefined ? {} : { secretName }) }] }),
      rules: [
        {
          host,
          http: {
            paths: [
              { path: expose.path ?? "/", pathType: "Prefix", backend: { service: { name, port: { number: port } } } }
            ]
          }
        }
      ]
    }
  }
}

const group = "gateway.networking.k8s.io"

/** With the defaults of the CRD: its lists are atomic, so a default is a change of the list. */
const httpRouteOf = (
  { metadata: { name }, spec: { expose, port } }: Exposed,
  metadata: Metadata
): Desired<HTTPRoute> => ({
  metadata,
  spec: {
    parentRefs: expose.gateway === undefined ? [] : [{ group, kind: "Gateway", ...expose.gateway }],
    hostnames: [expose.host],
    rules: [
      {
        matches: [{ path: { type: "PathPrefix", value: expose.path ?? "/" } }],
        backendRefs: [{ group: "", kind: "Service", name, port, weight: 1 }]
      }
    ]
  }
})

/** The address of the application; undefined if the WebApp has no route, or a host with a wildcard, which is not an address. */
export const urlOf = ({ spec: { expose } }: App): string | undefined => {
  if (expose === undefined || expose.host.startsWith("*")) return undefined
  const { host, path = "/", tls } = expose
  return `${tls === undefined ? "http" : "https"}://${host}${path === "/" ? "" : path}`
}

/** The condition of the route. */
export const conditionType = "RouteReady"

/** Whether the route works, according to its Gateway or ingress controller. */
export const findingOf = (app: App, route: Child<Route> | undefined): Finding | undefined => {
  if (!isExposed(app) || route === undefined) return undefined
  const { object, problem } = route
  if (problem !== undefined) {
    const message = problem.reason === "NotServed" ? withoutGatewayApi : problem.message
    const { stalled, ...finding } = problemFinding({ ...problem, message })
    return { ...finding, stalled: stalled === true && problem.reason !== "Forbidden" }
  }
  return isIngress(app, object) ? ingressFinding(app, object) : httpRouteFinding(app, object)
}

const withoutGatewayApi =
  "the API server does not serve HTTPRoute (install the CRDs of the Gateway API, or remove spec.expose.gateway to get an Ingress)"

const isIngress = (app: Exposed, _route: Route): _route is Ingress => !hasGateway(app)

const ingressFinding = ({ metadata: { name }, spec: { expose } }: Exposed, { status }: Ingress): Finding => {
  const addresses = (status?.loadBalancer?.ingress ?? []).flatMap(({ hostname, ip }) => hostname ?? ip ?? [])
  if (addresses.length > 0) {
    return { status: "True", reason: "Published", message: `Ingress ${name} is published at ${addresses.join(", ")}` }
  }
  const remedy =
    expose.ingressClass === undefined
      ? "install an ingress controller, and set spec.expose.ingressClass unless its class is the default"
      : `check that IngressClass ${expose.ingressClass} exists, and that its controller publishes addresses`
  return {
    status: "False",
    reason: "NotPublished",
    message: `no ingress controller has published an address of Ingress ${name} (${remedy})`
  }
}

type Parent = NonNullable<HTTPRoute["status"]>["parents"][number]

const httpRouteFinding = ({ metadata, spec: { expose } }: Exposed, route: HTTPRoute): Finding => {
  const { name, namespace = metadata.namespace, sectionName } = expose.gateway ?? { name: "" }
  const isOurs = ({ parentRef }: Parent): boolean =>
    (parentRef.kind ?? "Gateway") === "Gateway" &&
    (parentRef.group ?? group) === group &&
    parentRef.name === name &&
    (parentRef.namespace ?? metadata.namespace) === namespace &&
    parentRef.sectionName === sectionName
  const gateway = `Gateway ${namespace}/${name}`
  const found = (route.status?.parents ?? []).filter(isOurs).map((parent) => parentFinding(parent, gateway, route))
  // Another controller may have left its report, so one that accepts the route is enough.
  return (
    found.find(({ status }) => status === "True") ??
    found.find(({ status }) => status === "False") ??
    found[0] ?? {
      status: "False",
      reason: "NotReported",
      message: `no controller has reported on HTTPRoute ${route.metadata.name} for ${gateway} (check that the Gateway exists, and that its GatewayClass has a controller)`
    }
  )
}

const parentFinding = ({ conditions = [] }: Parent, gateway: string, { metadata }: HTTPRoute): Finding => {
  const current = (type: string): Condition.Condition | undefined =>
    conditions.find(
      (each) =>
        each.type === type && (each.observedGeneration ?? metadata.generation ?? 0) >= (metadata.generation ?? 0)
    )
  const [accepted, resolved] = [current("Accepted"), current("ResolvedRefs")]
  const refused = [accepted, resolved].find((each) => each?.status === "False")
  if (refused !== undefined) {
    const what = refused === accepted ? "does not accept" : "cannot resolve the backend of"
    return {
      status: "False",
      reason: refused.reason,
      message: `${gateway} ${what} HTTPRoute ${metadata.name}: ${refused.message || refused.reason}`
    }
  }
  return accepted?.status === "True" && resolved?.status === "True"
    ? { status: "True", reason: "Accepted", message: `${gateway} accepts HTTPRoute ${metadata.name}` }
    : {
        status: "Unknown",
        reason: "NotReported",
        message: `the controller of ${gateway} has not reported on the present HTTPRoute ${metadata.name} yet`
      }
}
