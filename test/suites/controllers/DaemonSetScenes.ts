/** The scenes of DaemonSets. */
import type { JsonObject } from "@homeostat/apiserver/model/Json"
import { at, objects } from "@homeostat/apiserver/model/Json"
import { Effect } from "effect"
import { number, type Scene } from "./Scene.ts"
import { holds, noPods, scripts } from "./Script.ts"

const template = (image: string, spec: JsonObject = {}): JsonObject => ({
  metadata: { labels: { app: "a" } },
  spec: { containers: [{ name: "c", image }], ...spec }
})

const set = (spec: JsonObject = {}): JsonObject => ({
  metadata: { name: "a", annotations: { note: "a" } },
  spec: { selector: { matchLabels: { app: "a" } }, template: template("i:1"), ...spec }
})

/** Runs pods until the DaemonSet has `nodes` available pods, of which `updated` have the newest template. */
const rollsOut = (scene: Scene, nodes = 1, updated = nodes) =>
  scene.until(
    "the rollout",
    Effect.andThen(
      scene.kubelet,
      holds(scene, "daemonsets/a", (found) => {
        const status = (field: string) => number(at(found, "status", field))
        return (
          status("observedGeneration") === at(found, "metadata", "generation") &&
          ["desiredNumberScheduled", "currentNumberScheduled", "numberAvailable"].every(
            (field) => status(field) === nodes
          ) &&
          status("updatedNumberScheduled") === updated &&
          status("numberMisscheduled") === 0
        )
      })
    )
  )

const started = (scene: Scene, spec: JsonObject = {}, nodes = 1) =>
  Effect.andThen(scene.create("daemonsets", set(spec)), rollsOut(scene, nodes))

export const scenes = scripts({
  *"a DaemonSet runs a pod on the node"(scene) {
    yield* started(scene)
  },

  *"a DaemonSet with a host network tolerates a node without network"(scene) {
    yield* started(scene, { template: template("i:1", { hostNetwork: true }), minReadySeconds: 1 })
  },

  *"a DaemonSet selects no node, and then the node"(scene) {
    yield* started(scene, { template: template("i:1", { nodeSelector: { disk: "none" } }) }, 0)
    yield* scene.change("daemonsets/a", { spec: { template: { spec: { nodeSelector: null } } } })
    yield* rollsOut(scene)
    const terms = [{ matchExpressions: [{ key: "disk", operator: "Exists" }] }]
    const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } }
    yield* scene.change("daemonsets/a", { spec: { template: { spec: { affinity: { nodeAffinity } } } } })
    yield* rollsOut(scene, 0)
    yield* noPods(scene)
  },

  *"a DaemonSet rolls out another image"(scene) {
    yield* started(scene)
    yield* scene.change("daemonsets/a", { spec: { template: template("i:2") } })
    yield* rollsOut(scene)
  },

  *"a DaemonSet rolls back to its first image"(scene) {
    yield* started(scene, { revisionHistoryLimit: 1 })
    for (const image of ["i:2", "i:3", "i:1"]) {
      yield* scene.change("daemonsets/a", { spec: { template: template(image) } })
      yield* rollsOut(scene)
    }
  },

  *"a DaemonSet updates a pod that is deleted"(scene) {
    yield* started(scene, { updateStrategy: { type: "OnDelete" } })
    yield* scene.change("daemonsets/a", { spec: { template: template("i:2") } })
    yield* rollsOut(scene, 1, 0)
    const [pod] = objects((yield* scene.get("pods")).items)
    yield* scene.remove(`pods/${String(at(pod, "metadata", "name"))}`)
    yield* rollsOut(scene)
  },

  *"a DaemonSet starts the new pod before it ends the old one"(scene) {
    yield* started(scene, {
      updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } }
    })
    yield* scene.change("daemonsets/a", { spec: { template: template("i:2") } })
    yield* rollsOut(scene)
    yield* scene.until(
      "one pod",
      Effect.andThen(
        scene.kubelet,
        holds(scene, "pods", ({ items }) => objects(items).length === 1)
      )
    )
  },

  *"a DaemonSet replaces a pod that fails"(scene) {
    yield* started(scene)
    const [pod] = objects((yield* scene.get("pods")).items)
    yield* scene.change(`pods/${String(at(pod, "metadata", "name"))}/status`, { status: { phase: "Failed" } })
    yield* scene.until(
      "another pod",
      Effect.andThen(
        scene.kubelet,
        holds(scene, "pods", ({ items }) =>
          objects(items).some(
            (one) =>
              at(one, "metadata", "uid") !== at(pod, "metadata", "uid") && at(one, "status", "phase") === "Running"
          )
        )
      )
    )
    yield* rollsOut(scene)
  },

  *"a DaemonSet is deleted with its pods"(scene) {
    yield* started(scene)
    yield* scene.remove("daemonsets/a", "Background")
    yield* noPods(scene)
  }
})
