/** The route of a WebApp: its HTTPRoute or Ingress, and what the status says of it. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import { Ingress } from "@homeostat/runtime/resource/BuiltIn"
import { HTTPRoute } from "@homeostat/runtime/resource/GatewayKinds"
import type { KubernetesObject } from "@homeostat/runtime/resource/KubernetesObject"
import type * as Resource from "@homeostat/runtime/resource/Resource"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"
import * as GatewayApi from "./GatewayApi.ts"
import * as Scene from "./Scene.ts"

const image = "registry.test/web:1"
const host = "shop.example.com"
const gateway = { name: "public", namespace: "infra" }

const expose = ({ key }: Scene.Scene, name: string, expose: object | null) =>
  Client.patch(WebApp, key(name), Patch.merge({ spec: { expose } }))

/** Waits until the condition has the reason for the present generation, and returns the WebApp. */
const reported = (scene: Scene.Scene, name: string, type: string, reason: string | undefined) =>
  Managed.eventually(
    `${type} of ${name} has the reason ${reason}`,
    Scene.app(scene, name),
    (app) => app.status?.observedGeneration === app.metadata.generation && Scene.condition(app, type)?.reason === reason
  )

const exists = <A extends KubernetesObject>({ key }: Scene.Scene, kind: Resource.Resource<A, never>, name: string) =>
  Managed.eventually(`there is ${kind.kind} ${name}`, Client.get(kind, key(name)), () => true)

const gone = <A extends KubernetesObject>({ key }: Scene.Scene, kind: Resource.Resource<A, never>, name: string) =>
  Managed.eventually(
    `there is no ${kind.kind} ${name}`,
    Effect.catch(Client.get(kind, key(name)), Effect.succeed),
    (answer) => "_tag" in answer && answer._tag === "NotFound"
  )

const publish = ({ key }: Scene.Scene, name: string, ip: string) =>
  Client.status.patch(Ingress, key(name), Patch.merge({ status: { loadBalancer: { ingress: [{ ip }] } } }))

const accepts = {
  Accepted: ["True", "Accepted", "Route is accepted"],
  ResolvedRefs: ["True", "ResolvedRefs", "All references are resolved"]
} as const

