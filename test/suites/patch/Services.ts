/** Patches of a Service and of its ports, whose merge key is `port`. */
import * as Table from "./Table.ts"

const service = {
  collection: "/api/v1/namespaces/NAMESPACE/services",
  object: {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "s" },
    spec: {
      ports: [
        { port: 80, name: "a" },
        { port: 81, name: "b" }
      ],
      selector: { a: "b" }
    }
  }
}

export const tables = [
  ...Table.of(service, "merge", {
    "merge patches replace the ports of a Service": [{ spec: { ports: [{ port: 82 }], selector: null } }]
  }),
  ...Table.of(service, "strategic", {
    "strategic merge patches merge the ports of a Service": [
      { spec: { ports: [{ port: 80, targetPort: 8080 }] } },
      { spec: { ports: [{ port: 82, name: "c" }] } },
      { spec: { ports: [{ port: 81, $patch: "delete" }] } },
      { spec: { ports: [{ name: "a" }] } },
      { spec: { "$setElementOrder/ports": [{ port: 81 }, { port: 80 }] } },
      { spec: { selector: { $patch: "replace", z: "1" } } }
    ]
  })
]
