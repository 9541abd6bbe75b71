/** A custom kind with a field for each way to merge and own values. */
import type { JsonObject } from "@homeostat/apiserver/model/Json"
import * as Schema from "../comparison/Schema.ts"
import type { Kind } from "./Script.ts"

const { integer, object, text, texts } = Schema

const schema = object({
  spec: object({
    name: text,
    count: { type: "integer", default: 1 },
    ratio: { type: "number" },
    on: { type: "boolean" },
    since: { type: "string", format: "date-time" },
    maybe: { type: "string", nullable: true },
    replicas: integer,
    items: Schema.map(["name"], {
      name: text,
      value: text,
      weight: { type: "integer", default: 5 },
      tags: Schema.set(text)
    }),
    ports: Schema.map(["port", "protocol"], { port: integer, protocol: { ...text, default: "TCP" }, title: text }),
    tags: Schema.set(text),
    numbers: Schema.set(integer),
    atoms: { type: "array", "x-kubernetes-list-type": "atomic", items: text },
    plain: { type: "array", items: object({ a: text, b: text }) },
    granular: texts,
    whole: { ...texts, "x-kubernetes-map-type": "atomic" },
    block: { type: "object", "x-kubernetes-map-type": "atomic", properties: { a: text, b: text } },
    open: Schema.open,
    half: { ...Schema.open, properties: { known: text, deep: object({ a: text }) } },
    anything: { "x-kubernetes-preserve-unknown-fields": true },
    amount: { "x-kubernetes-int-or-string": true },
    deep: object({ a: object({ b: object({ c: text, d: text }) }) }),
    settings: { type: "object", default: {}, properties: { mode: { ...text, default: "auto" }, level: text } },
    embedded: Schema.embedded,
    groups: { type: "object", additionalProperties: object({ a: text, b: text }) }
  }),
  status: object({
    replicas: integer,
    phase: text,
    conditions: Schema.map(["type"], { type: text, status: text })
  })
})

export const definition = {
  metadata: { name: "things.apply.example.com" },
  spec: {
    group: "apply.example.com",
    scope: "Namespaced",
    names: { plural: "things", singular: "thing", kind: "Thing", listKind: "ThingList" },
    versions: [Schema.version("v1", true, schema, "replicas"), Schema.version("v2", false, schema, "replicas")]
  }
} satisfies JsonObject

const versioned = (version: string): Kind => ({
  apiVersion: `apply.example.com/${version}`,
  kind: "Thing",
  plural: "things"
})

/** The stored version. */
export const v1 = versioned("v1")
/** Another version with the same schema. */
export const v2 = versioned("v2")