describe("A WebApp with a Gateway", () => {
  Scene.empty("names the CRDs that the cluster lacks, and gets its HTTPRoute when they are installed", (scene) =>
    Effect.gen(function* () {
      yield* GatewayApi.uninstall
      yield* scene.manage()
      yield* Scene.create(scene, "shop", { image, expose: { host, tls: {}, gateway } })
      yield* Scene.running(scene, "shop")
      const app = yield* reported(scene, "shop", "RouteReady", "NotServed")
      expect(app.status).toMatchObject({ phase: "Running", readyReplicas: 2 })
      expect(app.status?.url).toBeUndefined()
      for (const type of ["Ready", "Stalled"]) {
        expect(Scene.condition(app, type)).toMatchObject({ reason: "NotServed" })
        expect(Scene.condition(app, type)?.message).toContain("install the CRDs of the Gateway API")
      }
      yield* GatewayApi.install
      yield* exists(scene, HTTPRoute, "shop")
      const routed = yield* reported(scene, "shop", "RouteReady", "NotReported")
      expect(routed.status?.url).toBe("https://shop.example.com")
      expect(Scene.condition(routed, "Stalled")).toBeUndefined()
    })
  )

  Scene.managed("is ready when the Gateway accepts its HTTPRoute, and otherwise reports the reason", (scene) =>
    Effect.gen(function* () {
      yield* GatewayApi.install
      yield* Scene.create(scene, "shop", { image, port: 3000, expose: { host, path: "/api", gateway } })
      const route = yield* exists(scene, HTTPRoute, "shop")
      expect(route.spec).toEqual({
        parentRefs: [{ group: "gateway.networking.k8s.io", kind: "Gateway", ...gateway }],
        hostnames: [host],
        rules: [
          {
            matches: [{ path: { type: "PathPrefix", value: "/api" } }],
            backendRefs: [{ group: "", kind: "Service", name: "shop", port: 3000, weight: 1 }]
          }
        ]
      })
      const running = yield* Scene.running(scene, "shop")
      expect(Scene.condition(running, "Ready")).toMatchObject({ status: "False", reason: "RouteNotReady" })
      expect(Scene.condition(running, "Reconciling")?.status).toBe("True")
      expect(running.status?.url).toBe("http://shop.example.com/api")

      const refused = ["False", "NoMatchingListenerHostname", "No listener has this hostname"] as const
      yield* GatewayApi.report(scene.key("shop"), { ...accepts, Accepted: refused })
      const app = yield* reported(scene, "shop", "RouteReady", "NoMatchingListenerHostname")
      expect(Scene.condition(app, "Ready")?.message).toBe(
        "Gateway infra/public does not accept HTTPRoute shop: No listener has this hostname"
      )
      yield* GatewayApi.report(scene.key("shop"), accepts)
      yield* reported(scene, "shop", "RouteReady", "Accepted")
      const ready = yield* reported(scene, "shop", "Ready", "AllReplicasReady")
      expect(Scene.condition(ready, "Reconciling")).toBeUndefined()

      yield* expose(scene, "shop", { path: "/v2" })
      const changed = yield* reported(scene, "shop", "RouteReady", "NotReported")
      expect(Scene.condition(changed, "Ready")?.status).toBe("Unknown")
      expect(changed.status?.phase).toBe("Running")
    })
  )

  Scene.managed("had an Ingress before, which stays until the HTTPRoute exists", (scene) =>
    Effect.gen(function* () {
      yield* GatewayApi.install
      const ingresses = yield* Scene.record(scene, Ingress)
      const routes = yield* Scene.record(scene, HTTPRoute)
      yield* Scene.launch(scene, "shop", { image, expose: { host } })
      yield* exists(scene, Ingress, "shop")
      yield* expose(scene, "shop", { gateway })
      yield* gone(scene, Ingress, "shop")
      const deletion = yield* Managed.eventually(
        "the watch delivers the deletion of the Ingress",
        Effect.sync(() => ingresses().find(({ deleted }) => deleted)),
        (seen) => seen !== undefined
      )
      const creation = yield* Managed.eventually(
        "the watch delivers the HTTPRoute",
        Effect.sync(() => routes()[0]),
        (seen) => seen !== undefined
      )
      expect(creation?.at).toBeLessThan(deletion?.at ?? 0n)
      yield* expose(scene, "shop", { gateway: null })
      yield* exists(scene, Ingress, "shop")
      yield* gone(scene, HTTPRoute, "shop")
    })
  )

  Scene.managed("loses HTTPRoute, URL and condition without expose", (scene) =>
    Effect.gen(function* () {
      yield* GatewayApi.install
      yield* Scene.launch(scene, "shop", { image, expose: { host, gateway } })
      yield* exists(scene, HTTPRoute, "shop")
      yield* expose(scene, "shop", null)
      yield* gone(scene, HTTPRoute, "shop")
      const app = yield* reported(scene, "shop", "Ready", "AllReplicasReady")
      expect(app.status?.url).toBeUndefined()
      expect(Scene.condition(app, "RouteReady")).toBeUndefined()
    })
  )

  Scene.managed("is not written again without a change", (scene) =>
    Effect.gen(function* () {
      yield* GatewayApi.install
      yield* Scene.launch(scene, "shop", { image, expose: { host, gateway } })
      yield* exists(scene, HTTPRoute, "shop")
      yield* GatewayApi.report(scene.key("shop"), accepts)
      yield* reported(scene, "shop", "Ready", "AllReplicasReady")
      yield* Scene.rest(scene)
      const before = yield* Client.get(HTTPRoute, scene.key("shop"))
      yield* Client.patch(WebApp, scene.key("shop"), Patch.merge({ metadata: { annotations: { round: "1" } } }))
      yield* Scene.rest(scene)
      expect((yield* Client.get(HTTPRoute, scene.key("shop"))).metadata.resourceVersion).toBe(
        before.metadata.resourceVersion
      )
    })
  )
})

