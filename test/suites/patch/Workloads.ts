/** Patches of Deployments and Pods: lists with merge keys, sets, directives. */
import type { Json, JsonObject } from "@homeostat/apiserver/model/Json"
import * as Table from "./Table.ts"

const template = (spec: JsonObject): JsonObject => ({ spec: { template: { spec } } })
const containers = (...items: ReadonlyArray<Json>): JsonObject => template({ containers: items })
const list = "/spec/template/spec/containers"
const args = `${list}/0/args`

const deployment = {
  collection: "/apis/apps/v1/namespaces/NAMESPACE/deployments",
  object: {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "d", labels: { l: "1" }, annotations: { x: "y" }, finalizers: ["ex.com/a", "ex.com/b"] },
    spec: {
      selector: { matchLabels: { a: "b" } },
      template: {
        metadata: { labels: { a: "b" } },
        spec: {
          containers: [
            {
              name: "c",
              image: "i",
              args: ["1", "2"],
              ports: [{ containerPort: 80, name: "http" }, { containerPort: 81 }],
              env: ["A", "B", "C"].map((name) => ({ name, value: name })),
              volumeMounts: [{ name: "v", mountPath: "/v" }],
              resources: { limits: { cpu: "1", memory: "1Gi" } }
            },
            { name: "d", image: "j" },
            { name: "e", image: "k" }
          ],
          volumes: [
            { name: "v", emptyDir: {} },
            { name: "w", configMap: { name: "p" } }
          ],
          tolerations: [{ key: "a", operator: "Exists" }],
          imagePullSecrets: [{ name: "s" }],
          hostAliases: [{ ip: "1.2.3.4", hostnames: ["a"] }],
          nodeSelector: { n: "1" }
        }
      }
    }
  }
}

