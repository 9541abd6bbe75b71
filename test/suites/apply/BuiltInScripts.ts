/** Writes of built-in kinds, as kubectl and controllers send them. */
import type { JsonObject } from "@homeostat/apiserver/model/Json"
import * as J from "@homeostat/apiserver/model/Json"
import { apply, create, force, type Kind, merge, of, on, put, spec, status } from "./Script.ts"

const deployments: Kind = { apiVersion: "apps/v1", kind: "Deployment", plural: "deployments" }
const services: Kind = { apiVersion: "v1", kind: "Service", plural: "services" }
const configMaps: Kind = { apiVersion: "v1", kind: "ConfigMap", plural: "configmaps" }

const labels = { app: "x" }
const container = { name: "c", image: "i:1" }
const deployment = (replicas: number, ...containers: ReadonlyArray<JsonObject>): JsonObject =>
  spec({
    replicas,
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers } }
  })

export const scripts = [
  ...of(deployments, {
    "managers create, patch and apply a Deployment": [
      create(
        "creator",
        deployment(1, { ...container, ports: [{ containerPort: 80 }], env: [{ name: "A", value: "1" }] })
      ),
      merge("editor", { metadata: { labels, annotations: { a: "b" } }, ...spec({ replicas: 2 }) }),
      apply("a", deployment(3, container)),
      force(
        "a",
        deployment(3, { ...container, env: [{ name: "B", value: "2" }], resources: { limits: { cpu: "500m" } } })
      ),
      apply(
        "a",
        deployment(3, { ...container, env: [{ name: "B", value: "2" }], resources: { limits: { cpu: "0.5" } } })
      ),
      apply("a", deployment(3, { ...container, env: [{ name: "C", value: "2" }] })),
      apply(
        "b",
        spec({
          template: {
            spec: {
              containers: [
                {
                  name: "c",
                  ports: [
                    { containerPort: 80, name: "web" },
                    { containerPort: 80, protocol: "UDP" }
                  ]
                },
                { name: "d", image: "i:2" }
              ]
            }
          }
        })
      ),
      apply(
        "b",
        spec({ template: { spec: { containers: [{ name: "c", ports: [{ containerPort: 80, name: "web" }] }] } } })
      ),
      apply(
        "b",
        spec({
          template: {
            spec: {
              nodeSelector: { a: "b" },
              tolerations: [{ key: "k", operator: "Exists" }],
              volumes: [{ name: "v", emptyDir: {} }]
            }
          },
          strategy: { rollingUpdate: { maxSurge: 1 } }
        })
      ),
      apply(
        "c",
        spec({ template: { spec: { nodeSelector: { c: "d" }, tolerations: [{ key: "l", operator: "Exists" }] } } })
      ),
      apply("b", {}),
      on(
        "status",
        merge(
          "controller",
          status({ replicas: 2, updatedReplicas: 2, conditions: [{ type: "Available", status: "True" }] })
        )
      ),
      on(
        "status",
        apply(
          "s",
          status({ observedGeneration: 3, conditions: [{ type: "Progressing", status: "True", reason: "x" }] })
        )
      ),
      put("editor", (live) => {
        J.member(J.member(live, "spec"), "template").spec = { containers: [{ name: "e", image: "i:3" }] }
      }),
      apply("a", spec({ replicas: "x", template: { spec: { containers: [{ name: 1 }] } } })),
      apply("a", spec({ template: { spec: { containers: [{ image: "x" }] } } })),
      apply("a", spec({ unknown: 1 }))
    ],
    "managers only apply a Deployment": [
      apply("a", deployment(1, container)),
      apply("b", deployment(1, container)),
      apply("a", deployment(1, container)),
      apply("b", deployment(2, { ...container, image: "i:2" })),
      apply("b", spec({})),
      apply("a", spec({ replicas: null }))
    ],
    "managers scale a Deployment": [
      create("creator", deployment(1, container)),
      on("scale", merge("scaler", spec({ replicas: 3 }))),
      on("scale", merge("creator", spec({ replicas: 4 }))),
      on("scale", apply("a", spec({ replicas: 5 }))),
      on("scale", force("a", spec({ replicas: 5 }))),
      apply("a", deployment(6, container)),
      force("a", deployment(6, container)),
      on("scale", merge("scaler", spec({ replicas: 0 }))),
      on("scale", merge("scaler", spec({ replicas: 1 })))
    ]
  }),
  ...of(services, {
    "managers apply and patch a Service": [
      apply("a", spec({ selector: labels, ports: [{ port: 80, name: "http" }] })),
      apply("b", spec({ ports: [{ port: 443, name: "https" }] })),
      apply("a", spec({ selector: labels, ports: [{ port: 80, name: "http", targetPort: 8080 }] })),
      merge(
        "editor",
        spec({
          selector: { app: "y" },
          ports: [
            { port: 80, name: "http" },
            { port: 53, protocol: "UDP", name: "dns" }
          ]
        })
      ),
      apply("a", spec({ selector: labels, ports: [{ port: 80, name: "http" }] })),
      force("a", spec({ selector: labels, ports: [{ port: 80, name: "http" }] })),
      apply(
        "b",
        spec({
          ports: [
            { port: 443, name: "https" },
            { port: 443, protocol: "TCP" }
          ]
        })
      )
    ],
    "managers create, replace and apply a Service": [
      create("creator", spec({ selector: labels, ports: [{ port: 80 }] })),
      put("editor", (live) => {
        const inner = J.member(live, "spec")
        inner.sessionAffinity = "ClientIP"
      }),
      apply("a", spec({ ports: [{ port: 80, name: "x" }] })),
      on("status", merge("lb", status({ loadBalancer: { ingress: [{ ip: "10.1.2.3" }] } })))
    ]
  }),
  ...of(configMaps, {
    "managers write a ConfigMap": [
      create("creator", { data: { a: "1", b: "2" } }),
      apply("a", { data: { a: "1", c: "3" } }),
      apply("a", { data: { c: "4" }, immutable: false }),
      merge("creator", { data: { a: null, c: "5" } }),
      apply("a", { data: { c: "4" } }),
      put("editor", (live) => {
        delete live.data
      }),
      apply("a", { data: {} }),
      merge("editor", { metadata: { managedFields: [] } }),
      merge("editor", { data: { d: "1" } }),
      apply("a", { data: { e: "1" } }),
      merge("editor", { metadata: { managedFields: [{}] } }),
      put("editor", (live) => {
        J.member(live, "metadata").managedFields = []
        live.data = { f: "1" }
      }),
      apply("a", { data: { a: 1, b: null } }),
      apply("a", { nothing: {} })
    ]
  })
]
