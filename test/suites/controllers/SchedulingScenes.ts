/**
 * Which node a pod gets, and what it is told while there is none.
 */
import type { JsonObject } from "@homeostat/testkit/server/Json"
import { at } from "@homeostat/testkit/server/Json"
import { Effect } from "effect"
import type { Scene } from "./Scene.ts"
import { conditionIs, holds, type Script } from "./Script.ts"

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

/** Runs a script with one more node; how many there are, messages say. */
const withNode =
  (name: string, spec: JsonObject, labels: JsonObject, script: Script): Script =>
  (scene) =>
    Effect.gen(function* () {
      const path = "/api/v1/nodes"
      yield* scene.send("POST", path, { metadata: { name, labels }, spec })
      const capacity = { cpu: "100", memory: "100Gi", pods: "1000" }
      yield* scene.send("PATCH", `${path}/${name}/status`, {
        status: { conditions: [{ type: "Ready", status: "True" }], capacity, allocatable: capacity }
      })
      yield* script(scene).pipe(Effect.ensuring(Effect.ignore(scene.send("DELETE", `${path}/${name}`))))
    })

const claim = (name: string, spec: JsonObject = {}): JsonObject => ({
  metadata: { name },
  spec: { accessModes: ["ReadWriteOnce"], storageClassName: "", resources: { requests: { storage: "1Gi" } }, ...spec }
})

const using = (name: string): JsonObject => ({ volumes: [{ name: "v", persistentVolumeClaim: { claimName: name } }] })

/** Makes a volume for a claim, and takes it away in the end. */
const withVolume =
  (script: Script, spec: JsonObject = {}): Script =>
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
      // Its phase is a change that the scheduler hears of.
      const isAvailable = Effect.map(
        scene.send("GET", `${path}/${name}`),
        (volume) => at(volume, "status", "phase") === "Available"
      )
      yield* scene.until("the volume to be available", isAvailable)
      yield* script(scene).pipe(Effect.ensuring(Effect.ignore(scene.send("DELETE", `${path}/${name}`))))
    })

const isBound = (scene: Scene) =>
  scene.until(
    "the claim to be bound",
    holds(scene, "persistentvolumeclaims/data", (found) => at(found, "status", "phase") === "Bound")
  )

/** By name: what it shows. */
export const scenes: { readonly [name: string]: Script } = {
  "a pod is pinned to a node by its name": withNode("scene-pinned", {}, {}, (scene) =>
    Effect.gen(function* () {
      yield* scene.create("pods", pod("p", affinity(onNode("scene-pinned"))))
      yield* isPlaced(scene, "p")
      yield* scene.create("pods", pod("q", affinity(onNode("node"))))
      yield* isPlaced(scene, "q")
    })
  ),

  "a pod is pinned to a node that is not there": (scene) =>
    Effect.gen(function* () {
      yield* scene.create("pods", pod("p", affinity(onNode("lost"))))
      yield* isRefused(scene, "p")
    }),

  "a pod is pinned to a node that is not there, of two": withNode("scene-second", {}, {}, (scene) =>
    Effect.gen(function* () {
      yield* scene.create("pods", pod("p", affinity(onNode("lost"))))
      yield* isRefused(scene, "p")
    })
  ),

  "a pod is pinned to a node that is cordoned, until that is over": withNode(
    "scene-cordoned",
    { unschedulable: true },
    {},
    (scene) =>
      Effect.gen(function* () {
        yield* scene.create("pods", pod("p", affinity(onNode("scene-cordoned"))))
        yield* isRefused(scene, "p")
        yield* scene.send("PATCH", "/api/v1/nodes/scene-cordoned", { spec: { unschedulable: null } })
        yield* isPlaced(scene, "p")
      })
  ),

  "a pod is pinned to a node that is tainted, and tolerates it or not": withNode(
    "scene-tainted",
    { taints: [{ key: "team", value: "a", effect: "NoSchedule" }] },
    {},
    (scene) =>
      Effect.gen(function* () {
        yield* scene.create("pods", pod("p", affinity(onNode("scene-tainted"))))
        yield* isRefused(scene, "p")
        const tolerations = [{ key: "team", operator: "Equal", value: "a", effect: "NoSchedule" }]
        yield* scene.create("pods", pod("q", { ...affinity(onNode("scene-tainted")), tolerations }))
        yield* isPlaced(scene, "q")
        const exists = [{ key: "team", operator: "Exists" }]
        yield* scene.create("pods", pod("r", { ...affinity(onNode("scene-tainted")), tolerations: exists }))
        yield* isPlaced(scene, "r")
      })
  ),

  "a pod says what it wants of a node's labels": withNode("scene-labelled", {}, { disk: "ssd", cores: "8" }, (scene) =>
    Effect.gen(function* () {
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
      // The one or the other.
      const either = affinity(onNode("lost"), { matchExpressions: [{ key: "disk", operator: "Exists" }] })
      yield* scene.create("pods", pod("either", either))
      yield* isPlaced(scene, "either")
      const none = { matchExpressions: [{ key: "disk", operator: "In", values: ["tape"] }] }
      yield* scene.create("pods", pod("none", affinity(none)))
      yield* isRefused(scene, "none")
      yield* scene.create("pods", pod("both", { ...affinity(onNode("node")), nodeSelector: { disk: "ssd" } }))
      yield* isRefused(scene, "both")
    })
  ),

  "a pod finds no node, for several reasons": withNode("scene-cordoned", { unschedulable: true }, {}, (scene) =>
    Effect.gen(function* () {
      yield* scene.create("pods", pod("p", { nodeSelector: { is: "nowhere" } }))
      yield* isRefused(scene, "p")
    })
  ),

  "a pod with a claim that is not there, until it is": withVolume((scene) =>
    Effect.gen(function* () {
      yield* scene.create("pods", pod("p", using("data")))
      yield* isRefused(scene, "p")
      yield* scene.create("persistentvolumeclaims", claim("data", { volumeName: `volume-${scene.namespace}` }))
      yield* isPlaced(scene, "p")
    })
  ),

  "a pod with a claim that no volume is bound to": (scene) =>
    Effect.gen(function* () {
      yield* scene.create("persistentvolumeclaims", claim("data"))
      yield* scene.create("pods", pod("p", using("data")))
      yield* isRefused(scene, "p")
    }),

  "a pod goes where its volume is": withNode(
    "scene-volume",
    {},
    { "kubernetes.io/hostname": "scene-volume" },
    (scene) =>
      withVolume(
        () =>
          Effect.gen(function* () {
            yield* scene.create("persistentvolumeclaims", claim("data", { volumeName: `volume-${scene.namespace}` }))
            yield* isBound(scene)
            yield* scene.create("pods", pod("p", using("data")))
            yield* isPlaced(scene, "p")
            yield* scene.create("pods", pod("q", { ...using("data"), ...affinity(onNode("node")) }))
            yield* isRefused(scene, "q")
            // When the volume goes, a real scheduler looks again.
            yield* scene.remove("pods/q")
          }),
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
  ),

  "a volume that one pod at a time may have": withVolume(
    (scene) =>
      Effect.gen(function* () {
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
      }),
    { accessModes: ["ReadWriteOncePod"] }
  )
}
