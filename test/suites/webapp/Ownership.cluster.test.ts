/** Tests of a Deployment or Service that already exists with the name of a WebApp, and of its owner. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import { ConfigMap, Deployment, Pod, Service } from "@homeostat/runtime/resource/BuiltIn"
import type { OwnerReference } from "@homeostat/runtime/resource/KubernetesObject"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"
import * as ByHand from "./ByHand.ts"
import * as Scene from "./Scene.ts"

const adopt = Patch.merge({ metadata: { annotations: { "apps.kubedojo.io/adopt": "true" } } })

/** Creates a Deployment without a WebApp. */
const deploy = (
  { namespace }: Scene.Scene,
  options: {
    readonly selector: { readonly [key: string]: string }
    readonly owners?: ReadonlyArray<OwnerReference>
    readonly containers?: ReadonlyArray<string>
  }
) =>
  Client.create(
    Deployment,
    {
      metadata: { namespace, name: "shop", labels: { team: "legacy" }, ownerReferences: options.owners ?? [] },
      spec: {
        replicas: 1,
        selector: { matchLabels: options.selector },
        template: {
          metadata: { labels: options.selector },
          spec: {
            containers: (options.containers ?? ["app"]).map((name, index) => ({
              name,
              image: "registry.test/web:1",
              ports: [{ containerPort: 8080 + index, protocol: "TCP" }]
            }))
          }
        }
      }
    },
    { fieldManager: "legacy" }
  )

/** Returns an object without the fields that its own controllers write. */
const written = ({ metadata, spec }: Deployment | Service) => ({
  spec,
  generation: metadata.generation,
  labels: metadata.labels,
  ownerReferences: metadata.ownerReferences,
  managers: metadata.managedFields?.map(({ manager }) => manager).filter((manager) => manager === "webapp-controller")
})

const failed = (scene: Scene.Scene) =>
  Managed.eventually("the WebApp fails", Scene.app(scene, "shop"), Scene.isAt("Failed"))

const conflicts = (scene: Scene.Scene) =>
  Effect.map(Scene.events(scene, "shop"), (events) => events.filter(({ reason }) => reason === "NameConflict"))

