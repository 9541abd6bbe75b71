/** Policies, bindings and webhooks of the dialogues. Policies match only the namespace of their dialogue. */
import type { JsonObject } from "@homeostat/apiserver/model/Json"
import type { Request } from "../comparison/Server.ts"

export const group = "/apis/admissionregistration.k8s.io/v1"
const apiVersion = "admissionregistration.k8s.io/v1"

export const plurals = {
  MutatingAdmissionPolicy: "mutatingadmissionpolicies",
  MutatingAdmissionPolicyBinding: "mutatingadmissionpolicybindings",
  MutatingWebhookConfiguration: "mutatingwebhookconfigurations",
  ValidatingAdmissionPolicy: "validatingadmissionpolicies",
  ValidatingAdmissionPolicyBinding: "validatingadmissionpolicybindings",
  ValidatingWebhookConfiguration: "validatingwebhookconfigurations"
} as const

export type Kind = keyof typeof plurals

export const post = (path: string, body: JsonObject): Request => ({ method: "POST", path, body })

/** Creates an object of admissionregistration.k8s.io. */
export const make = (kind: Kind, name: string, more: JsonObject, query = ""): Request =>
  post(`${group}/${plurals[kind]}${query}`, { apiVersion, kind, metadata: { name }, ...more })

export const rule = (resources: ReadonlyArray<string>, more: JsonObject = {}): JsonObject => ({
  apiGroups: ["*"],
  apiVersions: ["*"],
  operations: ["*"],
  resources,
  ...more
})

/** Match constraints of rules in the namespace of the dialogue. */
export const constraints = (rules: ReadonlyArray<JsonObject>, more: JsonObject = {}): JsonObject => ({
  resourceRules: rules,
  namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "NAMESPACE" } },
  ...more
})

const configMaps = constraints([rule(["configmaps"])])

/** Creates a policy for ConfigMaps of the namespace, unless its spec has other constraints. */
export const policy = (name: string, spec: JsonObject): Request =>
  make("ValidatingAdmissionPolicy", name, { spec: { matchConstraints: configMaps, ...spec } })

/** Creates a binding of a policy, and waits until a kube-apiserver uses both. */
export const bind = (policyName: string, spec: JsonObject = {}, name = `${policyName}-binding`): Request => ({
  ...make("ValidatingAdmissionPolicyBinding", name, { spec: { policyName, validationActions: ["Deny"], ...spec } }),
  pauseMillis: 2_500
})

const configMapsPath = "/api/v1/namespaces/NAMESPACE/configmaps"

export const configMap = (name: string, more: JsonObject = {}): JsonObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name },
  ...more
})

/** Creates a ConfigMap. */
export const config = (name: string, more: JsonObject = {}, query = ""): Request =>
  post(`${configMapsPath}${query}`, configMap(name, more))

/** A request for one ConfigMap. */
export const ofConfig = (method: string, name: string, more: Omit<Request, "method" | "path"> = {}): Request => ({
  method,
  path: `${configMapsPath}/${name}`,
  ...more
})

/** A Deployment with the name `web`. */
export const deployment: JsonObject = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web" },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: "web" } },
    template: {
      metadata: { labels: { app: "web" } },
      spec: { containers: [{ name: "web", image: "nginx" }] }
    }
  }
}

export const deployments = "/apis/apps/v1/namespaces/NAMESPACE/deployments"

/** A merge patch. */
export const merge = (body: JsonObject): Pick<Request, "body" | "contentType"> => ({
  body,
  contentType: "application/merge-patch+json"
})
