/** A node and a namespace for each test of the kubelet. */
import * as NodeFileSystem from "@effect/platform-node-shared/NodeFileSystem"

import * as Client from "@homeostat/runtime/client/Client"
import { Pod } from "@homeostat/runtime/resource/BuiltIn"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import * as Directory from "@homeostat/testkit/envtest/Directory"
import * as Kubelet from "@homeostat/testkit/kubelet/Kubelet"
import * as Program from "@homeostat/testkit/kubelet/Program"
import * as Shared from "@homeostat/testkit/Shared"
import { Effect, type Scope } from "effect"
import type * as FileSystem from "effect/FileSystem"
import * as Managed from "../Managed.ts"

export interface Scene {
  readonly cluster: ControlPlane
  readonly namespace: string
  readonly kubelet: Kubelet.Kubelet
  /** The folder with the data of the claims. */
  readonly directory: string
}

/** An image that cannot be pulled. */
export const gone = "registry.test/gone:1"

/** A shell with these mount points. */
export const shell = Program.command(["sh", "-c"], ["/data", "/etc/settings", "/etc/keys"])

/** Declares a test with a node. Pods name the node in their spec. */
export const onNode = <A, E>(
  name: string,
  body: (scene: Scene) => Effect.Effect<A, E, Scope.Scope | Client.Client | FileSystem.FileSystem>
): void =>
  Shared.cluster(
    name,
    (cluster) =>
      Effect.gen(function* () {
        const namespace = yield* cluster.namespace("kubelet")
        const client = yield* Managed.client(cluster)
        yield* Effect.gen(function* () {
          const directory = yield* Directory.make
          const images = { "registry.test/shell": shell }
          const kubelet = yield* Kubelet.start({ name: namespace, directory, images, unpullable: [gone] })
          return yield* body({ cluster, namespace, kubelet, directory })
        }).pipe(Effect.provide(client), Effect.provide(NodeFileSystem.layer))
      }),
    { controllers: true }
  )

type PodSpec = NonNullable<Pod["spec"]>

/** A pod on the node that runs a shell, by default without restarts. */
export const podSpec = (
  scene: Scene,
  container: Partial<PodSpec["containers"][number]>,
  spec: Partial<PodSpec> = {}
): PodSpec => ({
  nodeName: scene.namespace,
  restartPolicy: "Never",
  ...spec,
  containers: [{ name: "main", image: "registry.test/shell:1", ...container }]
})

export const pod = ({ namespace }: Scene, name: string) => Client.get(Pod, { namespace, name })

export const run = (
  scene: Scene,
  name: string,
  container: Partial<PodSpec["containers"][number]>,
  spec: Partial<PodSpec> = {},
  annotations: { readonly [name: string]: string } = {}
) =>
  Client.create(Pod, {
    metadata: { namespace: scene.namespace, name, annotations },
    spec: podSpec(scene, container, spec)
  })

/** A program that prints its process id and ignores SIGTERM. Kubernetes replaces `$$` in arguments by `$`. */
export const stubborn = "trap '' TERM; echo $$$$; while :; do sleep 0.05; done"

/** The process id that the pod `server` has printed. */
export const pidOf = (kubelet: Kubelet.Kubelet, namespace: string) =>
  Effect.map(
    Managed.eventually("a number", kubelet.logs({ namespace, name: "server" }), (log) => /^\d+\n$/.test(log)),
    Number
  )

export const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

export const phase = (scene: Scene, name: string, wanted: string) =>
  Managed.eventually(`pod ${name} is ${wanted}`, pod(scene, name), ({ status }) => status?.phase === wanted)

/** The state of the first container. */
export const state = ({ status }: Pod) => status?.containerStatuses?.[0]?.state

/** Waits until the container is in the waiting state with this reason. */
export const waiting = (scene: Scene, name: string, reason: string) =>
  Managed.eventually(reason, pod(scene, name), (seen) => state(seen)?.waiting?.reason === reason)

/** Waits until the namespace has no pods. */
export const noPods = ({ namespace }: Scene) =>
  Managed.eventually("no pods", Client.list(Pod, { namespace }), ({ items }) => items.length === 0)

/** A mount of the claim `data`, with its path in `$DATA`. */
export const dataMount = {
  env: [{ name: "DATA", value: "/data" }],
  volumeMounts: [{ name: "data", mountPath: "/data" }]
}

export const dataVolumes = [{ name: "data", persistentVolumeClaim: { claimName: "data" } }]
