/** Scheduling: the nodes of pods, and the conditions of pods without a node. */
import type { JsonObject } from "@homeostat/apiserver/model/Json"
import { at } from "@homeostat/apiserver/model/Json"
import { Effect } from "effect"
import type { Scene } from "./Scene.ts"
import { type Body, conditionIs, holds, type Script, scripts } from "./Script.ts"

const pod = (name: string, spec: JsonObject = {}): JsonObject => ({
  metadata: { name },
  spec: { containers: [{ name: "c", image: "i" }], ...spec }
})

const affinity = (...terms: ReadonlyArray<JsonObject>): JsonObject => ({
  affinity: {
    nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } }
  }
})

const onNode = (name: string) => ({ matchFields: [{ key: "metadata.name", operator: "In", values: [name] }] })

const isRefused = (scene: Scene, name: string) =>
  scene.until(`${name} to be refused`, holds(scene, `pods/${name}`, conditionIs("PodScheduled", "Unschedulable")))

const isPlaced = (scene: Scene, name: string) =>
  scene.until(
    `${name} to have a node`,
    holds(scene, `pods/${name}`, (found) => at(found, "spec", "nodeName") !== undefined)
  )

/** Runs a script with a second node. */
const withNode =
  (name: string, spec: JsonObject, labels: JsonObject, body: Body): Script =>
  (scene) =>
    Effect.gen(function* () {
      const path = "/api/v1/nodes"
      yield* scene.send("POST", path, { metadata: { name, labels }, spec })
      const capacity = { cpu: "100", memory: "100Gi", pods: "1000" }
      yield* scene.send("PATCH", `${path}/${name}/status`, {
        status: { conditions: [{ type: "Ready", status: "True" }], capacity, allocatable: capacity }
      })
      yield* Effect.gen(() => body(scene)).pipe(Effect.ensuring(Effect.ignore(scene.send("DELETE", `${path}/${name}`))))
    })

const claim = (name: string, spec: JsonObject = {}): JsonObject => ({
  metadata: { name },
  spec: { accessModes: ["ReadWriteOnce"], storageClassName: "", resources: { requests: { storage: "1Gi" } }, ...spec }
})

const using = (name: string): JsonObject => ({ volumes: [{ name: "v", persistentVolumeClaim: { claimName: name } }] })

/** Runs a script with a volume for the claim `data`. */
const withVolume =
  (body: Body, spec: JsonObject = {}): Script =>
  (scene) =>
    Effect.gen(function* () {
      const path = "/api/v1/persistentvolumes"
      const name = `volume-${scene.namespace}`
      yield* scene.send("POST", path, {
        metadata: { name },
        spec: {
          accessModes: ["ReadWriteOnce"],
          capacity: { storage: "1Gi" },
          claimRef: { apiVersion: "v1", kind: "PersistentVolumeClaim", namespace: scene.namespace, name: "data" },
          persistentVolumeReclaimPolicy: "Retain",
          nfs: { server: "volumes.test", path: "/" },
          ...spec
        }
      })
      // The change of the phase wakes the scheduler.
      const isAvailable = Effect.map(
        scene.send("GET", `${path}/${name}`),
        (volume) => at(volume, "status", "phase") === "Available"
      )
      yield* scene.until("the volume to be available", isAvailable)
      yield* Effect.gen(() => body(scene)).pipe(Effect.ensuring(Effect.ignore(scene.send("DELETE", `${path}/${name}`))))
    })

const isBound = (scene: Scene) =>
  scene.until(
    "the claim to be bound",
    holds(scene, "persistentvolumeclaims/data", (found) => at(found, "status", "phase") === "Bound")
  )

