/** The route of a WebApp: its URL and its condition. */
import { describe, expect, test } from "bun:test"
import type { Deployment, Ingress } from "@homeostat/runtime/resource/BuiltIn"
import type { HTTPRoute } from "@homeostat/runtime/resource/GatewayKinds"
import type { ObjectMeta } from "@homeostat/runtime/resource/KubernetesObject"
import { type Exposure, findingOf, routeOf, urlOf } from "./Exposure.ts"
import { observe } from "./status.ts"
import type { WebApp } from "./WebApp.ts"

type Expose = typeof Exposure.Type

const meta: ObjectMeta = {
  name: "shop",
  namespace: "sales",
  uid: "u",
  resourceVersion: "1",
  creationTimestamp: "2026-11-20T08:00:00Z",
  generation: 3
}

const app = (expose?: Expose): WebApp => ({
  metadata: meta,
  spec: { image: "nginx:1.27", replicas: 2, port: 8080, ...(expose && { expose }) }
})

const options = { adoptAnnotation: "adopt" }
const host = "shop.example.com"

describe("the URL of a WebApp", () => {
  const cases: ReadonlyArray<readonly [string, Expose | undefined, string | undefined]> = [
    ["is absent without expose", undefined, undefined],
    ["is http without tls", { host }, "http://shop.example.com"],
    ["is https with tls", { host, tls: {} }, "https://shop.example.com"],
    ["has the path", { host, path: "/api", tls: {}, gateway: { name: "public" } }, "https://shop.example.com/api"],
    ["is absent for a wildcard", { host: "*.example.com", tls: {} }, undefined]
  ]
  for (const [name, expose, url] of cases) test(name, () => expect(urlOf(app(expose))).toBe(url))
})

describe("the route of a WebApp", () => {
  const kindOf = (expose?: Expose) => routeOf(app(expose), {}, options)?.kind.kind
  test("is an Ingress, an HTTPRoute with a Gateway, and absent without expose", () => {
    expect([kindOf(), kindOf({ host }), kindOf({ host, gateway: { name: "public" } })]).toEqual([
      undefined,
      "Ingress",
      "HTTPRoute"
    ])
  })
})

describe("RouteReady of an Ingress", () => {
  const of = (expose: Expose, status?: Ingress["status"]) =>
    findingOf(app(expose), { object: { metadata: meta, ...(status && { status }) } })

  test("is True with the addresses that the ingress controller publishes", () => {
    expect(of({ host }, { loadBalancer: { ingress: [{ ip: "192.0.2.1" }, { hostname: "lb.test" }] } })).toEqual({
      status: "True",
      reason: "Published",
      message: "Ingress shop is published at 192.0.2.1, lb.test"
    })
  })

  test("is False without an address, and names the remedy", () => {
    for (const status of [undefined, {}, { loadBalancer: {} }, { loadBalancer: { ingress: [] } }]) {
      expect(of({ host }, status)).toEqual({
        status: "False",
        reason: "NotPublished",
        message:
          "no ingress controller has published an address of Ingress shop (install an ingress controller, and set spec.expose.ingressClass unless its class is the default)"
      })
    }
    expect(of({ host, ingressClass: "nginx" })?.message).toContain("check that IngressClass nginx exists")
  })
})

type Parent = NonNullable<HTTPRoute["status"]>["parents"][number]
type Status = "True" | "False" | "Unknown"

const condition = (type: string, status: Status, observedGeneration: number | undefined, message = "") => ({
  type,
  status,
  reason: status === "True" ? type : `Not${type}`,
  message,
  lastTransitionTime: "2026-11-20T08:00:00Z",
  ...(observedGeneration !== undefined && { observedGeneration })
})

const parent = (
  conditions: ReadonlyArray<ReturnType<typeof condition>>,
  parentRef: Parent["parentRef"] = { name: "public", namespace: "infra" }
): Parent => ({ parentRef, controllerName: "example.net/gateway", conditions })

const accepted = [condition("Accepted", "True", 3), condition("ResolvedRefs", "True", 3)]

