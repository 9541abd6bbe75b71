/** Webhooks and policies in the states that their columns distinguish. The API server calls none of them. */
import { expressions, labels, of, type Sample } from "./Sample.ts"

const group = "admissionregistration.k8s.io/v1"
const hook = (name: string) => ({
  name: `${name}.example.com`,
  clientConfig: { url: "https://example.com" },
  sideEffects: "None",
  admissionReviewVersions: ["v1"]
})
const hooks = { webhooks: [hook("a.b"), hook("b.b")] }
const paramKind = { apiVersion: "example.com/v1", kind: "Limit" }
const matchConstraints = {
  resourceRules: [{ apiGroups: ["example.com"], apiVersions: ["v1"], operations: ["CREATE"], resources: ["none"] }]
}
const validations = [{ expression: "true" }, { expression: "true" }]
const mutations = [{ patchType: "ApplyConfiguration", applyConfiguration: { expression: "Object{}" } }]
const more = { parameterNotFoundAction: "Allow" }
const references = {
  none: undefined,
  name: { name: "limits", ...more },
  namespace: { name: "limits", namespace: "default", ...more },
  labels: { selector: { matchLabels: labels }, ...more },
  expressions: { selector: expressions, ...more }
}

const bindings = (plural: string, own: { readonly validationActions?: ReadonlyArray<string> }): ReadonlyArray<Sample> =>
  Object.entries(references).map(([name, paramRef]) =>
    of(
      group,
      plural,
      false
    )(`openapi-${name}`, {
      spec: { policyName: "openapi-absent", ...own, ...(paramRef !== undefined && { paramRef }) }
    })
  )

export const admission: ReadonlyArray<Sample> = [
  ...["mutating", "validating"].flatMap((kind) => {
    const sample = of(group, `${kind}webhookconfigurations`, false)
    return [sample("openapi-none", {}), sample("openapi-two", hooks)]
  }),
  of(group, "validatingadmissionpolicies", false)("openapi-plain", { spec: { matchConstraints, validations } }),
  of(
    group,
    "validatingadmissionpolicies",
    false
  )("openapi-params", { spec: { matchConstraints, validations, paramKind } }),
  of(
    group,
    "mutatingadmissionpolicies",
    false
  )("openapi-params", {
    spec: { matchConstraints, mutations, paramKind, reinvocationPolicy: "Never" }
  }),
  ...bindings("validatingadmissionpolicybindings", { validationActions: ["Deny"] }),
  ...bindings("mutatingadmissionpolicybindings", {})
]
