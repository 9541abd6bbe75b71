/** The policies of the children of WebApps. Pure. */
import { intentAnnotation } from "@homeostat/runtime/controller/Intent"
import { adoptAnnotation } from "@homeostat/webapp/children"
import { WebApp } from "@homeostat/webapp/WebApp"
import {
  isSet,
  none,
  objects,
  orElse,
  owners,
  type Rules,
  requests,
  text,
  unowned,
  type Validation,
  validation
} from "./Rules.ts"

/** The children of a WebApp that the controller deletes when the spec no longer asks for them. */
export const companions = [
  "horizontalpodautoscalers.autoscaling",
  "poddisruptionbudgets.policy",
  "networkpolicies.networking.k8s.io"
] as const

/** The children of a WebApp: they have its name, and it is their controller. Or they wait for their adoption. */
export const child = {
  variables: {
    objects,
    owners,
    isGivenAway: `oldObject != null && has(oldObject.metadata.annotations) && (${text(intentAnnotation)} in oldObject.metadata.annotations || ${text(adoptAnnotation)} in oldObject.metadata.annotations && oldObject.metadata.annotations[${text(adoptAnnotation)}] == 'true')`,
    refused: `variables.owners.filter(o, !(o.startsWith('${WebApp.group}/') && o.endsWith(' ${WebApp.kind} ' + variables.objects[0].metadata.name) || o == 'none' && variables.isGivenAway))`
  },
  validation: unowned(
    "owner forbidden",
    `must be the ${WebApp.kind} with the same name, as controller; or none, with the adopt annotation`
  )
}

/** The policy of a child that the controller also deletes; then `object` is null. */
const companion = (
  resource: (typeof companions)[number],
  variables: { readonly [name: string]: string },
  ...validations: ReadonlyArray<Validation>
): Rules => {
  const [plural = "", ...group] = resource.split(".")
  return {
    requests: [requests(group.join("."), [plural], ["CREATE", "UPDATE", "DELETE"])],
    variables: { ...child.variables, ...variables },
    validations: [child.validation, ...validations]
  }
}

const [autoscalerResource, budgetResource, accessResource] = companions

/** The autoscaler of a WebApp may scale only its Deployment. */
export const autoscalers = companion(
  autoscalerResource,
  { target: "object == null ? '' : object.spec.scaleTargetRef.kind + ' ' + object.spec.scaleTargetRef.name" },
  validation(
    "object == null || variables.target == 'Deployment ' + object.metadata.name",
    "target forbidden",
    "variables.target",
    "must be the Deployment with the same name"
  )
)

/**
 * Whether a selector names pods by a label. The other operators can select all pods of a namespace.
 *
 * @param selector a CEL expression for the selector, which may be absent
 */
const selects = (selector: string): string =>
  `has(${selector}) && (has(${selector}.matchLabels) && ${selector}.matchLabels.size() > 0 || has(${selector}.matchExpressions) && ${selector}.matchExpressions.exists(e, e.operator == 'In'))`

const unselected = validation(
  "variables.selects",
  "selector forbidden",
  "variables.selector",
  "must select the pods of the WebApp by a label or the operator In"
)

/** The budget of a WebApp. The API server refuses each eviction of a pod with two budgets, so one for all pods would stop all drains. */
export const budgets = companion(
  budgetResource,
  {
    selects: `object == null || ${selects("object.spec.selector")}`,
    selector: text("spec.selector"),
    allows: `object == null || has(object.spec.maxUnavailable) && !string(object.spec.maxUnavailable).matches('^0*%?$')`
  },
  unselected,
  validation("variables.allows", "budget forbidden", text("spec"), "must have a maxUnavailable of at least 1 or 1%")
)

/** The NetworkPolicies of several WebApps and of other managers add up, so one for all pods would open a namespace. */
export const networkPolicies = companion(
  accessResource,
  {
    types: `object == null ? [] : ${orElse("object.spec", "policyTypes", "[]")}`,
    selects: `object == null || ${selects("object.spec.podSelector")}`,
    selector: text("spec.podSelector")
  },
  validation(
    "object == null || variables.types == ['Ingress']",
    "policyTypes forbidden",
    "variables.types.join(', ')",
    "must be Ingress"
  ),
  unselected
)

/** The kinds of routes. */
export const routeKinds = ["ingresses.networking.k8s.io", "httproutes.gateway.networking.k8s.io"] as const

/** The annotations that a controller sets. The value of a trace tells it, because `--trace-annotation` chooses its key. */
const isOurs =
  "a in ['cert-manager.io/issuer', 'cert-manager.io/cluster-issuer'] || a.startsWith('homeostat.dev/') || variables.annotations[a].matches('^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$')"

const isOwnService = "b.name == object.metadata.name"

/** Whether a rule of an HTTPRoute leads to the Service, and nothing else happens to its requests. */
const isPlain = `${orElse("r", "backendRefs", "[]")}.size() > 0 && !(${isSet("r", "filters", "[]")}) && r.backendRefs.all(b, ${isOwnService} && (!has(b.kind) || b.kind == 'Service') && (!has(b.group) || b.group == '') && (!has(b.namespace) || b.namespace == request.namespace) && !(${isSet("b", "filters", "[]")}))`

const isIngress = "request.resource.resource == 'ingresses'"
const rules = orElse("object.spec", "rules", "[]")
const unset =
  "(oldObject != null && has(oldObject.spec.defaultBackend) && oldObject.spec.defaultBackend == object.spec.defaultBackend)"

/**
 * The route of a WebApp. It leads only to its Service, for requests to a host. Many ingress controllers run what an annotation says, so
 * the manager adds only its own.
 */
export const routes: Rules = {
  requests: [
    requests("networking.k8s.io", ["ingresses"], ["CREATE", "UPDATE", "DELETE"]),
    requests("gateway.networking.k8s.io", ["httproutes"], ["CREATE", "UPDATE", "DELETE"])
  ],
  variables: {
    ...child.variables,
    annotations: `object == null ? {} : ${orElse("object.metadata", "annotations", "{}")}`,
    former: `oldObject == null ? {} : ${orElse("oldObject.metadata", "annotations", "{}")}`,
    added: `variables.annotations.filter(a, !(a in variables.former && variables.former[a] == variables.annotations[a]) && !(${isOurs}))`,
    hosts: `object == null ? [] : ${isIngress} ? ${rules}.map(r, has(r.host) ? r.host : '') : ${orElse("object.spec", "hostnames", "[]")}`,
    backends: `object == null ? true : ${isIngress} ? (!has(object.spec.defaultBackend) || ${unset}) && ${rules}.all(r, has(r.http) && r.http.paths.map(p, p.backend).all(b, has(b.service) && b.service.name == object.metadata.name)) : ${rules}.all(r, ${isPlain})`
  },
  validations: [
    child.validation,
    none("added", "annotation forbidden", "must be one that the controller sets, or stay as it is"),
    validation(
      "object == null || variables.hosts.size() > 0 && variables.hosts.all(h, h != '')",
      "route without a host forbidden",
      "object.metadata.name",
      "each rule must have a host"
    ),
    validation(
      "variables.backends",
      "backend forbidden",
      "object.metadata.name",
      "must be the Service with the same name, without filters"
    )
  ]
}