describe("A WebApp with an Ingress", () => {
  Scene.managed("is ready when the ingress controller publishes an address", (scene) =>
    Effect.gen(function* () {
      const tls = { clusterIssuer: "letsencrypt" }
      yield* Scene.create(scene, "shop", { image, port: 3000, expose: { host, ingressClass: "nginx", tls } })
      const { metadata, spec } = yield* exists(scene, Ingress, "shop")
      expect(metadata.annotations).toMatchObject({ "cert-manager.io/cluster-issuer": "letsencrypt" })
      expect(spec).toEqual({
        ingressClassName: "nginx",
        tls: [{ hosts: [host], secretName: "shop-tls" }],
        rules: [
          {
            host,
            http: {
              paths: [{ path: "/", pathType: "Prefix", backend: { service: { name: "shop", port: { number: 3000 } } } }]
            }
          }
        ]
      })
      const running = yield* Scene.running(scene, "shop")
      expect(Scene.condition(running, "Ready")).toMatchObject({ status: "False", reason: "RouteNotReady" })
      expect(Scene.condition(running, "Ready")?.message).toContain("check that IngressClass nginx exists")
      yield* publish(scene, "shop", "192.0.2.1")
      const ready = yield* reported(scene, "shop", "Ready", "AllReplicasReady")
      expect(Scene.condition(ready, "RouteReady")?.message).toBe("Ingress shop is published at 192.0.2.1")
      expect(ready.status?.url).toBe("https://shop.example.com")

      yield* expose(scene, "shop", { tls: { clusterIssuer: null, issuer: "own", secretName: "cert" } })
      const changed = yield* Managed.eventually(
        "the Ingress has the other issuer",
        Client.get(Ingress, scene.key("shop")),
        ({ metadata }) => metadata.annotations?.["cert-manager.io/issuer"] === "own"
      )
      expect(changed.metadata.annotations).not.toHaveProperty("cert-manager.io/cluster-issuer")
      expect(changed.spec?.tls).toEqual([{ hosts: [host], secretName: "cert" }])
      yield* expose(scene, "shop", { tls: null })
      yield* Managed.eventually(
        "the Ingress has no TLS",
        Client.get(Ingress, scene.key("shop")),
        ({ spec }) => spec?.tls === undefined
      )
    })
  )

  Scene.managed("leaves the Ingress of another owner alone, and gets its own after the deletion of that one", (scene) =>
    Effect.gen(function* () {
      const defaultBackend = { service: { name: "other", port: { number: 1 } } }
      const foreign = yield* Client.create(Ingress, {
        metadata: { namespace: scene.namespace, name: "shop" },
        spec: { defaultBackend }
      })
      yield* Scene.launch(scene, "shop", { image, expose: { host } })
      const app = yield* reported(scene, "shop", "RouteReady", "NotOwned")
      expect(app.status).toMatchObject({ phase: "Running" })
      expect(app.status?.url).toBeUndefined()
      expect(Scene.condition(app, "Stalled")?.reason).toBe("NotOwned")
      expect((yield* Client.get(Ingress, scene.key("shop"))).metadata.resourceVersion).toBe(
        foreign.metadata.resourceVersion
      )
      yield* expose(scene, "shop", null)
      yield* reported(scene, "shop", "Ready", "AllReplicasReady")
      expect((yield* Client.get(Ingress, scene.key("shop"))).metadata.uid).toBe(foreign.metadata.uid)
      yield* expose(scene, "shop", { host })
      yield* reported(scene, "shop", "RouteReady", "NotOwned")
      yield* Client.delete(Ingress, scene.key("shop"))
      yield* reported(scene, "shop", "RouteReady", "NotPublished")
    })
  )
})

describe("The field expose", () => {
  const cases: ReadonlyArray<readonly [expose: object, message: string]> = [
    [{ host: "Shop.example.com" }, "must be a DNS name"],
    [{ host: "shop.example.com:8080" }, "must be a DNS name"],
    [{ host: "192.0.2.1" }, "must be a DNS name"],
    [{ host: "a.*.example.com" }, "must be a DNS name"],
    [{ host: `${"a".repeat(64)}.example.com` }, "must be a DNS name"],
    [{ host: "" }, "must be a DNS name"],
    [{ host, path: "api" }, "must begin with /"],
    [{ host, path: "/a b" }, "must begin with /"],
    [{ host, path: "/a//b" }, "must be without //"],
    [{ host, path: "/a/../b" }, "must be without //"],
    [{ host, path: "/a/." }, "must be without //"],
    [{ host, path: "/a%2fb" }, "must be without //"],
    [{ host, gateway, ingressClass: "nginx" }, "set either gateway or ingressClass"],
    [{ host, tls: { issuer: "a", clusterIssuer: "b" } }, "set either issuer or clusterIssuer"],
    [{ host, gateway, tls: { issuer: "a" } }, "with gateway, set tls: {} without a certificate"],
    [{ host, gateway, tls: { secretName: "a" } }, "with gateway, set tls: {} without a certificate"]
  ]
  const accepted: ReadonlyArray<object> = [
    { host: "localhost" },
    { host: "*.example.com", path: "/a.b/c%20d/~e", tls: {} },
    { host, path: "/..a/.b" },
    { host, gateway, tls: {} }
  ]

  Scene.empty(
    "accepts the values that an Ingress and an HTTPRoute accept, and reports the invalid field otherwise",
    (scene) =>
      Effect.gen(function* () {
        const ask = (expose: object) =>
          Effect.map(
            scene.cluster.request("POST", `/apis/apps.kubedojo.io/v1beta1/namespaces/${scene.namespace}/webapps`, {
              body: {
                apiVersion: "apps.kubedojo.io/v1beta1",
                kind: "WebApp",
                metadata: { generateName: "shop-" },
                spec: { image, expose }
              }
            }),
            ({ body, status }) => [status, body] as const
          )
        for (const [wrong, message] of cases) {
          expect([wrong, ...(yield* ask(wrong))]).toEqual([wrong, 422, expect.stringContaining(message)])
        }
        for (const right of accepted) expect([right, (yield* ask(right))[0]]).toEqual([right, 201])
      })
  )
})