describe("RouteReady of an HTTPRoute", () => {
  const gateway = { name: "public", namespace: "infra" }
  const of = (parents: ReadonlyArray<Parent> | undefined, expose: Partial<Expose> = {}) =>
    findingOf(app({ host, gateway, ...expose }), {
      object: { metadata: meta, spec: {}, ...(parents && { status: { parents } }) }
    })

  test("is True when the Gateway accepts the route and resolves its backend", () => {
    expect(of([parent(accepted)])).toEqual({
      status: "True",
      reason: "Accepted",
      message: "Gateway infra/public accepts HTTPRoute shop"
    })
  })

  test("is False while no controller reports on the Gateway, and names the remedy", () => {
    const message =
      "no controller has reported on HTTPRoute shop for Gateway infra/public (check that the Gateway exists, and that its GatewayClass has a controller)"
    const others = [
      { name: "other", namespace: "infra" },
      { name: "public" },
      { name: "public", namespace: "infra", sectionName: "https" },
      { name: "public", namespace: "infra", kind: "Service" },
      { name: "public", namespace: "infra", group: "example.com" }
    ].map((parentRef) => parent(accepted, parentRef))
    for (const parents of [undefined, [], others]) {
      expect(of(parents)).toEqual({ status: "False", reason: "NotReported", message })
    }
  })

  test("finds the report of the Gateway in the namespace of the WebApp, and of the listener", () => {
    const inSales = { gateway: { name: "public" } }
    expect(of([parent(accepted, { name: "public" })], inSales)?.status).toBe("True")
    expect(of([parent(accepted, { name: "public", namespace: "sales" })], inSales)?.status).toBe("True")
    const listener = { gateway: { name: "public", sectionName: "https" } }
    expect(of([parent(accepted, { name: "public", sectionName: "https" })], listener)?.status).toBe("True")
    expect(of([parent(accepted, { name: "public" })], listener)?.status).toBe("False")
  })

  test("has the reason and the message of the condition that is False", () => {
    const refused = condition("Accepted", "False", 3, "the listener has another hostname")
    expect(of([parent([refused, condition("ResolvedRefs", "True", 3)])])).toEqual({
      status: "False",
      reason: "NotAccepted",
      message: "Gateway infra/public does not accept HTTPRoute shop: the listener has another hostname"
    })
    expect(
      of([parent([condition("Accepted", "True", 3), condition("ResolvedRefs", "False", 3, "no Service")])])
    ).toEqual({
      status: "False",
      reason: "NotResolvedRefs",
      message: "Gateway infra/public cannot resolve the backend of HTTPRoute shop: no Service"
    })
  })

  test("is Unknown until both conditions are about the present generation", () => {
    const stale = [
      [condition("Accepted", "True", 2), condition("ResolvedRefs", "True", 3)],
      [condition("Accepted", "True", 3), condition("ResolvedRefs", "False", 2)],
      [condition("Accepted", "True", 3)],
      [condition("Accepted", "Unknown", 3), condition("ResolvedRefs", "True", 3)],
      []
    ]
    for (const conditions of stale) expect(of([parent(conditions)])?.status).toBe("Unknown")
    const undated = [condition("Accepted", "True", undefined), condition("ResolvedRefs", "True", undefined)]
    expect(of([parent(undated)])?.status).toBe("True")
  })

  test("is True if one of several controllers accepts the route", () => {
    expect(of([parent([condition("Accepted", "False", 3)]), parent(accepted)])?.status).toBe("True")
  })
})

describe("RouteReady of a route that the controller cannot apply", () => {
  const problem = (reason: "NotOwned" | "NotServed" | "Forbidden" | "Invalid") =>
    findingOf(app({ host, gateway: { name: "public" } }), { problem: { reason, message: "why" } })

  test("is False and final if only a user can act, and not if the manager retries it", () => {
    expect(problem("NotOwned")).toEqual({ status: "False", reason: "NotOwned", message: "why", stalled: true })
    expect(problem("Invalid")?.stalled).toBe(true)
    expect(problem("Forbidden")?.stalled).toBe(false)
  })

  test("names the CRDs of the Gateway API", () => {
    expect(problem("NotServed")).toMatchObject({
      stalled: true,
      message:
        "the API server does not serve HTTPRoute (install the CRDs of the Gateway API, or remove spec.expose.gateway to get an Ingress)"
    })
  })
})

describe("The status of a WebApp with a route", () => {
  const complete = { observedGeneration: 1, replicas: 2, updatedReplicas: 2, readyReplicas: 2, availableReplicas: 2 }
  const deployment = (status: Deployment["status"]): Deployment => ({
    metadata: { ...meta, generation: 1 },
    spec: { replicas: 2, selector: { matchLabels: { app: "shop" } }, template: {} },
    ...(status && { status })
  })
  const published = { object: { metadata: meta, status: { loadBalancer: { ingress: [{ ip: "192.0.2.1" }] } } } }
  const pending = { object: { metadata: meta } }
  const refused = { problem: { reason: "NotOwned", message: "why" } } as const
  const of = (route: Parameters<typeof observe>[1]["route"], status: Deployment["status"] = complete) => {
    const {
      conditions = [],
      phase,
      url
    } = observe(app({ host }), {
      deployment: { object: deployment(status) },
      service: { object: { metadata: meta } },
      route,
      pods: [],
      scaling: { by: "Spec", replicas: 2, isWanted: false },
      container: "app",
      now: 0
    })
    const shown = conditions.map(({ reason, status, type }) => `${type} ${status} ${reason}`)
    return { phase, url, shown }
  }
  const pods = ["DeploymentReady True AllReplicasReady", "ServiceReady True Available"]

  test("is ready with its route", () => {
    expect(of(published)).toEqual({
      phase: "Running",
      url: "http://shop.example.com",
      shown: ["Ready True AllReplicasReady", ...pods, "RouteReady True Published"]
    })
  })

  test("is not ready before, while its phase speaks of the pods", () => {
    expect(of(pending)).toEqual({
      phase: "Running",
      url: "http://shop.example.com",
      shown: ["Ready False RouteNotReady", ...pods, "RouteReady False NotPublished", "Reconciling True NotPublished"]
    })
    expect(of(pending, { ...complete, readyReplicas: 0, availableReplicas: 0 }).phase).toBe("Pending")
    expect(of(published, { ...complete, readyReplicas: 0, availableReplicas: 0 }).phase).toBe("Pending")
  })

  test("has no URL and is stalled if the route cannot be applied, and its pods are Running", () => {
    expect(of(refused)).toEqual({
      phase: "Running",
      url: undefined,
      shown: ["Ready False NotOwned", ...pods, "RouteReady False NotOwned", "Stalled True NotOwned"]
    })
  })
})
