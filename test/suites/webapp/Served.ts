/**
 * The scene of a test with real pods, on a real control plane: a namespace with the WebApp controller, and a node that runs a small HTTP
 * server for each pod. Each server has its own address of this machine, as Linux routes them.
 */
import * as NodeFileSystem from "@effect/platform-node-shared/NodeFileSystem"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import { Deployment, Node, Pod } from "@homeostat/runtime/resource/BuiltIn"
import * as Port from "@homeostat/testkit/envtest/Port"
import * as Kubelet from "@homeostat/testkit/kubelet/Kubelet"
import type * as Program from "@homeostat/testkit/kubelet/Program"
import * as Shared from "@homeostat/testkit/Shared"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect, Random, type Scope } from "effect"
import * as Managed from "../Managed.ts"
import * as Scene from "./Scene.ts"

/** A scene with a node. */
export interface Served extends Scene.Scene {
  readonly manager: Managed.Managed
  readonly node: Kubelet.Kubelet
  /** The port on which the servers listen. */
  readonly port: number
  /** A port on which no program listens. */
  readonly wrongPort: number
}

/** The versions of the server. All of them listen on the port of the scene, and their answer is their version. */
const versions = ["v1", "v2", "v3"]

/** The image of a version of the server. `elsewhere` listens on the wrong port, and `crashing` exits with an error. */
export const image = (version: string): string => `registry.test/web:${version}`

/** Changes the version that a WebApp runs. */
export const setImage = (scene: Scene.Scene, name: string, version: string) =>
  Client.patch(WebApp, scene.key(name), Patch.merge({ spec: { image: image(version) } }))

/**
 * A usual program: its start takes a while, an answer takes some milliseconds, and SIGTERM ends it at once, with the requests on their way.
 */
const source = `
await Bun.sleep(1500)
Bun.serve({ hostname: process.env.HOST, port: Number(process.env.PORT), fetch: async () => {
  await Bun.sleep(20)
  return new Response(process.env.VERSION)
} })`

const server =
  (version: string, port: number): Program.Program =>
  ({ env, host }) => ({
    executable: process.execPath,
    args: ["-e", source],
    env: { ...env, HOST: host, PORT: String(port), VERSION: version }
  })

const crash: Program.Program = ({ env }) => ({ executable: "sh", args: ["-c", "echo no database; exit 1"], env })

const imagesOf = (port: number, wrongPort: number): Program.Images =>
  Object.fromEntries([
    ...versions.map((version) => [image(version), server(version, port)] as const),
    [image("elsewhere"), server("elsewhere", wrongPort)],
    [image("crashing"), crash]
  ])

/** Starts a node for the lifetime of the scope. The scope's end deletes the node's pods before the node. */
const nodeOf = (namespace: string, images: Program.Images) =>
  Effect.gen(function* () {
    yield* Effect.addFinalizer(() => Effect.ignore(Client.delete(Node, { name: namespace })))
    const network = yield* Random.nextIntBetween(1, 244, { halfOpen: true })
    const kubelet = yield* Kubelet.start({ name: namespace, network, images })
    yield* Effect.addFinalizer(() =>
      Client.deleteAll(Deployment, { namespace, propagation: "Background" }).pipe(
        Effect.andThen(Client.deleteAll(Pod, { namespace, gracePeriodSeconds: 0 })),
        Effect.ignore
      )
    )
    return kubelet
  }).pipe(Effect.provide(NodeFileSystem.layer))

/** Declares a test. It needs its own control plane, because kwok would simulate the pods of all nodes. */
export const real = <A, E>(
  name: string,
  body: (scene: Served) => Effect.Effect<A, E, Scope.Scope | Client.Client>,
  timeoutMillis?: number
): void =>
  Shared.real(
    name,
    (cluster) =>
      Effect.gen(function* () {
        yield* Scene.install(cluster)
        const scene = Scene.of(cluster, yield* cluster.namespace("webapp"))
        return yield* Effect.gen(function* () {
          const port = yield* Port.free
          const wrongPort = yield* Effect.repeat(Port.free, { until: (other) => other !== port })
          const node = yield* nodeOf(scene.namespace, imagesOf(port, wrongPort))
          const manager = yield* scene.manage()
          return yield* body({ ...scene, manager, node, port, wrongPort })
        }).pipe(Effect.provide(yield* Managed.client(cluster)))
      }),
    { controllers: true, scheduler: true, timeoutMillis }
  )
