/**
 * A cluster in which Homeostat is installed as its page says, by kubectl, with a node that runs its pod: the compiled program in the
 * root of its image, as the Deployment has it, with the token and the authority that a pod gets. Nothing is told to it by the test.
 */
import { join } from "node:path"
import { BunContext } from "@effect/platform-bun"
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

/** kubectl has failed, or has warned. */
export class Complaint extends Data.TaggedError("Complaint")<{
  readonly args: ReadonlyArray<string>
  readonly stderr: string
}> {
  override get message(): string {
    return `kubectl ${this.args.join(" ")}: ${this.stderr.trim()}`
  }
}

/** Runs kubectl, which must have nothing to complain of: its output, trimmed. */
export const kubectl = (cluster: ControlPlane, args: ReadonlyArray<string>, stdin?: string) =>
  Effect.flatMap(cluster.kubectl(args, { stdin }), ({ exitCode, stderr, stdout }) =>
    exitCode === 0 && stderr === "" ? Effect.succeed(stdout.trim()) : new Complaint({ args, stderr })
  )

/** What was installed. */
export interface Installation {
  /** The folder of the overlay. */
  readonly overlay: string
  /** As whom the manager works, as the API server calls it. */
  readonly account: string
}

/** The cluster with a node, before anything is installed. */
export interface Scene {
  readonly cluster: ControlPlane
  readonly kubelet: Kubelet.Kubelet
  readonly kubectl: (...args: ReadonlyArray<string>) => ReturnType<typeof kubectl>
  /** Has kubectl apply an object. */
  readonly apply: (object: object) => ReturnType<typeof kubectl>
  /**
   * Installs an overlay and waits until its manager is ready. At the end of the Scope it is taken away, unless the test has done so.
   */
  readonly install: (overlay: (typeof Overlay.names)[number]) => Effect.Effect<Installation, unknown, Scope.Scope>
  /** Where the manager in the pod listens. */
  readonly ports: { readonly metrics: number; readonly probes: number }
  /** What the manager has logged. */
  readonly log: Effect.Effect<string, unknown, Client.Client>
}

/** As in a cluster that is not for tests, pods get the token of their ServiceAccount by admission. */
export const options: Envtest.Options = {
  controllers: true,
  scheduler: true,
  tokens: true
}

/** Where the manager runs. */
export const namespace = "homeostat-system"

/** The folder of an overlay with ports of its own: pods have the network of this machine, where others may have the usual ports. */
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

/** A test in such a cluster. */
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
            // Objects first: of their kinds none goes before them, and some wait for the manager.
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
          Effect.tapErrorCause(() =>
            Effect.flatMap(
              Effect.orElseSucceed(log, () => "nothing"),
              (log) => Effect.sync(() => process.stderr.write(`--- the manager has logged\n${log}\n`))
            )
          )
        )
      }).pipe(Effect.provide(BunContext.layer), (effect) =>
        Effect.flatMap(Managed.client(cluster), (client) => Effect.provide(effect, client))
      ),
    { ...options, timeoutMillis: 180_000 }
  )
