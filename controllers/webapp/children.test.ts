import { describe, expect, test } from "bun:test"
import type { Deployment } from "@homeostat/runtime/resource/BuiltIn"
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
