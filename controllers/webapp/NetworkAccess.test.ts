import { describe, expect, test } from "bun:test"
import * as NetworkAccess from "./NetworkAccess.ts"
import type { WebApp } from "./WebApp.ts"

const metadata = {
  name: "shop",
  namespace: "default",
  uid: "u",
  resourceVersion: "1",
  creationTimestamp: "2026-11-20T08:00:00Z"
}

type Access = NonNullable<WebApp["spec"]["networkPolicy"]>

const app = (networkPolicy?: Access): WebApp => ({
  metadata,
  spec: { image: "nginx:1.27", replicas: 2, port: 80, ...(networkPolicy === undefined ? {} : { networkPolicy }) }
})

const selector = { matchLabels: { app: "shop" } }
const of = (allowFrom: Access["allowFrom"]) =>
  NetworkAccess.desired(app(), { allowFrom }, selector, { a: "b" }, ["m", "n"])

describe("the NetworkPolicy", () => {
  test("allows the port to the clients only", () =>
    expect(of([{ namespace: "web" }, { cidr: "10.0.0.0/8" }])).toEqual({
      metadata: { name: "shop", labels: { a: "b" } },
      spec: {
        podSelector: selector,
        policyTypes: ["Ingress"],
        ingress: [
          {
            from: [
              { namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "web" } } },
              { ipBlock: { cidr: "10.0.0.0/8" } }
            ],
            ports: [{ port: 80, protocol: "TCP" }]
          }
        ]
      }
    }))
  test("has no rule without clients, because an empty rule allows all", () => expect(of([]).spec?.ingress).toEqual([]))

  const pods = {
    matchLabels: { app: "cart" },
    matchExpressions: [{ key: "app.kubernetes.io/managed-by", operator: "In", values: ["m", "n"] }]
  }
  for (const [title, peer, from] of [
    ["a WebApp of the namespace", { webApp: "cart" }, { podSelector: pods }],
    [
      "a WebApp of another namespace",
      { namespace: "web", webApp: "cart" },
      { namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "web" } }, podSelector: pods }
    ],
    ["pods of the namespace", { podLabels: { a: "b" } }, { podSelector: { matchLabels: { a: "b" } } }],
    ["all pods of the namespace", { podLabels: {} }, { podSelector: { matchLabels: {} } }],
    ["all namespaces", { namespaceLabels: {} }, { namespaceSelector: { matchLabels: {} } }],
    [
      "pods of labelled namespaces",
      { namespaceLabels: { team: "a" }, podLabels: { a: "b" } },
      { namespaceSelector: { matchLabels: { team: "a" } }, podSelector: { matchLabels: { a: "b" } } }
    ],
    [
      "addresses without some",
      { cidr: "10.0.0.0/8", except: ["10.1.0.0/16"] },
      { ipBlock: { cidr: "10.0.0.0/8", except: ["10.1.0.0/16"] } }
    ]
  ] as const) {
    test(`allows ${title}`, () => expect(of([peer]).spec?.ingress?.[0]?.from).toEqual([from as object]))
  }
})

describe("the condition NetworkPolicyReady", () => {
  for (const [title, access, problem, text] of [
    ["is absent without the field", undefined, undefined, undefined],
    [
      "says that nobody may connect",
      { allowFrom: [] },
      undefined,
      "True Applied: NetworkPolicy shop refuses all clients"
    ],
    [
      "names the field and the port",
      { allowFrom: [{ webApp: "cart" }] },
      undefined,
      "True Applied: NetworkPolicy shop allows the clients of spec.networkPolicy to connect to port 80"
    ],
    [
      "says why the policy was not applied",
      { allowFrom: [] },
      { reason: "NotOwned", message: "taken" },
      "False NotOwned: taken"
    ]
  ] as const) {
    test(title, () => {
      const condition = NetworkAccess.condition(app(access), problem)
      expect(condition && `${condition.status} ${condition.reason}: ${condition.message}`).toBe(text)
    })
  }
})
