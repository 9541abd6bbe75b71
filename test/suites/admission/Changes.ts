/** Updates of objects of admissionregistration.k8s.io. */
import type { JsonObject } from "@homeostat/apiserver/model/Json"
import * as J from "@homeostat/apiserver/model/Json"
import type { Dialogue, Step } from "../comparison/Dialogue.ts"
import { group, type Kind, make, merge, plurals } from "./Objects.ts"
import { objects } from "./Strategies.ts"

const pathOf = (kind: Kind): string => `${group}/${plurals[kind]}/NAMESPACE`

/** Replaces the object of the first response. */
const put =
  (kind: Kind, more: JsonObject, version = true): Step =>
  ({ answers }) => {
    const { metadata, ...object } = J.object(answers[0]?.body)
    const { resourceVersion, ...rest } = J.object(metadata)
    return {
      method: "PUT",
      path: pathOf(kind),
      body: { ...object, metadata: { ...rest, ...(version && { resourceVersion }) }, ...more }
    }
  }

const patch = (kind: Kind, body: JsonObject, below = ""): Step => ({
  method: "PATCH",
  path: `${pathOf(kind)}${below}`,
  ...merge(body)
})

const hook = (more: JsonObject) => ({
  ...J.object(J.list(objects.ValidatingWebhookConfiguration["a webhook"]?.webhooks)[0]),
  ...more
})

const changes = (kind: Kind, about: string, ...steps: ReadonlyArray<Step>): Dialogue => ({
  name: `${kind}: ${about}`,
  headers: ["warning"],
  steps: [
    // The object matches no request of the namespace.
    make(kind, "NAMESPACE", quiet[kind]),
    ...steps
  ]
})

const nowhere = {
  resourceRules: [{ apiGroups: ["none.example.com"], apiVersions: ["v1"], operations: ["CREATE"], resources: ["none"] }]
}
const validations = [{ expression: "true" }]
const mutations = [{ patchType: "ApplyConfiguration", applyConfiguration: { expression: "Object{}" } }]
const hooks = { webhooks: [hook({ rules: nowhere.resourceRules })] }

const quiet: { readonly [kind in Kind]: JsonObject } = {
  MutatingAdmissionPolicy: { spec: { matchConstraints: nowhere, mutations, reinvocationPolicy: "Never" } },
  MutatingAdmissionPolicyBinding: { spec: { policyName: "absent" } },
  MutatingWebhookConfiguration: hooks,
  ValidatingAdmissionPolicy: { spec: { matchConstraints: nowhere, validations } },
  ValidatingAdmissionPolicyBinding: { spec: { policyName: "absent", validationActions: ["Deny"] } },
  ValidatingWebhookConfiguration: hooks
}

const kinds = Object.keys(quiet) as ReadonlyArray<Kind>

const condition = (type: string, more: JsonObject = {}) => ({
  type,
  status: "True",
  reason: "Seen",
  message: "",
  lastTransitionTime: "2026-01-01T00:00:00Z",
  ...more
})

/** All dialogues of this file. */
export const dialogues: ReadonlyArray<Dialogue> = [
  ...kinds.map((kind) =>
    changes(
      kind,
      "changes",
      patch(kind, { metadata: { labels: { a: "b" } } }),
      put(kind, {}, false),
      put(kind, {}),
      kind.endsWith("Configuration")
        ? patch(kind, { webhooks: [hook({ timeoutSeconds: 5, rules: nowhere.resourceRules })] })
        : patch(kind, { spec: { policyName: "other", failurePolicy: "Ignore" } }),
      { method: "GET", path: pathOf(kind) },
      {
        method: "PATCH",
        path: `${pathOf(kind)}?fieldManager=me&force=true`,
        contentType: "application/apply-patch+yaml",
        body: {
          apiVersion: "admissionregistration.k8s.io/v1",
          kind,
          metadata: { name: "NAMESPACE" },
          ...quiet[kind]
        }
      },
      { method: "DELETE", path: pathOf(kind) }
    )
  ),
  changes(
    "ValidatingAdmissionPolicy",
    "its status",
    patch(
      "ValidatingAdmissionPolicy",
      { status: { observedGeneration: 1 }, spec: { failurePolicy: "Ignore" }, metadata: { labels: { a: "b" } } },
      "/status"
    ),
    patch("ValidatingAdmissionPolicy", { status: { observedGeneration: 2 } }),
    patch(
      "ValidatingAdmissionPolicy",
      {
        status: {
          typeChecking: { expressionWarnings: [{ fieldRef: "spec.validations[0].expression", warning: "odd" }] },
          conditions: [condition("Ready")]
        }
      },
      "/status"
    ),
    patch(
      "ValidatingAdmissionPolicy",
      {
        status: {
          typeChecking: { expressionWarnings: [{ fieldRef: " ", warning: "" }] },
          conditions: [
            condition("A b", { status: "Perhaps", reason: "a b" }),
            condition("", { status: "", reason: "", observedGeneration: -1 })
          ]
        }
      },
      "/status"
    )
  ),
  changes(
    "ValidatingAdmissionPolicy",
    "its expressions",
    patch("ValidatingAdmissionPolicy", { spec: { validations: [{ expression: "1" }] } }),
    patch("ValidatingAdmissionPolicy", { spec: { matchConditions: [{ name: "a", expression: "1" }] } }),
    patch("ValidatingAdmissionPolicy", { spec: { matchConditions: [{ name: "a", expression: "true" }] } }),
    patch("ValidatingAdmissionPolicy", {
      spec: { paramKind: { apiVersion: "v1", kind: "ConfigMap" }, variables: [{ name: "a", expression: "params" }] }
    })
  ),
  changes(
    "ValidatingWebhookConfiguration",
    "its webhooks",
    patch("ValidatingWebhookConfiguration", {
      webhooks: [hook({ sideEffects: "Some", rules: nowhere.resourceRules })]
    }),
    patch("ValidatingWebhookConfiguration", { webhooks: [] }),
    patch("ValidatingWebhookConfiguration", { webhooks: [hook({ sideEffects: "Some", rules: nowhere.resourceRules })] })
  )
]
