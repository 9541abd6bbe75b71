/** Actions on WebApps that make their manager use every permission. */
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import {
  ConfigMap,
  Deployment,
  HorizontalPodAutoscaler,
  Ingress,
  Job,
  NetworkPolicy,
  Pod,
  PodDisruptionBudget,
  ResourceQuota,
  Secret,
  Service
} from "@homeostat/runtime/resource/BuiltIn"
import { HTTPRoute } from "@homeostat/runtime/resource/GatewayKinds"
import { adoptAnnotation } from "@homeostat/webapp/children"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"
import * as GatewayApi from "../webapp/GatewayApi.ts"
import * as Kubectl from "../webapp/Kubectl.ts"
import * as Scene from "../webapp/Scene.ts"
import type * as Granted from "./Granted.ts"

const failed = (scene: Scene.Scene, name: string) =>
  Managed.eventually(`the failure of WebApp ${name}`, Scene.app(scene, name), Scene.isAt("Failed"))

const good = (scene: Scene.Scene, generation: number) =>
  Managed.eventually(
    `generation ${generation} is good`,
    Scene.app(scene, "shop"),
    ({ status }) => status?.lastGood?.generation === generation
  )

const adopt = Patch.merge({ metadata: { annotations: { [adoptAnnotation]: "true" } } })

/** The autoscaler, the budget and the NetworkPolicy of a WebApp are created, changed and removed. */
const companions = (scene: Scene.Scene) =>
  Effect.gen(function* () {
    const key = scene.key("scaled")
    const change = (spec: object) => Client.patch(WebApp, key, Patch.merge({ spec }))
    const all = Effect.all([
      Effect.result(Client.get(HorizontalPodAutoscaler, key)),
      Effect.result(Client.get(PodDisruptionBudget, key)),
      Effect.result(Client.get(NetworkPolicy, key))
    ])
    yield* Scene.launch(scene, "scaled", {
      image: "registry.test/web:1",
      autoscaling: { max: 3 },
      networkPolicy: { allowFrom: [] }
    })
    yield* Managed.eventually("they exist", all, (found) => found.every(({ _tag }) => _tag === "Success"))
    yield* change({ autoscaling: { max: 4 }, disruptionBudget: { maxUnavailable: 2 }, port: 9090 })
    yield* change({ networkPolicy: { allowFrom: [{ podLabels: {} }] } })
    yield* Managed.eventually(
      "they are changed",
      Effect.all([
        Client.get(HorizontalPodAutoscaler, key),
        Client.get(PodDisruptionBudget, key),
        Client.get(NetworkPolicy, key)
      ]),
      ([autoscaler, budget, policy]) =>
        autoscaler.spec?.maxReplicas === 4 &&
        budget.spec?.maxUnavailable === 2 &&
        policy.spec?.ingress?.[0]?.ports?.[0]?.port === 9090
    )
    yield* change({ autoscaling: null, disruptionBudget: { maxUnavailable: null, none: {} }, networkPolicy: null })
    yield* Managed.eventually("they are gone", all, (found) => found.every(({ _tag }) => _tag === "Failure"))
  })

/** A job runs before the pods, and goes with the field. */
const jobs = (scene: Scene.Scene) =>
  Effect.gen(function* () {
    const found = Effect.map(Client.list(Job, { namespace: scene.namespace }), ({ items }) =>
      items.filter(({ metadata }) => metadata.ownerReferences?.some(({ name }) => name === "migrated") === true)
    )
    const migrate = { name: "migrate", command: ["migrate"] }
    yield* Scene.launch(scene, "migrated", { image: "registry.test/web:1", jobs: [migrate] })
    yield* Managed.eventually("its Job", found, ({ length }) => length === 1)
    yield* Client.patch(WebApp, scene.key("migrated"), Patch.merge({ spec: { jobs: null } }))
    yield* Managed.eventually("no Job", found, ({ length }) => length === 0)
  })

/** The API server refuses the pods of a Job. Its WebApp says why. */
const podless = (scene: Scene.Scene) =>
  Effect.gen(function* () {
    const metadata = { namespace: scene.namespace, name: "podless" }
    const image = "registry.test/web:1"
    yield* Client.create(ResourceQuota, { metadata, spec: { hard: { pods: "0" } } })
    const pod = { metadata, spec: { containers: [{ name: "app", image }] } }
    // The API server learns of the quota a moment later.
    yield* Managed.eventually("the quota", Effect.flip(Client.create(Pod, pod, { dryRun: true })), () => true)
    const spec = { image, replicas: 1, jobs: [{ name: "migrate", command: ["migrate"] }] }
    yield* Client.create(WebApp, { metadata, spec })
    yield* Managed.eventually(
      "why the Job has no pod",
      Scene.app(scene, "podless"),
      (app) => Scene.condition(app, "JobsComplete")?.reason === "FailedCreate"
    )
    yield* Kubectl.run(scene, ["delete", "webapp/podless", "resourcequota/podless", "--wait=true", "--timeout=60s"])
  })

