/** Tests of the NetworkPolicy of a WebApp, and of the spread of its pods. No network plugin runs here, so no test connects. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import { NetworkPolicy } from "@homeostat/runtime/resource/BuiltIn"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect, Result } from "effect"
import * as Managed from "../Managed.ts"
import * as ByHand from "./ByHand.ts"
import * as Scene from "./Scene.ts"

const image = "registry.test/web:1"
const selector = { matchLabels: { app: "shop", "app.kubernetes.io/managed-by": "webapp-controller" } }
const podsOf = (name: string) => ({
  matchLabels: { app: name },
  matchExpressions: [
    { key: "app.kubernetes.io/managed-by", operator: "In", values: ["webapp-controller", "webapp-operator"] }
  ]
})

const policy = ({ key }: Scene.Scene) => Client.get(NetworkPolicy, key("shop"))
const change = ({ key }: Scene.Scene, spec: object) => Client.patch(WebApp, key("shop"), Patch.merge({ spec }))

/** Waits until the policy allows this number of clients, and returns its spec. */
const allowing = (scene: Scene.Scene, clients: number) =>
  Effect.map(
    Managed.eventually(
      `${clients} clients`,
      policy(scene),
      ({ spec }) => (spec?.ingress?.[0]?.from ?? []).length === clients
    ),
    ({ spec }) => spec
  )

const refused = (scene: Scene.Scene, allowFrom: ReadonlyArray<object>) =>
  Effect.map(
    Effect.result(
      Client.patch(WebApp, scene.key("shop"), Patch.merge({ spec: { networkPolicy: { allowFrom } } }), { dryRun: true })
    ),
    Result.match({ onFailure: (error) => error.message, onSuccess: () => "accepted" })
  )

