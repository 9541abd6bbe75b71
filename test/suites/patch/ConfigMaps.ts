/** Patches of a ConfigMap, most of them malformed or forbidden. */
import * as Table from "./Table.ts"

const configMap = {
  collection: "/api/v1/namespaces/NAMESPACE/configmaps",
  object: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "c" }, data: { a: "b" } }
}

export const tables = [
  ...Table.of(configMap, "json", {
    "JSON patches are lists of operations": [
      null,
      {},
      "x",
      [1],
      [null],
      [{}],
      [{ op: 1, path: "/a" }],
      [{ op: "grow", path: "/data" }],
      Array.from({ length: 10_001 }, () => ({ op: "test", path: "/kind", value: "ConfigMap" }))
    ],
    "JSON patches name members by pointers": [
      [{ op: "add", path: 5, value: 1 }],
      [{ op: "add", path: "/data/z" }],
      [{ op: "add", path: "data/z", value: "1" }],
      [{ op: "add", path: "/data/a/b", value: "1" }],
      [{ op: "add", path: "/metadata/labels/x", value: "1" }],
      [{ op: "replace", path: "/data/zz", value: "q" }],
      [{ op: "remove", path: "/data/zz" }],
      [{ op: "test", path: "/data/zz", value: null }],
      [{ op: "test", path: "/data/a", value: "x" }],
      [{ op: "copy", from: "/data/zz", path: "/data/y" }],
      [{ op: "move", from: "/data/zz", path: "/data/y" }]
    ],
    "JSON patches keep the kind of an object": [
      [{ op: "add", path: "", value: {} }],
      [{ op: "replace", path: "", value: [] }],
      [{ op: "replace", path: "", value: 1 }],
      [{ op: "replace", path: "/kind", value: 5 }],
      [{ op: "replace", path: "/kind", value: "Foo" }],
      [{ op: "remove", path: "/kind" }]
    ]
  }),
  ...Table.of(configMap, "merge", {
    "merge patches are objects of the kind": [
      null,
      [],
      1,
      {},
      { data: { a: null, n: null } },
      { data: null },
      { data: [1] },
      { data: { a: { b: null } } },
      { apiVersion: "v2" },
      { apiVersion: "apps/v1", kind: "Deployment" },
      { metadata: { creationTimestamp: "bad" } }
    ]
  }),
  ...Table.of(configMap, "strategic", {
    "strategic merge patches change data": [
      { data: { a: null } },
      { data: { $patch: "replace", q: "r" } },
      { data: null },
      { data: [1] },
      { data: { x: 1 } },
      { binaryData: { x: "!" } },
      { immutable: "x" },
      { metadata: { finalizers: ["ex.com/z"] } }
    ]
  })
]
