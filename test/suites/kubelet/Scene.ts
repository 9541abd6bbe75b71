/** What each test of the kubelet begins with: a node of its own in a namespace of its own, and pods on it. */
import type * as FileSystem from "@effect/platform/FileSystem"
import { BunContext } from "@effect/platform-bun"
import * as Client from "@homeostat/runtime/client/Client"
import { Pod } from "@homeostat/runtime/resource/BuiltIn"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import * as Directory from "@homeostat/testkit/envtest/Directory"
import * as Kubelet from "@homeostat/testkit/kubelet/Kubelet"
import * as Program from "@homeostat/testkit/kubelet/Program"
import * as Shared from "@homeostat/testkit/Shared"
import { Effect, type Scope } from "effect"
import * as Managed from "../Managed.ts"

/** A node and the namespace of its pods. */
export interface Scene {
  readonly cluster: ControlPlane
  readonly namespace: string
  readonly kubelet: Kubelet.Kubelet
  /** The folder that it keeps its claims in. */
  readonly directory: string
}

/** An image that no registry has. */
export const gone = "registry.test/gone:1"

/** A shell, which sees its mounts where the container has them. */
export const shell = Program.command(["sh", "-c"], ["/data", "/etc/settings", "/etc/keys"])

/** A test with a node of its own, to which pods are bound by name. */
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
        }).pipe(Effect.provide(client), Effect.provide(BunContext.layer))
      }),
    { controllers: true }
  )

type PodSpec = NonNullable<Pod["spec"]>

/** A pod on the node that runs a shell, and is not restarted unless that is said. */
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

/** A pod of the scene. */
export const pod = ({ namespace }: Scene, name: string) => Client.get(Pod, { namespace, name })

/** Makes a pod. */
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

/** A program that writes the id of its process, and can only be killed. */
export const stubborn = "trap '' TERM; echo $$; while :; do sleep 0.05; done"

/** The process of the pod `server`, which writes its id. */
export const pidOf = (kubelet: Kubelet.Kubelet, namespace: string) =>
  Effect.map(
    Managed.eventually("it writes", kubelet.logs({ namespace, name: "server" }), (log) => log.endsWith("\n")),
    Number
  )

/** Whether there is such a process. */
export const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** Waits until a pod is in a phase. */
export const phase = (scene: Scene, name: string, wanted: string) =>
  Managed.eventually(`pod ${name} is ${wanted}`, pod(scene, name), ({ status }) => status?.phase === wanted)

/** What the pod's first container does. */
export const state = ({ status }: Pod) => status?.containerStatuses?.[0]?.state
