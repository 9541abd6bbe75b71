/** A workload with volumes on two nodes, so that a run has two Jobs. */
import * as NodeFileSystem from "@effect/platform-node-shared/NodeFileSystem"
import * as Client from "@homeostat/runtime/client/Client"
import { Deployment, Pod } from "@homeostat/runtime/resource/BuiltIn"
import { eventually } from "@homeostat/testkit/Eventually"
import * as Kubelet from "@homeostat/testkit/kubelet/Kubelet"
import { Effect } from "effect"
import * as Claims from "./Claims.ts"
import * as Virtual from "./Virtual.ts"

const labels = { app: "web" }

/** Creates the Deployment `web` with the claims `left` and `right`. A pod on each node uses one of them. */
export const apart = (world: Virtual.Virtual) =>
  Effect.gen(function* () {
    yield* Effect.provide(Kubelet.start({ name: "other", pods: world.pods }), NodeFileSystem.layer)
    yield* Claims.bound(Virtual.namespace, "left", { node: "node" })
    yield* Claims.bound(Virtual.namespace, "right", { node: "other" })
    const containers = [{ name: "web", image: "web" }]
    const volumesOf = (...claims: ReadonlyArray<string>) =>
      claims.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } }))
    yield* Client.create(Deployment, {
      metadata: Virtual.key("web"),
      spec: {
        replicas: 0,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers, volumes: volumesOf("left", "right") } }
      }
    })
    for (const claim of ["left", "right"]) {
      const key = Virtual.key(`uses-${claim}`)
      yield* Client.create(Pod, { metadata: { ...key, labels }, spec: { containers, volumes: volumesOf(claim) } })
      yield* eventually("it runs", Client.get(Pod, key), ({ status }) => status?.phase === "Running")
    }
  })