export const scenes: { readonly [name: string]: Script } = {
  ...scripts({
    *"a pod is pinned to a missing node"(scene) {
      yield* scene.create("pods", pod("p", affinity(onNode("lost"))))
      yield* isRefused(scene, "p")
    },

    *"a pod requests more than the node has"(scene) {
      const requests = { cpu: "1000", memory: "1Ti", "example.com/card": "1" }
      const containers = [{ name: "c", image: "i", resources: { requests, limits: { "example.com/card": "1" } } }]
      yield* scene.create("pods", { metadata: { name: "p" }, spec: { containers } })
      yield* isRefused(scene, "p")
    },

    *"a pod waits until another one frees its resources"(scene) {
      const spec = (cpu: string) => ({ containers: [{ name: "c", image: "i", resources: { requests: { cpu } } }] })
      yield* scene.create("pods", { metadata: { name: "first" }, spec: spec("60") })
      yield* isPlaced(scene, "first")
      yield* scene.create("pods", { metadata: { name: "second" }, spec: spec("60") })
      yield* isRefused(scene, "second")
      yield* scene.remove("pods/first")
      yield* scene.until(
        "the second pod to run",
        Effect.andThen(
          scene.kubelet,
          holds(scene, "pods/second", (found) => at(found, "status", "phase") === "Running")
        )
      )
    },

    *"a pod with an unbound claim"(scene) {
      yield* scene.create("persistentvolumeclaims", claim("data"))
      yield* scene.create("pods", pod("p", using("data")))
      yield* isRefused(scene, "p")
    }
  }),

  "a pod is pinned to a node by its name": withNode("scene-pinned", {}, {}, function* (scene) {
    yield* scene.create("pods", pod("p", affinity(onNode("scene-pinned"))))
    yield* isPlaced(scene, "p")
    yield* scene.create("pods", pod("q", affinity(onNode("node"))))
    yield* isPlaced(scene, "q")
  }),

  "a pod is pinned to a missing node in a cluster with two nodes": withNode("scene-second", {}, {}, function* (scene) {
    yield* scene.create("pods", pod("p", affinity(onNode("lost"))))
    yield* isRefused(scene, "p")
  }),

  "a pod is pinned to a node until the node is uncordoned": withNode(
    "scene-cordoned",
    { unschedulable: true },
    {},
    function* (scene) {
      yield* scene.create("pods", pod("p", affinity(onNode("scene-cordoned"))))
      yield* isRefused(scene, "p")
      yield* scene.send("PATCH", "/api/v1/nodes/scene-cordoned", { spec: { unschedulable: null } })
      yield* isPlaced(scene, "p")
    }
  ),

  "pods are pinned to a tainted node with and without a toleration": withNode(
    "scene-tainted",
    { taints: [{ key: "team", value: "a", effect: "NoSchedule" }] },
    {},
    function* (scene) {
      yield* scene.create("pods", pod("p", affinity(onNode("scene-tainted"))))
      yield* isRefused(scene, "p")
      const tolerations = [{ key: "team", operator: "Equal", value: "a", effect: "NoSchedule" }]
      yield* scene.create("pods", pod("q", { ...affinity(onNode("scene-tainted")), tolerations }))
      yield* isPlaced(scene, "q")
      const exists = [{ key: "team", operator: "Exists" }]
      yield* scene.create("pods", pod("r", { ...affinity(onNode("scene-tainted")), tolerations: exists }))
      yield* isPlaced(scene, "r")
    }
  ),

  "pods select nodes by their labels": withNode("scene-labelled", {}, { disk: "ssd", cores: "8" }, function* (scene) {
    const expressions: ReadonlyArray<[string, JsonObject]> = [
      ["in", { key: "disk", operator: "In", values: ["nvme", "ssd"] }],
      ["exists", { key: "disk", operator: "Exists" }],
      ["more", { key: "cores", operator: "Gt", values: ["4"] }],
      ["fewer", { key: "cores", operator: "Lt", values: ["9"] }]
    ]
    for (const [name, expression] of expressions) {
      yield* scene.create("pods", pod(name, affinity({ matchExpressions: [expression] })))
      yield* isPlaced(scene, name)
    }
    const not = { matchExpressions: [{ key: "disk", operator: "DoesNotExist" }] }
    yield* scene.create("pods", pod("not", affinity(not)))
    yield* isPlaced(scene, "not")
    const other = { matchExpressions: [{ key: "disk", operator: "NotIn", values: ["ssd"] }] }
    yield* scene.create("pods", pod("other", affinity(other)))
    yield* isPlaced(scene, "other")
    const either = affinity(onNode("lost"), { matchExpressions: [{ key: "disk", operator: "Exists" }] })
    yield* scene.create("pods", pod("either", either))
    yield* isPlaced(scene, "either")
    const none = { matchExpressions: [{ key: "disk", operator: "In", values: ["tape"] }] }
    yield* scene.create("pods", pod("none", affinity(none)))
    yield* isRefused(scene, "none")
    yield* scene.create("pods", pod("both", { ...affinity(onNode("node")), nodeSelector: { disk: "ssd" } }))
    yield* isRefused(scene, "both")
  }),

  "a pod fits on no node for several reasons": withNode(
    "scene-cordoned",
    { unschedulable: true },
    {},
    function* (scene) {
      yield* scene.create("pods", pod("p", { nodeSelector: { is: "nowhere" } }))
      yield* isRefused(scene, "p")
    }
  ),

  "a pod waits for a missing claim": withVolume(function* (scene) {
    yield* scene.create("pods", pod("p", using("data")))
    yield* isRefused(scene, "p")
    yield* scene.create("persistentvolumeclaims", claim("data", { volumeName: `volume-${scene.namespace}` }))
    yield* isPlaced(scene, "p")
  }),

  "a pod runs on the node of its volume": withNode(
    "scene-volume",
    {},
    { "kubernetes.io/hostname": "scene-volume" },
    function* (scene) {
      yield* withVolume(
        function* () {
          yield* scene.create("persistentvolumeclaims", claim("data", { volumeName: `volume-${scene.namespace}` }))
          yield* isBound(scene)
          yield* scene.create("pods", pod("p", using("data")))
          yield* isPlaced(scene, "p")
          yield* scene.create("pods", pod("q", { ...using("data"), ...affinity(onNode("node")) }))
          yield* isRefused(scene, "q")
          // The removal of the volume would make a real scheduler try again.
          yield* scene.remove("pods/q")
        },
        {
          nodeAffinity: {
            required: {
              nodeSelectorTerms: [
                { matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In", values: ["scene-volume"] }] }
              ]
            }
          }
        }
      )(scene)
    }
  ),

  "a volume with the access mode ReadWriteOncePod": withVolume(
    function* (scene) {
      const accessModes = ["ReadWriteOncePod"]
      yield* scene.create(
        "persistentvolumeclaims",
        claim("data", { accessModes, volumeName: `volume-${scene.namespace}` })
      )
      yield* isBound(scene)
      yield* scene.create("pods", pod("p", using("data")))
      yield* isPlaced(scene, "p")
      yield* scene.create("pods", pod("q", using("data")))
      yield* isRefused(scene, "q")
    },
    { accessModes: ["ReadWriteOncePod"] }
  )
}