describe.concurrent("spec.networkPolicy", () => {
  Scene.managed("is written once, also with clients without labels and without exceptions", (scene) =>
    Effect.gen(function* () {
      const allowFrom = [
        { namespaceLabels: {} },
        { podLabels: {} },
        { namespace: "a", podLabels: {} },
        { cidr: "10.0.0.0/8", except: [] }
      ]
      yield* Scene.launch(scene, "shop", { image, networkPolicy: { allowFrom } })
      expect((yield* allowing(scene, 4))?.ingress?.[0]?.from).toEqual([
        { namespaceSelector: {} },
        { podSelector: {} },
        { namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "a" } }, podSelector: {} },
        { ipBlock: { cidr: "10.0.0.0/8" } }
      ])
      const { metadata } = yield* policy(scene)
      yield* Effect.sleep("1 second")
      yield* Scene.settled(scene, "shop")
      expect((yield* policy(scene)).metadata.resourceVersion).toBe(metadata.resourceVersion)
    })
  )

  Scene.managed("allows the port to its clients, and goes with the field", (scene) =>
    Effect.gen(function* () {
      const allowFrom = [
        { namespace: "ingress-nginx" },
        { webApp: "cart" },
        { namespaceLabels: { team: "a" }, podLabels: { app: "prometheus" } },
        { cidr: "10.0.0.0/8", except: ["10.1.0.0/16"] }
      ]
      yield* Scene.launch(scene, "shop", { image, networkPolicy: { allowFrom } })
      expect(yield* allowing(scene, 4)).toEqual({
        podSelector: selector,
        policyTypes: ["Ingress"],
        ingress: [
          {
            from: [
              { namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "ingress-nginx" } } },
              { podSelector: podsOf("cart") },
              {
                namespaceSelector: { matchLabels: { team: "a" } },
                podSelector: { matchLabels: { app: "prometheus" } }
              },
              { ipBlock: { cidr: "10.0.0.0/8", except: ["10.1.0.0/16"] } }
            ],
            ports: [{ port: 8080, protocol: "TCP" }]
          }
        ]
      })
      const before = yield* Scene.settled(scene, "shop")
      yield* Scene.during(scene.manage(), Scene.settled(scene, "shop"))
      expect(yield* Scene.settled(scene, "shop")).toEqual(before)
      expect(Scene.condition(yield* Scene.app(scene, "shop"), "NetworkPolicyReady")).toMatchObject({
        status: "True",
        message: "NetworkPolicy shop allows the clients of spec.networkPolicy to connect to port 8080"
      })

      yield* change(scene, { port: 9090, networkPolicy: { allowFrom: [{ podLabels: {} }] } })
      const after = yield* allowing(scene, 1)
      expect(after?.ingress).toEqual([{ from: [{ podSelector: {} }], ports: [{ port: 9090, protocol: "TCP" }] }])
      yield* change(scene, { networkPolicy: null })
      yield* Managed.eventually("the policy is gone", Effect.result(policy(scene)), Result.isFailure)
      yield* Managed.eventually(
        "no condition",
        Scene.app(scene, "shop"),
        (app) => Scene.condition(app, "NetworkPolicyReady") === undefined
      )
    })
  )

  Scene.managed("with an empty list refuses all clients, and removes rules that were added by hand", (scene) =>
    Effect.gen(function* () {
      yield* Scene.launch(scene, "shop", { image, networkPolicy: { allowFrom: [] } })
      yield* Scene.settled(scene, "shop")
      const denied = { podSelector: selector, policyTypes: ["Ingress"] }
      expect((yield* policy(scene)).spec).toEqual(denied)
      yield* ByHand.patch(scene, NetworkPolicy, Patch.merge({ spec: { ingress: [{}] } }))
      yield* Managed.eventually("no rule", policy(scene), ({ spec }) => spec?.ingress === undefined)
      yield* change(scene, { networkPolicy: { allowFrom: [{ namespace: "web" }] } })
      yield* allowing(scene, 1)
      const all = Patch.merge({ spec: { ingress: [{}], podSelector: { matchLabels: { tier: "a" } } } })
      yield* ByHand.patch(scene, NetworkPolicy, all)
      const spec = yield* allowing(scene, 1)
      expect(spec?.ingress).toHaveLength(1)
      yield* Managed.eventually(
        "the selector",
        policy(scene),
        (each) => each.spec?.podSelector?.matchLabels?.tier === undefined
      )
      yield* change(scene, { networkPolicy: { allowFrom: [] } })
      yield* Managed.eventually("no rule", policy(scene), (each) => each.spec?.ingress === undefined)
    })
  )

  Scene.managed("exists before the first pod", (scene) =>
    Effect.gen(function* () {
      yield* Scene.launch(scene, "shop", { image, networkPolicy: { allowFrom: [] } })
      const { metadata } = yield* policy(scene)
      const deployment = yield* Scene.deployment(scene, "shop")
      const versions = [metadata, deployment.metadata].map(({ creationTimestamp }) => Date.parse(creationTimestamp))
      expect(versions[0]).toBeLessThanOrEqual(versions[1] ?? 0)
    })
  )

  Scene.managed("is not Ready while another owner has a NetworkPolicy of its name", (scene) =>
    Effect.gen(function* () {
      const { namespace } = scene
      const spec = { podSelector: {} }
      yield* Client.create(NetworkPolicy, { metadata: { namespace, name: "shop" }, spec })
      yield* Scene.create(scene, "shop", { image, networkPolicy: { allowFrom: [] } })
      const app = yield* Managed.eventually(
        "it is not Ready because of the policy",
        Scene.app(scene, "shop"),
        (app) => Scene.isAt("Failed")(app) && Scene.condition(app, "Ready")?.reason === "NotOwned"
      )
      expect(Scene.condition(app, "Ready")?.status).toBe("False")
      expect(Scene.condition(app, "NetworkPolicyReady")).toMatchObject({ status: "False", reason: "NotOwned" })
      expect((yield* policy(scene)).spec?.podSelector).toEqual({})
      yield* ByHand.remove(scene, NetworkPolicy)
      yield* Scene.running(scene, "shop")
      expect((yield* policy(scene)).spec?.podSelector).toEqual(selector)
    })
  )

  Scene.managed("refuses clients that the API server would refuse or misunderstand", (scene) =>
    Effect.gen(function* () {
      yield* Scene.launch(scene, "shop", { image })
      const either = "set either cidr, or a namespace, a WebApp or labels"
      for (const [peer, message] of [
        [{}, either],
        [{ cidr: "10.0.0.0/8", webApp: "cart" }, either],
        [{ namespace: "a", namespaceLabels: {} }, "set at most one of namespace and namespaceLabels"],
        [{ webApp: "a", podLabels: {} }, "set at most one of webApp and podLabels"],
        [{ cidr: "10.0.0.1" }, "must be an address range such as 10.0.0.0/8"],
        [{ cidr: "10.1.0.0/8" }, "must be an address range such as 10.0.0.0/8, without bits after the prefix"],
        [{ cidr: "10.0.0.0/8", except: ["10.1.1.0/16"] }, "without bits after the prefix"],
        [{ cidr: "10.0.0.0/8", except: ["11.0.0.0/16"] }, "except must have ranges within cidr"],
        [{ cidr: "10.0.0.0/8", except: ["10.0.0.0/8"] }, "except must have ranges within cidr"],
        [{ namespace: "a", except: ["10.0.0.0/8"] }, "except must have ranges within cidr"],
        [{ namespace: "a", webApp: "b" }, "accepted"]
      ] as const) {
        expect([peer, yield* refused(scene, [peer])]).toEqual([peer, expect.stringContaining(message)])
      }
    })
  )
})

describe.concurrent("spec.spread", () => {
  Scene.managed("reaches the pods with the selector of the Deployment, and leaves them with the field", (scene) =>
    Effect.gen(function* () {
      const constraints = Effect.map(
        Scene.deployment(scene, "shop"),
        ({ spec }) => spec?.template.spec?.topologySpreadConstraints
      )
      yield* Scene.launch(scene, "shop", { image, spread: "Zones" })
      const constraint = {
        maxSkew: 1,
        whenUnsatisfiable: "ScheduleAnyway",
        labelSelector: selector,
        matchLabelKeys: ["pod-template-hash"]
      }
      expect(yield* constraints).toEqual([
        { ...constraint, topologyKey: "topology.kubernetes.io/zone" },
        { ...constraint, topologyKey: "kubernetes.io/hostname" }
      ])
      const before = yield* Scene.settled(scene, "shop")
      yield* Scene.during(scene.manage(), Scene.settled(scene, "shop"))
      expect(yield* Scene.settled(scene, "shop")).toEqual(before)
      yield* change(scene, { spread: "Nodes" })
      yield* Scene.settled(scene, "shop")
      expect(yield* constraints).toEqual([{ ...constraint, topologyKey: "kubernetes.io/hostname" }])
      yield* change(scene, { spread: null })
      yield* Scene.settled(scene, "shop")
      expect(yield* constraints).toBeUndefined()
    })
  )
})
