/** The policies of the children of WebApps. Pure. */
import { intentAnnotation } from "@homeostat/runtime/controller/Intent"
import { adoptAnnotation } from "@homeostat/webapp/children"
import { WebApp } from "@homeostat/webapp/WebApp"
import { objects, orElse, owners, type Rules, requests, text, unowned, type Validation, validation } from "./Rules.ts"

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

/** The budget of a WebApp. */
export const budgets = companion(budgetResource, {})

/** The NetworkPolicies of several WebApps and of other managers add up, so one for all pods would open a namespace. */
export const networkPolicies = companion(
  accessResource,
  {
    types: `object == null ? [] : ${orElse("object.spec", "policyTypes", "[]")}`,
    selects: `object == null || has(object.spec.podSelector.matchLabels) && object.spec.podSelector.matchLabels.size() > 0 || has(object.spec.podSelector.matchExpressions) && object.spec.podSelector.matchExpressions.size() > 0`
  },
  validation(
    "object == null || variables.types == ['Ingress']",
    "policyTypes forbidden",
    "variables.types.join(', ')",
    "must be Ingress"
  ),
  validation("variables.selects", "podSelector forbidden", "'{}'", "must select the pods of the WebApp")
)

/** The kinds of routes. */
export const routeKinds = ["ingresses.networking.k8s.io", "httproutes.gateway.networking.k8s.io"] as const

/** The route of a WebApp. */
export const routes: Rules = {
  requests: [
    requests("networking.k8s.io", ["ingresses"], ["CREATE", "UPDATE", "DELETE"]),
    requests("gateway.networking.k8s.io", ["httproutes"], ["CREATE", "UPDATE", "DELETE"])
  ],
  variables: child.variables,
  validations: [child.validation]
}
