/**
 * A custom kind with a field for each way in which values are merged and owned.
 */
import type { JsonObject } from "@homeostat/testkit/server/Json"
import type { Kind } from "./Script.ts"

const text = { type: "string" }
const texts = { type: "object", additionalProperties: text }

const schema = {
  type: "object",
  properties: {
    spec: {
      type: "object",
      properties: {
        name: text,
        count: { type: "integer", default: 1 },
        ratio: { type: "number" },
        on: { type: "boolean" },
        since: { type: "string", format: "date-time" },
        maybe: { type: "string", nullable: true },
        replicas: { type: "integer" },
        items: {
          type: "array",
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["name"],
          items: {
            type: "object",
            required: ["name"],
            properties: {
              name: text,
              value: text,
              weight: { type: "integer", default: 5 },
              tags: { type: "array", "x-kubernetes-list-type": "set", items: text }
            }
          }
        },
        ports: {
          type: "array",
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["port", "protocol"],
          items: {
            type: "object",
            required: ["port"],
            properties: { port: { type: "integer" }, protocol: { type: "string", default: "TCP" }, title: text }
          }
        },
        tags: { type: "array", "x-kubernetes-list-type": "set", items: text },
        numbers: { type: "array", "x-kubernetes-list-type": "set", items: { type: "integer" } },
        atoms: { type: "array", "x-kubernetes-list-type": "atomic", items: text },
        plain: { type: "array", items: { type: "object", properties: { a: text, b: text } } },
        granular: texts,
        whole: { ...texts, "x-kubernetes-map-type": "atomic" },
        block: { type: "object", "x-kubernetes-map-type": "atomic", properties: { a: text, b: text } },
        open: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
        half: {
          type: "object",
          "x-kubernetes-preserve-unknown-fields": true,
          properties: { known: text, deep: { type: "object", properties: { a: text } } }
        },
        anything: { "x-kubernetes-preserve-unknown-fields": true },
        amount: { "x-kubernetes-int-or-string": true },
        deep: {
          type: "object",
          properties: {
            a: { type: "object", properties: { b: { type: "object", properties: { c: text, d: text } } } }
          }
        },
        settings: {
          type: "object",
          default: {},
          properties: { mode: { type: "string", default: "auto" }, level: text }
        },
        embedded: {
          type: "object",
          "x-kubernetes-embedded-resource": true,
          "x-kubernetes-preserve-unknown-fields": true
        },
        groups: { type: "object", additionalProperties: { type: "object", properties: { a: text, b: text } } }
      }
    },
    status: {
      type: "object",
      properties: {
        replicas: { type: "integer" },
        phase: text,
        conditions: {
          type: "array",
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["type"],
          items: { type: "object", required: ["type"], properties: { type: text, status: text } }
        }
      }
    }
  }
}

const version = (name: string, storage: boolean) => ({
  name,
  served: true,
  storage,
  schema: { openAPIV3Schema: schema },
  subresources: {
    status: {},
    scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" }
  }
})

/** The definition of the kind Thing. */
export const definition = {
  metadata: { name: "things.apply.example.com" },
  spec: {
    group: "apply.example.com",
    scope: "Namespaced",
    names: { plural: "things", singular: "thing", kind: "Thing", listKind: "ThingList" },
    versions: [version("v1", true), version("v2", false)]
  }
} satisfies JsonObject

const versioned = (version: string): Kind => ({
  apiVersion: `apply.example.com/${version}`,
  kind: "Thing",
  plural: "things"
})

/** Things in the version that is stored. */
export const v1 = versioned("v1")
/** Things in the other version, which has the same schema. */
export const v2 = versioned("v2")
