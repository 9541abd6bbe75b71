/** Schemas of custom kinds, CRDs, and objects of built-in kinds. */

import type { JsonObject } from "@homeostat/apiserver/model/Json"
import type { Dialogue } from "../comparison/Dialogue.ts"
import * as Schema from "../comparison/Schema.ts"
import type { Request } from "../comparison/Server.ts"
import { pod } from "./Objects.ts"
import { about, create, get, having, patch, pathOf, post, put } from "./Requests.ts"

const specs = (name: string, ...specs: ReadonlyArray<JsonObject>): Dialogue => ({
  name,
  steps: specs.map((spec, at) => create({ spec }, `w${at}`))
})

const limited = (more: JsonObject) => ({ limited: { mode: "fast", ...more } })
const embedded = { apiVersion: "v1", kind: "Pod", metadata: { name: "p", labels: { a: "b" } } }

const schemas: ReadonlyArray<Dialogue> = [
  about(
    "the server drops unknown fields, unless the schema preserves them",
    create({
      spec: {
        foo: 1,
        nested: { label: "x", foo: 2 },
        ports: [{ name: "a", foo: 3 }],
        anything: { a: { b: [1, { c: null }] } },
        embedded: { ...embedded, spec: { size: 1, foo: 4 }, foo: 5 }
      },
      foo: 6
    })
  ),
  {
    name: "the server fills in defaults where their parent is present",
    steps: [{}, { spec: {} }, { spec: { nested: {} } }, { spec: { replicas: null } }].map((members, at) =>
      create(members, `w${at}`)
    )
  },
  specs(
    "the server refuses repeated keys and items of sets, and accepts nulls and two types where the schema does",
    { ports: [{ name: "a" }, { name: "b" }, { name: "a" }] },
    { tags: ["a", "b", "a"] },
    { target: 80 },
    { target: "80%" },
    { target: true },
    { nullable: null, image: null }
  ),
  specs(
    "the server names each value that the schema does not allow",
    { limited: {} },
    ...[
      { mode: "idle" },
      { size: 0 },
      { letters: "A" },
      { code: "a" },
      { code: "abcde" },
      { few: [1, 2, 3] },
      { size: "1" },
      { ratio: true },
      { size: 1.5 },
      { size: 0, letters: "A" }
    ].map(limited),
    { startedAt: "today" },
    { range: { min: 2, max: 1 }, limited: {} }
  ),
  specs(
    "the server refuses objects that break a rule, with its message, reason and field",
    { range: { min: 2, max: 1 } },
    { range: { secret: "no" } },
    { range: { word: "xyz" } }
  ),
  about(
    "a rule compares an update with the object before",
    create({ spec: { range: { min: 1, max: 1, fixed: "a" } } }),
    put((object) => ({ ...object, spec: { range: { min: 1, max: 1, fixed: "b" } } })),
    put((object) => ({ ...object, spec: { range: { min: 1, max: 2, fixed: "a" } } }))
  )
]

const definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

const version = (name: string, more: JsonObject = {}, spec: JsonObject = {}) => ({
  name,
  served: true,
  storage: name === "v1",
  schema: {
    openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true, properties: { spec } }
  },
  ...more
})

const { open } = Schema

/** Creates a CRD of Things in a group, and waits until the server serves all its versions. */
const define = (group: string, ...versions: ReadonlyArray<ReturnType<typeof version>>): ReadonlyArray<Request> => [
  post(definitionsPath, {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `things.${group}` },
    spec: { group, scope: "Namespaced", names: { plural: "things", kind: "Thing" }, versions }
  }),
  get(`${definitionsPath}/things.${group}`, { until: { body: { status: { conditions: [{}, { status: "True" }] } } } }),
  ...versions.map(({ name, served }) =>
    get(pathOf(`${group}/${name}/things`), { until: { status: served ? 200 : 404 } })
  ),
  get(pathOf(`${group}/v1/things`), { pauseMillis: 2_100 })
]

const thing = (group: string, members: JsonObject): Request =>
  post(pathOf(`${group}/v1/things`), { apiVersion: `${group}/v1`, kind: "Thing", metadata: { name: "t" }, ...members })

