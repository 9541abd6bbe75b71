/**
 * Minimal CRDs for the kinds of the Prometheus operator (monitoring.coreos.com/v1). They have only the fields that `deploy/` sets, so
 * strict validation rejects a misspelt field.
 */
import type { CustomResourceDefinition } from "@homeostat/testkit/envtest/Crds"

const string = { type: "string" }
const strings = { type: "object", additionalProperties: string }
const object = (properties: object) => ({ type: "object", properties })
const list = (items: object) => ({ type: "array", items })

const kind = (name: string, spec: object): CustomResourceDefinition => {
  const plural = `${name.toLowerCase()}s`
  const crd = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.monitoring.coreos.com` },
    spec: {
      group: "monitoring.coreos.com",
      names: { kind: name, listKind: `${name}List`, plural, singular: name.toLowerCase() },
      scope: "Namespaced",
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: object({ spec }) } }]
    }
  }
  return crd
}

const endpoint = object({
  port: string,
  path: string,
  scheme: { type: "string", enum: ["http", "https"] },
  interval: string,
  scrapeTimeout: string,
  honorLabels: { type: "boolean" },
  authorization: object({ type: string, credentials: object({ name: string, key: string }) }),
  tlsConfig: object({ insecureSkipVerify: { type: "boolean" } })
})

const rule = object({ alert: string, expr: string, for: string, labels: strings, annotations: strings })

/** The CRDs of ServiceMonitor and PrometheusRule. */
export const definitions: ReadonlyArray<CustomResourceDefinition> = [
  kind(
    "ServiceMonitor",
    object({ jobLabel: string, selector: object({ matchLabels: strings }), endpoints: list(endpoint) })
  ),
  kind("PrometheusRule", object({ groups: list(object({ name: string, rules: list(rule) })) }))
]
