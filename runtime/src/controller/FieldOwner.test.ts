import { describe, expect, test } from "bun:test"
import type { ManagedFieldsEntry } from "../resource/KubernetesObject.ts"
import type { Json } from "./Drift.ts"
import * as FieldOwner from "./FieldOwner.ts"

/** The managed fields of a Deployment in kube-apiserver 1.35. `ours` applies; each other manager does one thing. */
const entries: ReadonlyArray<ManagedFieldsEntry> = [
  {
    manager: "ours",
    operation: "Apply",
    time: "2026-11-21T10:00:00Z",
    fieldsV1: {
      "f:metadata": {
        "f:labels": { "f:app.kubernetes.io/name": {}, "f:app": {} },
        "f:ownerReferences": { 'k:{"uid":"123"}': {} }
      },
      "f:spec": {
        "f:selector": {},
        "f:template": {
          "f:spec": {
            "f:containers": {
              'k:{"name":"app"}': {
                ".": {},
                "f:name": {},
                "f:ports": {
                  'k:{"containerPort":8080,"protocol":"TCP"}': { ".": {}, "f:containerPort": {}, "f:name": {} }
                }
              }
            }
          }
        }
      }
    }
  },
  {
    manager: "kubectl-scale",
    operation: "Update",
    subresource: "scale",
    time: "2026-11-21T10:00:05Z",
    fieldsV1: { "f:spec": { "f:replicas": {} } }
  },
  {
    manager: "rival",
    operation: "Apply",
    time: "2026-11-21T10:00:05Z",
    fieldsV1: {
      "f:metadata": {
        "f:labels": { "f:app.kubernetes.io/name": {} },
        "f:finalizers": { ".": {}, 'v:"example.com/hold"': {} }
      },
      "f:spec": {
        "f:args": { "i:0": {} },
        "f:template": {
          "f:spec": {
            "f:containers": {
              'k:{"name":"app"}': { ".": {}, "f:image": {} },
              'k:{"name":"sidecar"}': { ".": {}, "f:name": {} }
            }
          }
        }
      }
    }
  },
  { manager: "injector", operation: "Update", time: "2026-11-21T09:00:00Z", fieldsV1: { "f:metadata": { ".": {} } } },
  { manager: "empty" }
]

const object: Json = {
  metadata: { labels: { app: "web" }, finalizers: ["example.com/hold", "other"] },
  spec: {
    args: ["--a", "--b"],
    template: {
      spec: {
        containers: [
          { name: "app", image: "web:1", ports: [{ name: "http", containerPort: 8080 }, { containerPort: 9090 }] },
          { name: "sidecar" }
        ]
      }
    }
  }
}

describe("FieldOwner.owners returns the managers of", () => {
  const cases: ReadonlyArray<readonly [path: string, owners: string, without?: "without the object"]> = [
    ["spec.replicas", "kubectl-scale"],
    ["spec.template.spec.containers[app].image", "rival"],
    ["spec.template.spec.containers[app].image", "rival", "without the object"],
    ["spec.template.spec.containers[app].name", "ours"],
    ["spec.template.spec.containers[app]", "ours rival"],
    ["spec.template.spec.containers[sidecar]", "rival"],
    ["spec.template.spec.containers[sidecar]", "rival", "without the object"],
    ["spec.template.spec.containers", "ours rival"],
    // A list item with the keys number and protocol, here selected by its name.
    ["spec.template.spec.containers[app].ports[http].containerPort", "ours"],
    ["spec.template.spec.containers[app].ports[8080].containerPort", "ours", "without the object"],
    ["spec.template.spec.containers[app].ports[9090]", ""],
    // A field below an atomic value.
    ["spec.selector.matchLabels.app", "ours"],
    ["metadata.ownerReferences[123].controller", "ours"],
    // Names with dots, one of which is a prefix of the other.
    ["metadata.labels.app.kubernetes.io/name", "ours rival"],
    ["metadata.labels.app", "ours"],
    ["metadata.labels.app.kubernetes.io/part-of", ""],
    // List items by value and by index.
    ["metadata.finalizers", "rival"],
    ["metadata.finalizers[0]", "rival"],
    ["metadata.finalizers[1]", ""],
    ["spec.args[0]", "rival"],
    ["spec.args[0]", "rival", "without the object"],
    ["spec.args[1]", ""],
    // Fields without an owner.
    ["spec.paused", ""],
    ["metadata.annotations.a", ""],
    ["spec.replicasX", ""]
  ]
  for (const [path, owners, without] of cases) {
    test(`${path}${without === undefined ? "" : `, ${without}`}: ${owners || "nobody"}`, () => {
      const found = FieldOwner.owners(entries, path, without === undefined ? object : undefined)
      expect(found.map(({ manager }) => manager).join(" ")).toBe(owners)
    })
  }
})