const definitions: ReadonlyArray<Dialogue> = [
  {
    name: "each served version shows the same objects, and a deprecated version warns",
    steps: [
      ...define(
        "versions.example.com",
        version("v1", {}, open),
        version("v2", { deprecated: true, deprecationWarning: "v2 was a mistake" }, open),
        version("v3", { served: false }, open)
      ),
      thing("versions.example.com", { spec: { a: 1 } }),
      get(`${pathOf("versions.example.com/v2/things")}/t`),
      put((object) => ({ ...object, spec: { a: 2 } }), `${pathOf("versions.example.com/v2/things")}/t`, 7),
      get(`${pathOf("versions.example.com/v1/things")}/t`)
    ]
  },
  {
    name: "a kind without subresources has a status like any other field",
    steps: [
      ...define("plain.example.com", version("v1", {}, open)),
      thing("plain.example.com", { status: { phase: "New" } }),
      put((object) => ({ ...object, status: { phase: "Ready" } }), `${pathOf("plain.example.com/v1/things")}/t`, 4),
      ...["status", "scale"].map((name) => get(`${pathOf("plain.example.com/v1/things")}/t/${name}`))
    ]
  },
  {
    name: "the server fills in a default of a later schema when it reads an older object",
    steps: [
      ...define("late.example.com", version("v1", {}, { type: "object", properties: { a: { type: "integer" } } })),
      thing("late.example.com", { spec: { a: 1 } }),
      patch(
        "json",
        [
          {
            op: "add",
            path: "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/late",
            value: { type: "string", default: "x" }
          }
        ],
        `${definitionsPath}/things.late.example.com`
      ),
      get(`${pathOf("late.example.com/v1/things")}/t`, { until: { body: { spec: { late: "x" } } } })
    ]
  }
]

const leases = pathOf("coordination.k8s.io/v1/leases")

const holder = (holderIdentity: string) => ({
  holderIdentity,
  leaseDurationSeconds: 15,
  renewTime: "2026-11-20T10:00:00.123456Z"
})

const involvedObject = { apiVersion: "example.com/v1", kind: "WebApp", name: "w", namespace: "NAMESPACE" }

const podStatus = `${pathOf("pods")}/p/status`

const condition = (type: string, status: string) => ({ type, status })

const builtIn: ReadonlyArray<Dialogue> = [
  {
    name: "a Lease keeps microseconds, and the second of two holders that take it conflicts",
    steps: [
      post(leases, {
        apiVersion: "coordination.k8s.io/v1",
        kind: "Lease",
        metadata: { name: "l" },
        spec: holder("a")
      }),
      ...["b", "c"].map((name) => put((object) => ({ ...object, spec: holder(name) }), `${leases}/l`, 0))
    ]
  },
  {
    name: "an Event is one object in both of its groups",
    steps: [
      post(pathOf("events"), {
        apiVersion: "v1",
        kind: "Event",
        metadata: { name: "e" },
        involvedObject,
        reason: "Done",
        message: "It is done",
        type: "Normal",
        count: 2,
        source: { component: "c" }
      }),
      get(`${pathOf("events.k8s.io/v1/events")}/e`),
      post(pathOf("events.k8s.io/v1/events"), {
        apiVersion: "events.k8s.io/v1",
        kind: "Event",
        metadata: { name: "f" },
        regarding: involvedObject
      })
    ]
  },
  {
    name: "a strategic merge patch merges conditions by type and finalizers as a set",
    reads: `${pathOf("pods")}/p`,
    steps: [
      post(pathOf("pods"), having(pod("p"), { finalizers: ["example.com/a", "example.com/b"] })),
      patch("strategic", { status: { conditions: [condition("A", "True"), condition("B", "True")] } }, podStatus),
      patch(
        "strategic",
        { status: { conditions: [condition("B", "False"), { type: "A", $patch: "delete" }, condition("C", "True")] } },
        podStatus
      )
    ]
  }
]

export const dialogues: ReadonlyArray<Dialogue> = [...schemas, ...definitions, ...builtIn]