describe.concurrent("a name that is taken", () => {
  Scene.managed(
    "by a Deployment without an owner: it stays, one Event reports it, and the WebApp runs when it is gone",
    (scene) =>
      Effect.gen(function* () {
        const before = written(yield* deploy(scene, { selector: { app: "legacy" } }))
        yield* Scene.create(scene, "shop", { image: "registry.test/web:2" })
        const app = yield* failed(scene)
        const message = `Deployment ${scene.namespace}/shop already exists and has no controller (delete it, or annotate it with apps.kubedojo.io/adopt=true)`
        expect(Scene.condition(app, "Stalled")).toMatchObject({ status: "True", reason: "NotOwned", message })
        expect(Scene.condition(app, "Ready")).toMatchObject({ status: "False", reason: "NotOwned", message })
        expect(Scene.condition(app, "Reconciling")).toBeUndefined()
        yield* Managed.eventually("the status reports it", conflicts(scene), ({ length }) => length > 0)

        yield* Scene.rest(scene)
        expect((yield* Scene.app(scene, "shop")).status).toMatchObject({ phase: "Failed", observedGeneration: 1 })
        expect(written(yield* Scene.deployment(scene, "shop"))).toEqual(before)
        expect(yield* conflicts(scene)).toEqual([{ type: "Warning", reason: "NameConflict", note: message, count: 1 }])
        expect(scene.manager.recorded().filter(({ reason }) => reason === "NameConflict")).toHaveLength(1)

        yield* ByHand.remove(scene, Deployment)
        const healed = yield* Managed.eventually("it heals", Scene.app(scene, "shop"), Scene.isAt("Running"))
        expect(Scene.condition(healed, "Stalled")).toBeUndefined()
        expect(Scene.condition(healed, "Ready")?.status).toBe("True")
      })
  )

  Scene.managed(
    "by a Service without an owner: the controller does not change it, creates the Deployment, and recovers when the Service is gone",
    (scene) =>
      Effect.gen(function* () {
        const { namespace } = scene
        const foreign = yield* Client.create(
          Service,
          { metadata: { namespace, name: "shop" }, spec: { selector: { app: "legacy" }, ports: [{ port: 80 }] } },
          { fieldManager: "legacy" }
        )
        yield* Scene.create(scene, "shop")
        const app = yield* Managed.eventually(
          "its Deployment is there, and its Service is not",
          Scene.app(scene, "shop"),
          (app) => Scene.isAt("Failed")(app) && Scene.condition(app, "DeploymentReady")?.status === "True"
        )
        expect(Scene.condition(app, "ServiceReady")).toMatchObject({ status: "False", reason: "NotOwned" })
        expect(Scene.condition(app, "Ready")).toMatchObject({ status: "False", reason: "NotOwned" })
        expect(written(yield* Scene.service(scene, "shop"))).toEqual(written(foreign))

        yield* ByHand.remove(scene, Service)
        yield* Managed.eventually("it heals", Scene.app(scene, "shop"), Scene.isAt("Running"))
      })
  )

  Scene.managed(
    "by another controller's Deployment: it is left alone and the controller is named, even if it is given away",
    (scene) =>
      Effect.gen(function* () {
        const { namespace } = scene
        const holder = yield* Client.create(ConfigMap, { metadata: { namespace, name: "holder" } })
        yield* deploy(scene, {
          selector: { app: "legacy" },
          owners: [{ apiVersion: "v1", kind: "ConfigMap", name: "holder", uid: holder.metadata.uid, controller: true }]
        })
        const before = written(yield* Client.patch(Deployment, scene.key("shop"), adopt))
        yield* Scene.create(scene, "shop", { image: "registry.test/web:2" })
        const app = yield* failed(scene)
        expect(Scene.condition(app, "Stalled")?.message).toContain(
          `Deployment ${namespace}/shop already exists and is controlled by ConfigMap holder`
        )
        yield* Scene.rest(scene)
        expect(written(yield* Scene.deployment(scene, "shop"))).toEqual(before)
      })
  )

  Scene.managed(
    "by a Deployment that is given away: it becomes the WebApp's, with its selector, and the Service finds its pods",
    (scene) =>
      Effect.gen(function* () {
        yield* deploy(scene, { selector: { app: "legacy" } })
        yield* Scene.create(scene, "shop", { image: "registry.test/web:2", replicas: 2 })
        yield* failed(scene)

        yield* Client.patch(Deployment, scene.key("shop"), adopt)
        const app = yield* Managed.eventually("it runs", Scene.app(scene, "shop"), Scene.isAt("Running"))
        const deployment = yield* Scene.deployment(scene, "shop")
        expect(deployment.metadata.ownerReferences?.map(({ uid }) => uid)).toEqual([app.metadata.uid])
        expect(deployment.metadata.labels?.team).toBe("legacy")
        expect(deployment.spec?.selector).toEqual({ matchLabels: { app: "legacy" } })
        expect(Scene.containerOf(deployment)?.image).toBe("registry.test/web:2")

        const { spec } = yield* Scene.service(scene, "shop")
        const labelSelector = Object.entries(spec?.selector ?? {})
          .map((pair) => pair.join("="))
          .join(",")
        const { items } = yield* Client.list(Pod, { namespace: scene.namespace, labelSelector })
        const images = items
          .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
          .map(({ spec }) => spec?.containers[0]?.image)
        expect(images).toEqual(["registry.test/web:2", "registry.test/web:2"])
      })
  )
})

