import { describe, expect, test } from "bun:test"
import type { Deployment } from "@homeostat/runtime/resource/BuiltIn"
import * as Children from "./children.ts"
import { desiredDeployment, desiredService } from "./children.ts"
import type { WebApp } from "./WebApp.ts"

const metadata = {
  name: "shop",
  namespace: "default",
  uid: "u",
  resourceVersion: "1",
  creationTimestamp: "2026-11-20T08:00:00Z"
}

const app: WebApp = { metadata, spec: { image: "nginx:1.27", replicas: 2, port: 8080 } }

const deployment = (matchLabels: { readonly [label: string]: string }): Deployment => ({
  metadata,
  spec: { selector: { matchLabels }, template: {} }
})

describe("the Service selects", () => {
  for (const [pods, existing, selector] of [
    ["the pods of the Deployment that the WebApp makes", undefined, { app: "shop" }],
    ["the pods of a Deployment with labels of its own", { app: "legacy", tier: "web" }, { app: "legacy", tier: "web" }],
    [
      "by the WebApp's name where the selector of the Deployment leaves that label free",
      { tier: "web" },
      { app: "shop" }
    ],
    [
      "by the WebApp's name where an older controller made the Deployment",
      { app: "shop", "app.kubernetes.io/managed-by": "webapp-operator" },
      { app: "shop" }
    ]
  ] as const) {
    test(pods, () => {
      const found = existing && deployment(existing)
      const { spec } = desiredService(app, found)
      expect(spec?.selector).toEqual(selector)
      const labels = desiredDeployment(app, { existing: found }).spec?.template?.metadata?.labels
      expect(labels).toMatchObject({ ...selector, ...existing })
    })
  }
})

describe("what is applied", () => {
  const labels = { app: "shop", "app.kubernetes.io/managed-by": "webapp-controller" }
  const env = [{ name: "A", value: "1" }]
  const resources = { limits: { cpu: "1" } }
  const container = { name: "app", image: "nginx:1.27", ports: [{ containerPort: 8080, protocol: "TCP" }] }
  const spec = { selector: { matchLabels: labels } }

  test("is a Deployment with the fields that the WebApp has", () => {
    expect(desiredDeployment(app)).toEqual({
      metadata: { name: "shop", labels },
      spec: { ...spec, replicas: 2, template: { metadata: { labels }, spec: { containers: [container] } } }
    })
    const full = { ...app, spec: { ...app.spec, env, resources } }
    expect(desiredDeployment(full).spec?.template?.spec?.containers).toEqual([{ ...container, env, resources }])
  })
  test("leaves the replicas to an autoscaler, and the selector as it is", () => {
    const existing = deployment({ tier: "web" })
    expect(desiredDeployment(app, { existing, scaledByOthers: true }).spec).toEqual({
      selector: { matchLabels: { tier: "web" } },
      template: { metadata: { labels: { ...labels, tier: "web" } }, spec: { containers: [container] } }
    })
  })
  test("is a Service of the same name and port", () =>
    expect(desiredService(app)).toEqual({
      metadata: { name: "shop", labels },
      spec: {
        type: "ClusterIP",
        selector: { app: "shop" },
        ports: [{ port: 8080, targetPort: 8080, protocol: "TCP" }]
      }
    }))
  test("belongs to the controller alone in these fields", () => {
    const within = ["spec", "template", "spec", "containers", { name: "app" }]
    const exclusive: ReadonlyArray<ReadonlyArray<unknown>> = [
      ...Children.exclusiveInDeployment,
      ...Children.exclusiveInService
    ]
    expect(exclusive).toEqual([
      [...within, "ports"],
      [...within, "env"],
      ["spec", "ports"],
      ["spec", "selector"]
    ])
    expect(Children.managers).toEqual(["webapp-controller", "webapp-operator"])
  })
})