/** The pods read a ConfigMap and a Secret. */
const configured = (scene: Scene.Scene) =>
  Effect.gen(function* () {
    const metadata = { namespace: scene.namespace, name: "config" }
    yield* Client.create(ConfigMap, { metadata, data: { theme: "dark" } })
    yield* Client.create(Secret, { metadata, stringData: { token: "one" } })
    const config = [
      { configMap: metadata.name, mountPath: "/etc/app" },
      { secret: metadata.name, env: {} }
    ]
    yield* Scene.launch(scene, "configured", { image: "registry.test/web:1", config })
  })

/** A WebApp is created, changed, reverted, scaled by an autoscaler and deleted. Another has each other child for a time. */
export const life = (scene: Scene.Scene) =>
  Effect.gen(function* () {
    const key = scene.key("shop")
    yield* Scene.launch(scene, "shop", { image: "registry.test/web:1", rollback: "Auto" })
    yield* good(scene, 1)
    yield* configured(scene)
    yield* Client.patch(WebApp, key, Patch.merge({ spec: { port: 9090 } }))
    yield* good(scene, 2)
    yield* Managed.eventually(
      "the new port",
      Scene.service(scene, "shop"),
      ({ spec }) => spec?.ports?.map(({ port }) => port).join() === "9090"
    )
    // Two equal failures, which one Event counts.
    for (let time = 0; time < 2; time++) {
      yield* Client.patch(Service, key, Patch.merge({ spec: { selector: { foreign: "yes" } } }))
      yield* Managed.eventually(
        "the Service without the foreign key",
        Scene.service(scene, "shop"),
        ({ spec }) => spec?.selector?.foreign === undefined
      )
    }
    const { metadata } = yield* Scene.service(scene, "shop")
    yield* Client.delete(Service, key)
    yield* Managed.eventually(
      "a new Service",
      Scene.service(scene, "shop"),
      (service) => service.metadata.uid !== metadata.uid
    )
    yield* Client.create(HorizontalPodAutoscaler, {
      metadata: { namespace: scene.namespace, name: "shop" },
      spec: { scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "shop" }, maxReplicas: 5 }
    })
    yield* Client.patch(Deployment, key, Patch.merge({ spec: { replicas: 3 } }))
    yield* Managed.eventually(
      "the autoscaler's replicas",
      Scene.app(scene, "shop"),
      ({ status }) => status?.availableReplicas === 3
    )
    yield* exposure(scene)
    yield* Kubectl.run(scene, ["delete", "webapp/shop", "--wait=true", "--timeout=60s"])
    yield* companions(scene)
    yield* jobs(scene)
    yield* podless(scene)
  })

/** The WebApp gets an Ingress, then an HTTPRoute, and then neither. */
const exposure = (scene: Scene.Scene) =>
  Effect.gen(function* () {
    const key = scene.key("shop")
    const expose = (expose: object | null) => Client.patch(WebApp, key, Patch.merge({ spec: { expose } }))
    const isGone = (answer: object) => "_tag" in answer && answer._tag === "NotFound"
    yield* GatewayApi.install
    yield* expose({ host: "shop.test" })
    yield* Managed.eventually("an Ingress", Client.get(Ingress, key), () => true)
    yield* expose({ gateway: { name: "public" } })
    // The manager looks for a new kind every 30 to 45 seconds.
    yield* Managed.eventually("an HTTPRoute", Client.get(HTTPRoute, key), () => true, "90 seconds")
    yield* Managed.eventually("no Ingress", Effect.catch(Client.get(Ingress, key), Effect.succeed), isGone)
    yield* expose(null)
    yield* Managed.eventually("no HTTPRoute", Effect.catch(Client.get(HTTPRoute, key), Effect.succeed), isGone)
  })

/** An adopted Service, and a WebApp with the finalizer of an older controller. */
export const inheritance = (scene: Scene.Scene) =>
  Effect.gen(function* () {
    const { namespace } = scene
    yield* Client.create(Service, { metadata: { namespace, name: "adopted" }, spec: { ports: [{ port: 1 }] } })
    yield* Scene.create(scene, "adopted")
    yield* failed(scene, "adopted")
    yield* Client.patch(Service, scene.key("adopted"), adopt)
    yield* Scene.running(scene, "adopted")

    yield* Client.create(WebApp, {
      metadata: { namespace, name: "old", finalizers: ["apps.kubedojo.io/finalizer"] },
      spec: { image: "registry.test/web:1", replicas: 1 }
    })
    yield* Scene.running(scene, "old")
    yield* Kubectl.run(scene, ["delete", "webapp/old", "--wait=true", "--timeout=60s"])
  })

/** Children that another client creates before the controller can see them. */
export const raced = (scene: Scene.Scene, { deafen, listen }: Pick<Granted.Working, "deafen" | "listen">) =>
  Effect.gen(function* () {
    const metadata = { namespace: scene.namespace, name: "raced" }
    const labels = { app: "other" }
    yield* deafen(["deployments", "services"])
    yield* Client.create(Deployment, {
      metadata,
      spec: {
        replicas: 1,
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: { containers: [{ name: "app", image: "registry.test/other:1" }] }
        }
      }
    })
    yield* Client.create(Service, { metadata, spec: { selector: labels, ports: [{ port: 1 }] } })
    yield* Scene.create(scene, "raced")
    yield* failed(scene, "raced")
    yield* listen
  })