describe.concurrent("A WebApp that adopts a Deployment", () => {
  const adopting = (scene: Scene.Scene, ...containers: ReadonlyArray<string>) =>
    Effect.gen(function* () {
      yield* deploy(scene, { selector: { app: "legacy" }, containers })
      yield* Client.patch(Deployment, scene.key("shop"), adopt)
      yield* Scene.create(scene, "shop", { image: "registry.test/web:2", replicas: 1 })
    })
  const images = (scene: Scene.Scene) =>
    Effect.map(Scene.deployment(scene, "shop"), ({ spec }) =>
      spec?.template.spec?.containers.map(({ image, name }) => [name, image])
    )

  Scene.managed("changes its only container, whatever the name, also after a restart of the manager", (scene) =>
    Effect.gen(function* () {
      yield* adopting(scene, "web")
      yield* Scene.settled(scene, "shop")
      expect(yield* images(scene)).toEqual([["web", "registry.test/web:2"]])
      yield* Client.patch(
        Deployment,
        scene.key("shop"),
        Patch.strategic({
          spec: { template: { spec: { containers: [{ name: "proxy", image: "registry.test/proxy:1" }] } } }
        })
      )
      yield* Scene.during(scene.manage(), Scene.settled(scene, "shop"))
      expect((yield* images(scene))?.toSorted()).toEqual([
        ["proxy", "registry.test/proxy:1"],
        ["web", "registry.test/web:2"]
      ])
    })
  )

  Scene.managed("fails if it has several containers, until one of them is called app", (scene) =>
    Effect.gen(function* () {
      yield* adopting(scene, "web", "proxy")
      const app = yield* failed(scene)
      expect(Scene.condition(app, "DeploymentReady")).toMatchObject({
        reason: "NotOwned",
        message: "its Deployment cannot be adopted: several containers (rename the one with the image to app)"
      })
      const template = {
        spec: {
          containers: [
            { name: "web", $patch: "delete" },
            { name: "app", image: "registry.test/web:1" }
          ]
        }
      }
      yield* Client.patch(Deployment, scene.key("shop"), Patch.strategic({ spec: { template } }))
      yield* Scene.running(scene, "shop")
      expect((yield* images(scene))?.toSorted()).toEqual([
        ["app", "registry.test/web:2"],
        ["proxy", "registry.test/web:1"]
      ])
    })
  )
})

describe.concurrent("a Deployment that an older controller made for the WebApp", () => {
  const selector = {
    app: "shop",
    "app.kubernetes.io/managed-by": "webapp-operator",
    "app.kubernetes.io/part-of": "tutorial"
  }

  /** Creates the state that the older program leaves: the pods run, and the controller has not started yet. */
  const inherited = (scene: Scene.Scene) =>
    Effect.gen(function* () {
      const { metadata } = yield* Scene.create(scene, "shop", { image: "registry.test/web:1", replicas: 1 })
      yield* deploy(scene, {
        selector,
        owners: [
          {
            apiVersion: "apps.kubedojo.io/v1beta1",
            kind: "WebApp",
            name: "shop",
            uid: metadata.uid,
            controller: true,
            blockOwnerDeletion: true
          }
        ]
      })
      yield* Managed.eventually(
        "its pods are ready",
        Scene.deployment(scene, "shop"),
        ({ status }) => status?.availableReplicas === 1
      )
    })

  Scene.empty("keeps its selector, and its pods roll once at most", (scene) =>
    Effect.gen(function* () {
      yield* inherited(scene)
      yield* scene.manage()
      yield* Scene.settled(scene, "shop")
      const { metadata, spec } = yield* Scene.deployment(scene, "shop")
      expect(spec?.selector).toEqual({ matchLabels: selector })
      expect(metadata.annotations?.["deployment.kubernetes.io/revision"]).toBe("2")
      expect(yield* conflicts(scene)).toEqual([])
    })
  )

  Scene.empty("follows the spec from then on, and reports what its pods lack", (scene) =>
    Effect.gen(function* () {
      yield* inherited(scene)
      yield* scene.manage()
      yield* Scene.running(scene, "shop")
      yield* Client.patch(
        WebApp,
        scene.key("shop"),
        Patch.merge({ spec: { image: "registry.test/web:2", replicas: 2 } })
      )
      yield* Scene.settled(scene, "shop")
      const pods = yield* Scene.pods(scene, "shop")
      expect(pods.map(({ spec }) => spec?.containers[0]?.image)).toEqual(["registry.test/web:2", "registry.test/web:2"])

      const failing = { spec: { template: { metadata: { annotations: { "envtest/image-pull-error": "" } } } } }
      yield* Client.patch(Deployment, scene.key("shop"), Patch.merge(failing))
      yield* Managed.eventually(
        "the status reports the trouble",
        Scene.app(scene, "shop"),
        (app) => Scene.condition(app, "DeploymentReady")?.reason === "ImagePullFailed"
      )
    })
  )
})
