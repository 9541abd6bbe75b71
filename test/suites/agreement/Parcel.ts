/** A custom kind with a field for each feature of a structural schema. */
import type { JsonObject } from "@homeostat/apiserver/model/Json"
import * as FastCheck from "fast-check"
import * as Schema from "../comparison/Schema.ts"
import { metadata, type Subject } from "./Subject.ts"
import * as Value from "./Value.ts"

const { integer, object, text, texts } = Schema
const short = { type: "string", maxLength: 10 }

const spec = object({
  copies: { type: "integer", minimum: 0, maximum: 10 },
  image: { ...text, default: "none" },
  items: Schema.map(
    ["name"],
    { name: short, value: text, weight: { type: "integer", default: 5 }, tags: Schema.set(text) },
    { maxItems: 10 }
  ),
  ports: Schema.map(["port", "protocol"], { port: integer, protocol: { ...text, default: "TCP" }, title: text }),
  tags: Schema.set(text),
  numbers: Schema.set(integer),
  atoms: { type: "array", "x-kubernetes-list-type": "atomic", items: text },
  plain: { type: "array", items: object({ a: text, b: { ...text, default: "b" } }) },
  granular: texts,
  whole: { ...texts, "x-kubernetes-map-type": "atomic" },
  block: { type: "object", "x-kubernetes-map-type": "atomic", properties: { a: text, b: text } },
  groups: { type: "object", additionalProperties: object({ a: text, b: text }) },
  open: Schema.open,
  half: { ...Schema.open, properties: { known: text, deep: object({ a: text }) } },
  anything: { "x-kubernetes-preserve-unknown-fields": true },
  amount: { "x-kubernetes-int-or-string": true },
  maybe: { ...text, nullable: true },
  often: { type: "array", nullable: true, items: text },
  when: { ...text, format: "date-time" },
  mode: { ...text, enum: ["fast", "slow"] },
  ratio: { type: "number" },
  settings: {
    type: "object",
    default: {},
    properties: { mode: { ...text, default: "auto" }, level: { ...text, pattern: "^[a-c]*$" } }
  },
  range: {
    type: "object",
    properties: { min: integer, max: integer, fixed: short },
    "x-kubernetes-validations": [
      { rule: "!has(self.min) || !has(self.max) || self.min <= self.max", message: "min is above max" },
      { rule: "!has(oldSelf.fixed) || (has(self.fixed) && self.fixed == oldSelf.fixed)", message: "fixed is fixed" }
    ]
  },
  embedded: Schema.embedded
})

const status = object({
  copies: integer,
  phase: { ...text, default: "Pending" },
  conditions: Schema.map(["type"], { type: text, status: text })
})

export const definition = {
  metadata: { name: "parcels.agreement.example.com" },
  spec: {
    group: "agreement.example.com",
    scope: "Namespaced",
    names: { plural: "parcels", singular: "parcel", kind: "Parcel", listKind: "ParcelList" },
    versions: [Schema.version("v1", true, object({ spec, status }), "copies")]
  }
} satisfies JsonObject

const item = Value.object(
  { name: Value.mostly(Value.one("a", "b", "c"), "much too long", 1, null) },
  { value: Value.text, weight: Value.count, tags: Value.list(Value.text) }
)
const pair = Value.some({ a: Value.text, b: Value.text, unknown: Value.text })

const embedded = Value.object(
  {
    apiVersion: Value.mostly(Value.one("v1", "apps/v1"), "", "a/b/c"),
    kind: Value.mostly(Value.one("ConfigMap"), "A b")
  },
  {
    metadata: Value.mostly(
      FastCheck.tuple(
        metadata,
        Value.some({ name: Value.mostly(Value.one("a"), "a/b"), namespace: Value.one("a", "A") })
      ).map(([metadata, names]) => ({ ...metadata, ...names })),
      null,
      "a"
    )
  }
)

const members = FastCheck.record({
  spec: Value.some(
    {
      copies: Value.mostly(Value.count, 11),
      image: Value.text,
      items: Value.list(Value.mostly(item, {}, "a", null)),
      ports: Value.list(
        Value.object(
          { port: Value.mostly(Value.one(80, 81), "80") },
          { protocol: Value.one("TCP", "UDP"), title: Value.text }
        )
      ),
      tags: Value.list(Value.text),
      numbers: Value.list(Value.count),
      atoms: Value.list(Value.text),
      plain: Value.list(pair),
      granular: Value.map(Value.text),
      whole: Value.map(Value.text),
      block: pair,
      groups: Value.map(pair),
      open: Value.map(Value.anything),
      half: Value.some({ known: Value.text, deep: pair, more: Value.anything }),
      anything: Value.anything,
      amount: Value.mostly(Value.one(1, "1", "50%"), true, 1.5),
      maybe: Value.one("a", null),
      often: Value.one(["a"], [], null),
      when: Value.mostly(Value.one("2020-01-01T00:00:00Z", "2020-01-01T00:00:00.5+01:00"), "yesterday"),
      mode: Value.mostly(Value.one("fast", "slow"), "medium"),
      ratio: Value.mostly(Value.one(1, 0.5, 2), "1"),
      settings: Value.mostly(Value.some({ mode: Value.text, level: Value.mostly(Value.text, "d") }), null),
      range: Value.some({ min: Value.count, max: Value.count, fixed: Value.one("a", "b") }),
      embedded: Value.mostly(
        FastCheck.oneof(
          embedded,
          Value.one(
            { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", labels: { a: "b" } } },
            { apiVersion: "v1", kind: "ConfigMap", more: { a: 1 } },
            { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", unknown: 1 } }
          )
        ),
        {},
        { kind: "ConfigMap" },
        { apiVersion: "v1", kind: "ConfigMap", metadata: { labels: 1 } }
      ),
      unknown: Value.text
    },
    4
  )
})

export const parcel: Subject = {
  apiVersion: "agreement.example.com/v1",
  kind: "Parcel",
  plural: "parcels",
  base: {},
  members,
  status: Value.some({
    copies: Value.count,
    phase: Value.text,
    conditions: Value.list(Value.object({ type: Value.one("Ready", "Done") }, { status: Value.text })),
    unknown: Value.text
  }),
  scale: true,
  pointers: [
    "",
    "/spec",
    "/spec/copies",
    "/spec/image",
    "/spec/items",
    "/spec/items/-",
    "/spec/items/0",
    "/spec/items/0/name",
    "/spec/items/0/value",
    "/spec/items/1",
    "/spec/items/1/tags/0",
    "/spec/ports/0/protocol",
    "/spec/tags",
    "/spec/tags/0",
    "/spec/tags/-",
    "/spec/atoms/1",
    "/spec/granular",
    "/spec/granular/a",
    "/spec/granular/b",
    "/spec/whole/a",
    "/spec/block",
    "/spec/groups/a/a",
    "/spec/open/a",
    "/spec/half/more",
    "/spec/anything",
    "/spec/amount",
    "/spec/settings",
    "/spec/settings/mode",
    "/spec/unknown",
    "/spec/a~1b",
    "/status",
    "/status/phase"
  ]
}