test("FieldOwner.owners matches a truncated name in a path", () => {
  const name = "a".repeat(1000)
  const short = `${name.slice(0, 256)}…`
  const fieldsV1 = {
    "f:data": { [`f:${name}`]: {} },
    "f:env": { [`k:{"name":"${name}"}`]: { "f:value": {} } }
  }
  const long = { data: { [name]: "1" }, env: [{ name, value: "1" }] }
  for (const object of [long, undefined]) {
    for (const path of [`data.${short}`, `env[${short}].value`]) {
      expect(FieldOwner.owners([{ manager: "rival", fieldsV1 }], path, object)).toHaveLength(1)
    }
  }
})

test("FieldOwner.lastWriter returns the entry with the latest time, and the last of equal ones", () => {
  expect(FieldOwner.lastWriter(entries)?.manager).toBe("rival")
  expect(FieldOwner.lastWriter([])).toBeUndefined()
})

test("FieldOwner.owners finds an item in nested lists by its indexes", () => {
  const entry = { manager: "rival", fieldsV1: { "f:m": { "i:0": { "i:1": {} } } } }
  const owners = (path: string) => FieldOwner.owners([entry], path, { m: [["a", "b"]] })
  expect(owners("m[0][1]")).toEqual([entry])
  expect(owners("m[0][0]")).toEqual([])
})

describe("FieldOwner.owners finds no owner for a key", () => {
  const owned = (fieldsV1: object, path: string, object?: Json) =>
    FieldOwner.owners([{ manager: "rival", fieldsV1: { ...fieldsV1 } }], path, object).length === 1
  const cases: ReadonlyArray<readonly [what: string, fieldsV1: object, path: string, object: Json | undefined]> = [
    ["with an unknown prefix", { "f:a": { 'x:{"name":"b"}': {} } }, "a[b]", { a: [{ name: "b" }] }],
    ["with an unknown prefix, without the item in the object", { "f:a": { 'x:{"name":"b"}': {} } }, "a[b]", undefined],
    ["of fields, if the item is a value", { "f:a": { 'k:{"name":"b"}': {} } }, "a[0]", { a: ["b"] }],
    ["of a value, if the item has fields", { "f:a": { 'k:"b"': {} } }, "a[b]", { a: [{ name: "b" }] }],
    ["of another name", { "f:a": { 'k:{"name":"c"}': {} } }, "a[b]", undefined],
    ["that is not a field", { "x:a": {} }, "a", undefined]
  ]
  for (const [what, fieldsV1, path, object] of cases) {
    test(what, () => expect(owned(fieldsV1, path, object)).toBe(false))
  }
})

test("FieldOwner.lastWriter treats entries without a time as the oldest", () => {
  const at = (manager: string, time?: string) => ({ manager, ...(time !== undefined && { time }) })
  expect(FieldOwner.lastWriter([at("a", "2026-11-21T10:00:00Z"), at("b")])?.manager).toBe("a")
  expect(FieldOwner.lastWriter([at("b"), at("a", "2026-11-21T10:00:00Z")])?.manager).toBe("a")
})
