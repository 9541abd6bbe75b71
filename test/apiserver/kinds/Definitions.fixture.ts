/**
 * CustomResourceDefinitions for tests.
 */
import type { JsonObject } from "../model/Json.ts"

/** The CRD of Thing, with the subresources status and scale. */
export const things: JsonObject = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "things.probe.io" },
  spec: {
    group: "probe.io",
    scope: "Namespaced",
    names: { plural: "things", singular: "thing", kind: "Thing", listKind: "ThingList" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        subresources: {
          status: {},
          scale: {
            specReplicasPath: ".spec.replicas",
            statusReplicasPath: ".status.replicas",
            labelSelectorPath: ".status.selector"
          }
        },
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: {
              spec: {
                type: "object",
                properties: { color: { type: "string" }, replicas: { type: "integer" } }
              },
              status: {
                type: "object",
                properties: {
                  phase: { type: "string" },
                  replicas: { type: "integer" },
                  selector: { type: "string" }
                }
              }
            }
          }
        }
      }
    ]
  }
}

/** The CRD of WebApp. Its schema covers the features of OpenAPI documents. Its version v1beta1 preserves unknown fields. */
export const webApps = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "webapps.openapi.example.com" },
  spec: {
    group: "openapi.example.com",
    names: {
      kind: "WebApp",
      plural: "webapps",
      singular: "webapp",
      listKind: "WebAppList",
      shortNames: ["wa"],
      categories: ["all"]
    },
    scope: "Namespaced",
    versions: [
      {
        name: "v1beta1",
        served: true,
        storage: false,
        schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } }
      },
      {
        name: "v1",
        served: true,
        storage: true,
        subresources: {
          status: {},
          scale: {
            specReplicasPath: ".spec.replicas",
            statusReplicasPath: ".status.replicas",
            labelSelectorPath: ".status.selector"
          }
        },
        schema: {
          openAPIV3Schema: {
            type: "object",
            description: "A web application.",
            required: ["spec"],
            properties: {
              apiVersion: { type: "string" },
              spec: {
                type: "object",
                description: "What it shall be.",
                properties: {
                  replicas: { type: "integer", format: "int32", default: 1, nullable: true, minimum: 0 },
                  image: { type: "string", minLength: 1, pattern: "^[a-z]", description: "What runs." },
                  mode: { type: "string", enum: ["On", "Off"] },
                  port: { "x-kubernetes-int-or-string": true },
                  labels: { type: "object", additionalProperties: { type: "string" } },
                  any: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
                  embedded: {
                    type: "object",
                    "x-kubernetes-embedded-resource": true,
                    "x-kubernetes-preserve-unknown-fields": true
                  },
                  list: {
                    type: "array",
                    items: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"]
                  }
                },
                "x-kubernetes-validations": [{ rule: "self.replicas >= 0", message: "no less than none" }]
              },
              status: {
                type: "object",
                properties: { replicas: { type: "integer" }, selector: { type: "string" } }
              }
            }
          }
        }
      }
    ]
  }
}