export const tables = [
  ...Table.of(deployment, "json", {
    "JSON patches change items of lists": [
      ...["/-", "/0", "/2", "/3", "/-1", "/-4", "/x", "/+1"].map((index) => [
        { op: "add", path: args + index, value: "9" }
      ]),
      ...["/0", "/-1", "/2", "/-"].map((index) => [{ op: "remove", path: args + index }]),
      ...["/1", "/-1", "/2"].map((index) => [{ op: "replace", path: args + index, value: "9" }]),
      [{ op: "move", from: `${args}/0`, path: `${args}/1` }],
      [
        { op: "copy", from: `${list}/1`, path: `${list}/-` },
        { op: "replace", path: `${list}/3/name`, value: "z" }
      ],
      [{ op: "test", path: args, value: ["1", "2"] }],
      [{ op: "test", path: args, value: ["2", "1"] }],
      [{ op: "replace", path: "/spec/replicas", value: "3" }],
      [{ op: "remove", path: "/metadata/finalizers/0" }]
    ]
  }),
  ...Table.of(deployment, "merge", {
    "merge patches replace lists": [
      containers({ name: "c", image: "x" }),
      template({
        volumes: [{ name: "v", emptyDir: null, configMap: { name: "p" } }],
        containers: [{ name: "c", image: "i", env: null }]
      }),
      { spec: { replicas: null } },
      { spec: { strategy: { type: "Recreate", rollingUpdate: null } } }
    ]
  }),
  ...Table.of(deployment, "strategic", {
    "strategic merge patches are objects of the kind": [null, [], {}, { kind: "Foo" }, { spec: { $patch: "merge" } }],
    "strategic merge patches merge lists by key": [
      containers({ name: "c", image: "new" }),
      containers({ name: "z", image: "new" }),
      containers({ name: "d", image: "n" }, { name: "c", image: "x" }, { name: "z", image: "y" }),
      containers({ image: "x" }),
      containers("c"),
      containers(["c"]),
      containers({ name: "c", image: 5 }),
      containers({
        name: "c",
        env: [
          { name: "B", value: "9" },
          { name: "D", value: "4" }
        ]
      }),
      containers({
        name: "c",
        env: [{ name: "A", value: null, valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }]
      }),
      containers({ name: "c", args: ["z"], ports: [{ containerPort: 81, name: "x" }] }),
      containers({ name: "c", resources: { limits: { cpu: null } } }),
      template({ volumes: [{ name: "v", emptyDir: null, secret: { secretName: "s" } }] }),
      template({ tolerations: [{ key: "b", operator: "Exists" }], nodeSelector: { m: "2", n: null } }),
      template({ imagePullSecrets: [{ name: "t" }], hostAliases: [{ ip: "1.2.3.5", hostnames: ["b"] }] })
    ],
    "strategic merge patches delete and replace items by $patch": [
      containers({ name: "d", $patch: "delete" }),
      containers({ $patch: "delete" }),
      containers({ name: "q", image: "x" }, { $patch: "replace" }, { name: "c", $patch: "delete" }),
      containers({ name: "c", $patch: "merge" }),
      containers({ name: "c", $patch: "grow" }),
      containers({ name: "c", env: [{ name: "A", $patch: "delete" }] }),
      containers({ name: "c", ports: [{ containerPort: 80, $patch: "delete" }] }),
      containers({ name: "c", resources: { $patch: "replace", requests: { cpu: "1" } } }),
      template({
        initContainers: [
          { name: "i", image: "x" },
          { name: "j", image: "y", $patch: "delete" }
        ]
      })
    ],
    "strategic merge patches order items by $setElementOrder": [
      containers({
        name: "c",
        "$setElementOrder/env": [{ name: "C" }, { name: "A" }],
        env: [{ name: "C", value: "x" }]
      }),
      containers({
        name: "new",
        image: "x",
        "$setElementOrder/env": [{ name: "A" }],
        env: [{ name: "A", value: null }]
      }),
      template({ "$setElementOrder/containers": [{ name: "e" }, { name: "c" }] }),
      template({
        "$setElementOrder/containers": [{ name: "e" }, { name: "z" }, { name: "c" }],
        containers: [
          { name: "z", image: "1" },
          { name: "c", image: "2" }
        ]
      }),
      template({
        "$setElementOrder/containers": [{ name: "c" }],
        containers: [
          { $patch: "delete", name: "d" },
          { $patch: "delete", name: "e" }
        ]
      }),
      template({ "$setElementOrder/containers": [{ name: "x" }], containers: [{ name: "c", image: "j" }] }),
      template({ "$setElementOrder/containers": "x" }),
      template({ "$setElementOrder/initContainers": [], initContainers: [] }),
      template({ $setElementOrder: [] }),
      template({ $deleteFromPrimitiveListx: [] })
    ],
    "strategic merge patches merge finalizers": [
      { metadata: { finalizers: ["ex.com/c", "ex.com/a"] } },
      { metadata: { finalizers: ["ex.com/c", "ex.com/c", "ex.com/b"] } },
      { metadata: { finalizers: null } },
      { metadata: { "$setElementOrder/finalizers": ["ex.com/c", "ex.com/b"], finalizers: ["ex.com/c"] } },
      {
        metadata: { "$setElementOrder/finalizers": ["ex.com/b"], "$deleteFromPrimitiveList/finalizers": ["ex.com/a"] }
      },
      { metadata: { "$deleteFromPrimitiveList/finalizers": "ex.com/a" } }
    ],
    "strategic merge patches merge maps": [
      { metadata: { labels: { l: null, m: "2" }, annotations: { $patch: "replace", z: "1" } } },
      { metadata: { labels: { $patch: "delete" } } },
      { metadata: { labels: { l: { b: 1 } } } },
      {
        spec: {
          template: { metadata: { annotations: { "kubectl.kubernetes.io/restartedAt": "2026-01-01T00:00:00Z" } } }
        }
      }
    ],
    "strategic merge patches keep only the members that $retainKeys names": [
      template({ volumes: [{ name: "v", $retainKeys: ["name", "secret"], secret: { secretName: "s" } }] }),
      { spec: { strategy: { $retainKeys: ["type"], type: "Recreate" } } },
      { spec: { strategy: { $retainKeys: ["type"], rollingUpdate: { maxSurge: 1 } } } },
      { spec: { strategy: { $retainKeys: "type" } } }
    ],
    "strategic merge patches have values of the type of the field": [
      { spec: { strategy: { rollingUpdate: { maxSurge: true } } } },
      { spec: { replicas: "x" } },
      { spec: { replicas: 1.5 } },
      { spec: { replicas: 3_000_000_000 } },
      { spec: { selector: "x" } }
    ]
  }),
  ...Table.of(
    {
      collection: "/api/v1/namespaces/NAMESPACE/pods",
      object: {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "p" },
        spec: { containers: [{ name: "c", image: "i" }] }
      }
    },
    "strategic",
    {
      "strategic merge patches change few fields of a Pod": [
        { metadata: { labels: { a: "b" } } },
        { spec: { containers: [{ name: "c", image: "x" }] } },
        { spec: { activeDeadlineSeconds: 5 } }
      ]
    }
  )
]
