/** Tests of manual changes of a WebApp's children. The controller reverts changes of its own fields once, and ignores changes of others. */
import { describe, expect } from "bun:test"
import * as Patch from "@homeostat/runtime/client/Patch"
import { Deployment, Service } from "@homeostat/runtime/resource/BuiltIn"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"
import * as ByHand from "./ByHand.ts"
import * as Drift from "./Drift.ts"
import * as Scene from "./Scene.ts"

const container = "/spec/template/spec/containers/0"

const repaired: ReadonlyArray<Drift.Repaired & { readonly change: string }> = [
  {
    change: "a scaled Deployment",
    by: (scene) => ByHand.scale(scene, Deployment, 5),
    reason: "DeploymentUpdated",
    names: "spec.replicas"
  },
  {
    change: "another image",
    by: (scene) => ByHand.set(scene, { image: "registry.test/other:1" }),
    reason: "DeploymentUpdated",
    names: "spec.template.spec.containers[app].image"
  },
  {
    change: "an added variable",
    by: (scene) => ByHand.set(scene, { env: [{ name: "DEBUG", value: "1" }] }),
    reason: "DeploymentUpdated",
    names: "spec.template.spec.containers[app].env[DEBUG]"
  },
  {
    change: "a variable's value",
    by: (scene) => ByHand.set(scene, { env: [{ name: "MODE", value: "other" }] }),
    reason: "DeploymentUpdated",
    names: "spec.template.spec.containers[app].env[MODE].value"
  },
  {
    change: "a removed variable",
    by: (scene) => ByHand.set(scene, { env: [{ $patch: "delete", name: "MODE" }] }),
    reason: "DeploymentUpdated",
    names: "spec.template.spec.containers[app].env"
  },
  {
    change: "another container port",
    by: (scene) =>
      ByHand.patch(
        scene,
        Deployment,
        Patch.json([{ op: "replace", path: `${container}/ports/0/containerPort`, value: 9090 }])
      ),
    reason: "DeploymentUpdated",
    names: "spec.template.spec.containers[app].ports[8080]"
  },
  {
    change: "an added container port with a name",
    by: (scene) =>
      ByHand.patch(
        scene,
        Deployment,
        Patch.json([
          {
            op: "add",
            path: `${container}/ports/-`,
            value: { name: "debug", containerPort: 9229, protocol: "TCP" }
          }
        ])
      ),
    reason: "DeploymentUpdated",
    names: "spec.template.spec.containers[app].ports[debug]"
  },
  {
    change: "a label of ours taken off",
    by: (scene) => ByHand.label(scene, Deployment, { "app.kubernetes.io/managed-by": null }),
    reason: "DeploymentUpdated",
    names: "metadata.labels.app.kubernetes.io/managed-by"
  },
  {
    change: "a deleted Deployment",
    by: (scene) => ByHand.remove(scene, Deployment),
    reason: "DeploymentCreated",
    names: "Created Deployment shop"
  },
  {
    change: "another Service port",
    by: (scene) => ByHand.patch(scene, Service, Patch.json([{ op: "replace", path: "/spec/ports/0/port", value: 80 }])),
    reason: "ServiceUpdated",
    names: "spec.ports[8080]"
  },
  {
    change: "another target port",
    by: (scene) =>
      ByHand.patch(scene, Service, Patch.json([{ op: "replace", path: "/spec/ports/0/targetPort", value: 80 }])),
    reason: "ServiceUpdated",
    names: "spec.ports[8080].targetPort"
  },
  {
    change: "a key added to the Service's selector",
    by: (scene) => ByHand.patch(scene, Service, Patch.merge({ spec: { selector: { track: "canary" } } })),
    reason: "ServiceUpdated",
    names: "spec.selector.track"
  },
  {
    change: "another type of Service",
    by: (scene) => ByHand.patch(scene, Service, Patch.merge({ spec: { type: "NodePort" } })),
    reason: "ServiceUpdated",
    names: "spec.type"
  },
  {
    change: "a deleted Service",
    by: (scene) => ByHand.remove(scene, Service),
    reason: "ServiceCreated",
    names: "Created Service shop"
  }
]

const restartedAt = "kubectl.kubernetes.io/restartedAt"

const left: ReadonlyArray<Drift.Left & { readonly change: string }> = [
  {
    change: "a sidecar container",
    by: (scene) =>
      ByHand.patch(
        scene,
        Deployment,
        Patch.json([
          {
            op: "add",
            path: "/spec/template/spec/containers/-",
            value: { name: "proxy", image: "registry.test/proxy:1", ports: [{ containerPort: 15_001 }] }
          }
        ])
      ),
    shows: (scene) =>
      Effect.map(Scene.pods(scene, "shop"), (pods) =>
        pods.map(({ spec }) => spec?.containers.map(({ name }) => name).join(" "))
      ),
    as: ["app proxy", "app proxy"]
  },
  {
    change: "a label of somebody else",
    by: (scene) => ByHand.label(scene, Deployment, { team: "checkout" }),
    shows: (scene) => Effect.map(Scene.deployment(scene, "shop"), ({ metadata }) => metadata.labels?.team),
    as: "checkout"
  },
  {
    change: "an annotation of somebody else",
    by: (scene) => ByHand.annotate(scene, Deployment, { "example.test/note": "kept" }),
    shows: (scene) =>
      Effect.map(Scene.deployment(scene, "shop"), ({ metadata }) => metadata.annotations?.["example.test/note"]),
    as: "kept"
  },
  {
    change: "a restart",
    by: (scene) =>
      ByHand.rollout(scene, {
        template: { metadata: { annotations: { [restartedAt]: "2026-11-21T00:00:00Z" } } }
      }),
    shows: (scene) =>
      Effect.map(Scene.pods(scene, "shop"), (pods) => pods.map(({ metadata }) => metadata.annotations?.[restartedAt])),
    as: ["2026-11-21T00:00:00Z", "2026-11-21T00:00:00Z"]
  }
]

describe.concurrent("by hand", () => {
  for (const one of repaired) {
    Scene.managed(`${one.change} is reverted with one Event, and then no manager writes`, (scene) =>
      Drift.isRepaired(scene, one)
    )
  }

  Scene.managed("a port put right can be changed in the spec afterwards, and nothing of either is left", (scene) =>
    Effect.gen(function* () {
      yield* Scene.launch(scene, "shop", Drift.spec)
      yield* ByHand.patch(scene, Service, Patch.json([{ op: "replace", path: "/spec/ports/0/port", value: 80 }]))
      const port = Effect.map(Scene.service(scene, "shop"), ({ spec }) => spec?.ports?.map(({ port }) => port))
      yield* Managed.eventually("the repair", port, (ports) => Bun.deepEquals(ports, [8080]))

      yield* ByHand.patch(scene, WebApp, Patch.merge({ spec: { port: 9090 } }))
      yield* Scene.settled(scene, "shop")
      expect(yield* Drift.children(scene)).toMatchObject({
        containerPorts: [{ containerPort: 9090, protocol: "TCP" }],
        service: { ports: [{ port: 9090, targetPort: 9090, protocol: "TCP" }] }
      })
    })
  )

  for (const one of left) {
    Scene.managed(`${one.change} is left alone`, (scene) => Drift.isLeft(scene, one))
  }
})
