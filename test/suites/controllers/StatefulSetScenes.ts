/** The scenes of StatefulSets. */
import type { JsonObject } from "@homeostat/apiserver/model/Json"
import { at, objects } from "@homeostat/apiserver/model/Json"
import { Effect } from "effect"
import { number, type Scene } from "./Scene.ts"
import { holds, isGone, noPods, scripts } from "./Script.ts"

const template = (image: string, spec: JsonObject = {}): JsonObject => ({
  metadata: { labels: { app: "s" } },
  spec: { containers: [{ name: "c", image }], ...spec }
})

const set = (spec: JsonObject = {}): JsonObject => ({
  metadata: { name: "s", annotations: { note: "a" } },
  spec: {
    serviceName: "web",
    replicas: 2,
    selector: { matchLabels: { app: "s" } },
    template: template("i:1"),
    ...spec
  }
})

/** Runs pods until the StatefulSet has `replicas` available pods, of which `updated` have the newest template. */
const rollsOut = (scene: Scene, replicas: number, updated = replicas) =>
  scene.until(
    "the rollout",
    Effect.andThen(
      scene.kubelet,
      holds(scene, "statefulsets/s", (found) => {
        const status = (field: string) => number(at(found, "status", field))
        return (
          status("observedGeneration") === at(found, "metadata", "generation") &&
          ["replicas", "readyReplicas", "availableReplicas"].every((field) => status(field) === replicas) &&
          status("updatedReplicas") === updated
        )
      })
    )
  )

const started = (scene: Scene, spec: JsonObject = {}) =>
  Effect.gen(function* () {
    yield* scene.create("statefulsets", set(spec))
    yield* rollsOut(scene, number(spec.replicas ?? 2))
  })

/** Waits until the first pod has another uid. */
const isReplaced = (scene: Scene, uid: JsonObject[string]) =>
  scene.until(
    "another pod",
    Effect.andThen(
      scene.kubelet,
      Effect.orElseSucceed(
        holds(scene, "pods/s-0", (found) => at(found, "metadata", "uid") !== uid),
        () => false
      )
    )
  )

const claims = (spec: JsonObject = {}) => ({
  template: template("i:1", { nodeName: "node" }),
  volumeClaimTemplates: [
    {
      metadata: { name: "data", labels: { of: "s" } },
      spec: {
        accessModes: ["ReadWriteOnce"],
        volumeName: "missing",
        storageClassName: "",
        resources: { requests: { storage: "1Gi" } }
      }
    }
  ],
  ...spec
})

export const scenes = scripts({
  *"a StatefulSet starts its pods one after the other"(scene) {
    yield* scene.create("statefulsets", set({ replicas: 3 }))
    yield* scene.until(
      "the first pod",
      holds(scene, "pods", ({ items }) => objects(items).length > 0)
    )
    for (let count = 0; count < 10; count++) yield* scene.wait
    yield* rollsOut(scene, 3)
  },

  *"a StatefulSet is scaled up and down"(scene) {
    yield* started(scene)
    for (const replicas of [4, 1, 0]) {
      yield* scene.change("statefulsets/s", { spec: { replicas } })
      yield* rollsOut(scene, replicas)
    }
  },

  *"a StatefulSet starts its pods in parallel"(scene) {
    yield* scene.create("statefulsets", set({ replicas: 3, podManagementPolicy: "Parallel" }))
    yield* scene.until(
      "three pods",
      holds(scene, "pods", ({ items }) => objects(items).length === 3)
    )
    yield* rollsOut(scene, 3)
    yield* scene.change("statefulsets/s", { spec: { replicas: 1 } })
    yield* rollsOut(scene, 1)
  },

  *"a StatefulSet rolls out another image"(scene) {
    yield* started(scene, { replicas: 3 })
    yield* scene.change("statefulsets/s", { spec: { template: template("i:2") } })
    yield* rollsOut(scene, 3)
  },

  *"a StatefulSet in parallel rolls out another image"(scene) {
    yield* started(scene, { replicas: 2, podManagementPolicy: "Parallel" })
    yield* scene.change("statefulsets/s", { spec: { template: template("i:2") } })
    yield* rollsOut(scene, 2)
  },

  *"a StatefulSet rolls back to its first image"(scene) {
    yield* started(scene, { replicas: 1, revisionHistoryLimit: 1 })
    for (const image of ["i:2", "i:3", "i:1"]) {
      yield* scene.change("statefulsets/s", { spec: { template: template(image) } })
      yield* rollsOut(scene, 1)
    }
  },

  *"a StatefulSet updates the pods from its partition on"(scene) {
    yield* started(scene, { replicas: 3 })
    const partition = (count: number) => ({
      updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: count } }
    })
    yield* scene.change("statefulsets/s", { spec: { template: template("i:2"), ...partition(2) } })
    yield* rollsOut(scene, 3, 1)
    // The controller creates a pod below the partition with the old template.
    const { uid } = (yield* scene.get("pods/s-0")).metadata as JsonObject
    yield* scene.remove("pods/s-0")
    yield* isReplaced(scene, uid)
    yield* rollsOut(scene, 3, 1)
    yield* scene.change("statefulsets/s", { spec: partition(0) })
    yield* rollsOut(scene, 3)
  },

  *"a StatefulSet updates a pod that is deleted"(scene) {
    yield* started(scene, { updateStrategy: { type: "OnDelete" } })
    yield* scene.change("statefulsets/s", { spec: { template: template("i:2") } })
    yield* rollsOut(scene, 2, 0)
    yield* scene.remove("pods/s-0")
    yield* rollsOut(scene, 2, 1)
  },

  *"a StatefulSet replaces a pod that fails"(scene) {
    yield* started(scene, { replicas: 1 })
    const { uid } = (yield* scene.get("pods/s-0")).metadata as JsonObject
    yield* scene.change("pods/s-0/status", { status: { phase: "Failed" } })
    yield* isReplaced(scene, uid)
    yield* rollsOut(scene, 1)
  },

  *"a StatefulSet waits for minReadySeconds"(scene) {
    yield* started(scene, { minReadySeconds: 2 })
  },

  *"a StatefulSet starts at an ordinal"(scene) {
    yield* started(scene, { replicas: 1, ordinals: { start: 3 } })
  },

  *"a StatefulSet makes claims and retains them"(scene) {
    yield* started(scene, claims())
    yield* scene.change("statefulsets/s", { spec: { replicas: 1 } })
    yield* rollsOut(scene, 1)
  },

  *"a StatefulSet deletes the claims of a pod that it no longer wants"(scene) {
    const persistentVolumeClaimRetentionPolicy = { whenScaled: "Delete", whenDeleted: "Delete" }
    yield* started(scene, claims({ persistentVolumeClaimRetentionPolicy }))
    yield* scene.change("statefulsets/s", { spec: { replicas: 1 } })
    yield* rollsOut(scene, 1)
    yield* scene.until("the end of the claim", isGone(scene, "persistentvolumeclaims/data-s-1"))
  },

  *"a StatefulSet is deleted with its claims"(scene) {
    const persistentVolumeClaimRetentionPolicy = { whenScaled: "Retain", whenDeleted: "Delete" }
    yield* started(scene, claims({ replicas: 1, persistentVolumeClaimRetentionPolicy }))
    yield* scene.remove("statefulsets/s", "Background")
    yield* noPods(scene)
    yield* scene.until("the end of the claim", isGone(scene, "persistentvolumeclaims/data-s-0"))
  }
})
