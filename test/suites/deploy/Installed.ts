/**
 * Installs Homeostat with kubectl, as deploy/README.md describes, on a cluster whose node runs the manager's pod. The pod runs the
 * compiled program in the root of its image. It gets its flags from the Deployment, and its token and CA from the cluster.
 */
import { join } from "node:path"
import * as NodeFileSystem from "@effect/platform-node-shared/NodeFileSystem"
import * as Client from "@homeostat/runtime/client/Client"
import { Node } from "@homeostat/runtime/resource/BuiltIn"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import * as Directory from "@homeostat/testkit/envtest/Directory"
import type * as Envtest from "@homeostat/testkit/envtest/Envtest"
import * as Port from "@homeostat/testkit/envtest/Port"
import * as Kubelet from "@homeostat/testkit/kubelet/Kubelet"
import * as Shared from "@homeostat/testkit/Shared"
import { Data, Effect, type Scope } from "effect"
import * as Mover from "../../Mover.ts"
import * as Root from "../../Root.ts"
import * as Restic from "../backup/Restic.ts"
import * as Binary from "../binary/Binary.ts"
import * as Managed from "../Managed.ts"
import * as Operator from "./Operator.ts"
import * as Overlay from "./Overlay.ts"

/** kubectl failed, or printed a warning. */
export class Complaint extends Data.TaggedError("Complaint")<{
  readonly args: ReadonlyArray<string>
  readonly stderr: string
}> {
  override get message(): string {
    return `kubectl ${this.args.join(" ")}: ${this.stderr.trim()}`
  }
}

/** Runs kubectl, and returns its trimmed output. Fails with a Complaint if kubectl fails or prints a warning. */
export const kubectl = (cluster: ControlPlane, args: ReadonlyArray<string>, stdin?: string) =>
  Effect.flatMap(cluster.kubectl(args, { stdin }), ({ exitCode, stderr, stdout }) =>
    exitCode === 0 && stderr === "" ? Effect.succeed(stdout.trim()) : new Complaint({ args, stderr })
  )

/** An installed overlay. */
export interface Installation {
  /** The folder of the overlay. */
  readonly overlay: string
  /** The user name of the manager's ServiceAccount, as the API server names it. */
  readonly account: string
}

/** A cluster with a node, before the installation. */
export interface Scene {
  readonly cluster: ControlPlane
  readonly kubelet: Kubelet.Kubelet
  readonly kubectl: (...args: ReadonlyArray<string>) => ReturnType<typeof kubectl>
  /** Applies an object with kubectl. */
  readonly apply: (object: object) => ReturnType<typeof kubectl>
  /**
   * Installs an overlay, and waits until the manager is ready. The end of the Scope deletes the overlay, unless the test has deleted it.
   */
  readonly install: (overlay: (typeof Overlay.names)[number]) => Effect.Effect<Installation, unknown, Scope.Scope>
  /** The ports of the manager in the pod. */
  readonly ports: { readonly metrics: number; readonly probes: number }
  /** The manager's log so far. */
  readonly log: Effect.Effect<string, unknown, Client.Client>
}

/**
 * The control plane of these tests. As in a production cluster, admission mounts the token of the ServiceAccount into each pod.
 */
export const options: Envtest.Options = {
  controllers: true,
  scheduler: true,
  tokens: true
}

/** The namespace of the manager. */
export const namespace = "homeostat-system"

/**
 * Creates an overlay with free ports, and returns its folder. Pods share the network of this machine, where other programs may use the
 * default ports.
 */
const overlayOn = (overlay: (typeof Overlay.names)[number], ports: Scene["ports"]) => {
  const container = "/spec/template/spec/containers/0"
  const patch = [
    { op: "add", path: `${container}/args/-`, value: `--metrics-bind-address=:${ports.metrics}` },
    { op: "add", path: `${container}/args/-`, value: `--health-probe-bind-address=:${ports.probes}` },
    { op: "replace", path: `${container}/ports/0/containerPort`, value: ports.metrics },
    { op: "replace", path: `${container}/ports/1/containerPort`, value: ports.probes }
  ]
  const kustomization = {
    apiVersion: "kustomize.config.k8s.io/v1beta1",
    kind: "Kustomization",
    resources: [`homeostat/deploy/overlays/${overlay}`],
    patches: [{ target: { kind: "Deployment", name: "homeostat" }, patch: JSON.stringify(patch) }]
  }
  return Overlay.own(JSON.stringify(kustomization))
}

const node = (cluster: ControlPlane) =>
  Effect.gen(function* () {
    const directory = yield* Directory.make
    const root = yield* Root.prepare(join(directory, "root"), yield* Binary.path)
    const images = { homeostat: Root.image(root), [Mover.image]: Mover.program(yield* Restic.find) }
    yield* Effect.addFinalizer(() => Effect.ignore(Client.delete(Node, { name: "node" })))
    return yield* Kubelet.start({ name: "node", directory: join(directory, "node"), apiServer: cluster.url, images })
  })

/** Declares a test on such a cluster. */
export const installed = <A, E>(
  name: string,
  body: (scene: Scene) => Effect.Effect<A, E, Scope.Scope | Client.Client>
): void =>
  Shared.real(
    name,
    (cluster) =>
      Effect.gen(function* () {
        const ports = { metrics: yield* Port.free, probes: yield* Port.free }
        const kubelet = yield* node(cluster)
        const run: Scene["kubectl"] = (...args) => kubectl(cluster, args)
        const apply: Scene["apply"] = (object) => kubectl(cluster, ["apply", "-f", "-"], JSON.stringify(object))
        const log = Effect.gen(function* () {
          const pod = yield* run(
            "get",
            "pod",
            "-n",
            namespace,
            "-l",
            "app.kubernetes.io/component=manager",
            "-o",
            "name"
          )
          return yield* kubelet.logs({ namespace, name: pod.replace("pod/", "") })
        })
        const install: Scene["install"] = (overlay) =>
          Effect.gen(function* () {
            if (overlay === "monitoring") yield* cluster.install(...Operator.definitions)
            const folder = yield* overlayOn(overlay, ports)
            // Objects are deleted before their CRDs, and the deletion of some objects needs the running manager.
            const remove = [
              ["delete", "webapps,backups,restores", "--all", "--all-namespaces", "--timeout=30s"],
              ["delete", "-k", folder, "--ignore-not-found", "--timeout=40s"]
            ]
            yield* Effect.acquireRelease(run("apply", "-k", folder), () =>
              Effect.forEach(remove, (args) => Effect.ignore(cluster.kubectl(args)), { discard: true })
            )
            yield* run("rollout", "status", "-n", namespace, "deployment/homeostat", "--timeout=40s")
            return { overlay: folder, account: `system:serviceaccount:${namespace}:homeostat` }
          })
        return yield* body({ cluster, kubelet, kubectl: run, apply, install, log, ports }).pipe(
          Effect.tapCause(() =>
            Effect.flatMap(
              Effect.orElseSucceed(log, () => "nothing"),
              (log) => Effect.sync(() => process.stderr.write(`--- the manager has logged\n${log}\n`))
            )
          )
        )
      }).pipe(Effect.provide(NodeFileSystem.layer), (effect) =>
        Effect.flatMap(Managed.client(cluster), (client) => Effect.provide(effect, client))
      ),
    { ...options, timeoutMillis: 180_000 }
  )
