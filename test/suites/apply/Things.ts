/**
 * A custom kind with a field for each way in which values are merged and owned.
 */
import * as CustomKinds from "@homeostat/testkit/server/crd/CustomKinds"
import * as Prune from "@homeostat/testkit/server/crd/Prune"
import type { JsonObject } from "@homeostat/testkit/server/Json"
import type { Kind } from "@homeostat/testkit/server/Kind"
import type { Subject } from "./Judge.ts"

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
export const crd = {
  metadata: { name: "things.apply.example.com" },
  spec: {
    group: "apply.example.com",
    scope: "Namespaced",
    names: { plural: "things", singular: "thing", kind: "Thing", listKind: "ThingList" },
    versions: [version("v1", true), version("v2", false)]
  }
} satisfies JsonObject

const kinds: ReadonlyMap<string, Kind> = new Map(
  CustomKinds.kindsOf(crd).map((kind) => [`${kind.group}/${kind.version}`, kind])
)

const subject = (version: string): Subject => {
  const kind = kinds.get(`apply.example.com/${version}`)
  if (kind === undefined) throw new Error(`${version} is not served`)
  return {
    kind,
    kindIn: (apiVersion) => kinds.get(apiVersion),
    resetFields: [["status"]],
    statusResetFields: [["metadata"], ["spec"]],
    default: (draft) => {
      kind.strategy.default(draft)
      Object.assign(draft, Prune.prune(kind.schema, draft).value)
    },
    prepared: []
  }
}

/** Things as their two versions show them. */
export const v1 = subject("v1")
/** The same, in the version that is not stored. */
export const v2 = subject("v2")
