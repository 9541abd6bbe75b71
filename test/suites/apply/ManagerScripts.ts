/** The server tracks managers: updates, subresources, versions, resets, the limit on entries, kubectl. */
import type { DraftObject } from "@homeostat/apiserver/model/Json"
import * as J from "@homeostat/apiserver/model/Json"
import { apply, as, create, force, merge, of, on, put, spec, status } from "./Script.ts"
import * as Things from "./Things.ts"

/** An entry of managedFields. */
const managed = (manager: string, operation: string, fieldsV1: DraftObject, more: DraftObject = {}): DraftObject => ({
  manager,
  operation,
  apiVersion: "apply.example.com/v1",
  fieldsType: "FieldsV1",
  fieldsV1,
  ...more
})

export const scripts = of(Things.v1, {
  "managers update after an apply, and apply after an update": [
    create("creator", spec({ name: "one", granular: { x: "1" }, items: [{ name: "x", value: "1" }] })),
    apply("a", spec({ name: "two" })),
    apply("a", spec({ name: "one", granular: { y: "1" } })),
    merge("editor", spec({ name: "three", granular: { y: "2" } })),
    apply("a", spec({ name: "one" })),
    merge("editor", spec({ name: "three" })),
    merge("creator", { metadata: { labels: { l: "1" }, annotations: { n: "1" }, finalizers: ["example.com/f"] } }),
    apply("a", { metadata: { labels: { l: "2" } } }),
    force("a", { metadata: { labels: { l: "2" }, finalizers: ["example.com/g"] } }),
    put("editor", (live) => {
      const inner = J.member(live, "spec")
      delete inner.granular
      inner.items = [
        { name: "y", value: "2" },
        { name: "x", value: "1" }
      ]
    }),
    put("editor", () => {}),
    merge("a", { metadata: { finalizers: null, labels: null } }),
    apply("a", {})
  ],
  "the server merges owner references by uid": [
    apply("a", { metadata: { ownerReferences: [{ apiVersion: "v1", kind: "Node", name: "x", uid: "u-1" }] } }),
    apply("b", { metadata: { ownerReferences: [{ apiVersion: "v1", kind: "Node", name: "y", uid: "u-2" }] } }),
    apply("b", { metadata: { ownerReferences: [{ apiVersion: "v1", kind: "Node", name: "z", uid: "u-1" }] } }),
    merge("c", {
      metadata: { ownerReferences: [{ apiVersion: "v1", kind: "Node", name: "x", uid: "u-1", controller: true }] }
    }),
    apply("a", {})
  ],
  "managers own the status apart from the spec": [
    apply("a", { ...spec({ name: "one" }), ...status({ phase: "ignored" }) }),
    on(
      "status",
      apply("s", {
        ...spec({ name: "ignored" }),
        ...status({ phase: "up", conditions: [{ type: "Ready", status: "True" }] })
      })
    ),
    on(
      "status",
      merge(
        "t",
        status({
          phase: "down",
          conditions: [
            { type: "Ready", status: "True" },
            { type: "Done", status: "False" }
          ]
        })
      )
    ),
    on("status", apply("s", status({ phase: "up" }))),
    on("status", force("s", status({ phase: "up" }))),
    on(
      "status",
      put("t", (live) => {
        J.member(live, "status").phase = "put"
        J.member(live, "metadata").labels = { ignored: "1" }
        J.member(live, "metadata").managedFields = []
      })
    ),
    merge("editor", { ...spec({ name: "two" }), ...status({ phase: "ignored" }) }),
    put("editor", (live) => {
      delete live.status
    }),
    on("status", apply("s", status({})))
  ],
  "clients write managedFields": [
    create("creator", {
      ...spec({ name: "one" }),
      metadata: {
        managedFields: [managed("made-up", "Update", { "f:spec": { "f:on": {} } })]
      }
    }),
    put("editor", (live) => {
      J.member(live, "metadata").managedFields = [
        managed(
          "made-up",
          "Apply",
          {
            "f:spec": { 'k:{"b": 1, "a":2}': {}, "x:unknown": {}, "f:name": {}, ".": {}, "f:count": { ".": {} } }
          },
          { time: "2026-01-02T03:04:05Z" }
        )
      ]
    }),
    put("editor", (live) => {
      J.member(live, "metadata").managedFields = [{ manager: "broken", operation: "Nothing", apiVersion: "v1" }]
      J.member(live, "spec").on = true
    }),
    put("editor", (live) => {
      J.member(live, "metadata").managedFields = [
        { manager: "broken", operation: "Update", apiVersion: "v1", fieldsType: "FieldsV1", fieldsV1: { f: {} } }
      ]
      J.member(live, "spec").on = false
    }),
    put("editor", (live) => {
      delete J.member(live, "metadata").managedFields
      J.member(live, "spec").name = "two"
    }),
    merge("editor", { metadata: { managedFields: [] } }),
    merge("editor", spec({ name: "three" })),
    apply("a", spec({ name: "three", count: 4 })),
    merge("editor", { metadata: { managedFields: [{}] } }),
    apply("a", spec({ name: "four" })),
    force("a", spec({ name: "four" })),
    merge("editor", { ...spec({ name: "five" }), metadata: { managedFields: [{}] } })
  ],
  "managers own a field that the object does not have": [
    create("creator", spec({ count: 2 })),
    put("editor", (live) => {
      J.member(live, "metadata").managedFields = [
        managed("a", "Apply", { "f:spec": { "f:name": {}, "f:granular": { "f:x": {} } } })
      ]
    }),
    apply("b", spec({ name: "one" })),
    merge("c", spec({ granular: { x: "1" } })),
    apply("a", spec({ name: "two" })),
    apply("a", {})
  ],
  "the server merges the oldest entries when more than ten managers update": [
    create("m0", spec({ granular: { m0: "0" } })),
    ...Array.from({ length: 13 }, (_, index) => merge(`m${index + 1}`, spec({ granular: { [`m${index + 1}`]: "1" } }))),
    merge("m3", spec({ granular: { m3: "2" } })),
    as(Things.v2, merge("n1", spec({ granular: { n1: "1" } }))),
    as(Things.v2, merge("n2", spec({ granular: { n2: "1" } }))),
    as(Things.v2, merge("n3", spec({ granular: { n3: "1" } }))),
    as(Things.v2, merge("n4", spec({ granular: { n4: "1" } })))
  ],
  "managers write two versions": [
    apply("a", spec({ name: "one", granular: { x: "1", y: "2" }, items: [{ name: "x" }] })),
    as(Things.v2, apply("a", spec({ name: "one", granular: { x: "1" } }))),
    apply("b", spec({ name: "two" })),
    as(Things.v2, apply("b", spec({ name: "two" }))),
    as(Things.v2, merge("c", spec({ name: "three", count: 9 }))),
    merge("c", spec({ count: 10 })),
    apply("a", spec({ count: 10 })),
    as(Things.v2, on("status", merge("s", status({ phase: "up" })))),
    on("status", apply("s", status({ phase: "down" }))),
    put("c", (live) => {
      J.member(live, "metadata").managedFields = J.objects(J.at(live, "metadata", "managedFields")).map((entry) => ({
        ...J.copy(entry),
        ...(entry.manager === "a" && { apiVersion: "apply.example.com/v0" })
      }))
    }),
    apply("b", spec({ name: "three" }))
  ],
  "kubectl applies on the server after an apply on the client": [
    create("kubectl-client-side-apply", {
      metadata: {
        annotations: {
          "kubectl.kubernetes.io/last-applied-configuration": JSON.stringify({
            apiVersion: "apply.example.com/v1",
            kind: "Thing",
            metadata: { name: "one", annotations: {} },
            spec: { name: "one", count: 3, tags: ["x"], ratio: 1.5 }
          })
        }
      },
      ...spec({ name: "one", count: 3, tags: ["x"], ratio: 1.5 })
    }),
    apply("other", spec({ name: "two" })),
    apply("kubectl", spec({ name: "two", count: 4, tags: ["y", "<"], open: { b: 1, a: [2] } })),
    merge("editor", spec({ name: "three" })),
    apply("kubectl", spec({ name: "two", count: 4 })),
    apply("kubectl", { metadata: { annotations: { mine: "1" } }, ...spec({ name: "three", count: 5 }) }),
    merge("editor", {
      metadata: { annotations: { "kubectl.kubernetes.io/last-applied-configuration": "{" } },
      ...spec({ count: 6 })
    }),
    apply("kubectl", spec({ name: "three", count: 5 })),
    force("kubectl", spec({ name: "three", count: 5 }))
  ],
  "managers write the scale": [
    apply("a", spec({ name: "one", replicas: 1 })),
    on("scale", merge("scaler", spec({ replicas: 3 }))),
    on("scale", merge("scaler", spec({ replicas: 4 }))),
    on("scale", merge("scaler", spec({ replicas: 4 }))),
    apply("a", spec({ name: "one", replicas: 1 })),
    force("a", spec({ name: "one", replicas: 1 })),
    on("scale", apply("s", spec({ replicas: 5 }))),
    on("scale", force("s", spec({ replicas: 5 }))),
    on("scale", force("s", spec({ replicas: 6 }))),
    merge("editor", spec({ replicas: 7 })),
    on("scale", merge("scaler", spec({ replicas: 0 }))),
    on("scale", merge("scaler", spec({ replicas: 2 })))
  ]
})
