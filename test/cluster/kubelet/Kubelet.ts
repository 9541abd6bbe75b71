/**
 * A node without a container runtime. The node registers itself and runs the pods that are bound to it, over a client of any API server.
 * An image that is mapped to a program runs as a child process; the kubelet simulates all others. Another client, such as a
 * restore of the API server, may write the status of a simulated pod. Then the kubelet continues the pod from that status.
 *
 * Permissions: nodes create, patch of nodes/status; pods list, watch, delete, patch of pods/status; secrets and configmaps get;
 * serviceaccounts/token and events create. The kubelet sends no heartbeats, because no node controller runs beside it.
 *
 * A program runs as the user of the tests and has access to the machine. The kubelet does not enforce `securityContext` (users,
 * capabilities, a read-only root file system), resource limits and read-only mounts. It rewrites paths in the environment and arguments to
 * the folders of the volumes (see `Program.command`). It probes programs over HTTP and TCP only. It runs only the hook `sleep` of
 * `preStop`. The tokens of ServiceAccounts are real and valid for an hour.
 */
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import { Node, Pod } from "@homeostat/runtime/resource/BuiltIn"
import * as Time from "@homeostat/runtime/resource/Time"
import * as Clock from "effect/Clock"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FiberMap from "effect/FiberMap"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import * as Directory from "../envtest/Directory.ts"
import { follow } from "../Follow.ts"
import * as Container from "./Container.ts"
import * as ContainerLog from "./ContainerLog.ts"
import type * as Environment from "./Environment.ts"
import * as PodStatus from "./PodStatus.ts"
import * as Volumes from "./PodVolumes.ts"
import * as PodWorker from "./PodWorker.ts"
import type * as Program from "./Program.ts"
import * as SimulatedPods from "./SimulatedPods.ts"

/** The requested log does not exist. The message has the words of kubectl. */
export class NoLog extends Data.TaggedError("NoLog")<{ readonly message: string }> {}

/** The options of a node. */
export interface Options {
  /** The name of the node; default `node`. */
  readonly name?: string | undefined
  /** The programs by image. The kubelet simulates the containers of all other images. */
  readonly images?: Program.Images | undefined
  /** Images that cannot be pulled: their pods wait in ImagePullBackOff. */
  readonly unpullable?: ReadonlyArray<string> | undefined
  /**
   * The URL of the API server for programs, such as `https://127.0.0.1:6443`. Every container gets it as KUBERNETES_SERVICE_HOST and
   * KUBERNETES_SERVICE_PORT. The address of the Service `kubernetes` is not routed on this machine.
   */
  readonly apiServer?: string | undefined
  /**
   * The second number of the addresses of pods, if their programs listen on addresses of their own: with 9, the program of the pod 10.9.0.1
   * listens on 127.9.0.1. So all pods can have the same port. Linux routes these addresses to this machine. Default: the pods have
   * addresses in 10.244, and all programs listen on 127.0.0.1.
   */
  readonly network?: number | undefined
  /** The folder for claims, volumes and logs. Default: a temporary folder if there are images, otherwise none. */
  readonly directory?: string | undefined
  /** Whether the kubelet writes Events. Default: true. */
  readonly events?: boolean | undefined
  /** The times of simulated pods: `startUp` until a pod is ready, and `run` until a completing container exits. */
  readonly startUp?: Duration.Input | undefined
  readonly run?: Duration.Input | undefined
  /** The behaviour of each simulated pod: how long it runs and how it ends, or why it does not start. */
  readonly pods?: SimulatedPods.Pods | undefined
}

/** Selects the log of one container. */
export interface LogRequest {
  readonly namespace: string
  readonly name: string
  /** The container; optional if the pod has only one. */
  readonly container?: string | undefined
  /** Limits the log to this number of lines from its end. */
  readonly tailLines?: number | undefined
}

/** A running node. The end of its Scope stops its containers. */
export interface Kubelet {
  readonly name: string
  /** Returns the address of this machine that stands for the address of a pod. */
  readonly host: (podIP: string) => string
  /** Returns the current log of a container; empty for a simulated container. */
  readonly logs: (request: LogRequest) => Effect.Effect<string, NoLog>
  /** Returns an effect that yields the current log, and then each further piece. It yields `undefined` when the container has ended. */
  readonly follow: (request: LogRequest) => Effect.Effect<Effect.Effect<string | undefined>, NoLog>
  /** Returns the folder with the contents of a PersistentVolumeClaim. */
  readonly claim: (namespace: string, name: string) => string
}

const capacity = { cpu: "1k", memory: "1Ti", "ephemeral-storage": "1Ti", pods: "1M" }

const register = (name: string, ip: string) =>
  Effect.gen(function* () {
    const labels = { "kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64" }
    const create = Client.create(Node, { metadata: { name, labels } }).pipe(
      Effect.catchTag("AlreadyExists", () => Effect.void)
    )
    const now = Time.seconds(yield* Clock.currentTimeMillis)
    const condition = {
      type: "Ready",
      status: "True",
      reason: "KubeletReady",
      message: "the embedded kubelet is ready",
      lastHeartbeatTime: now,
      lastTransitionTime: now
    }
    const addresses = [
      { type: "InternalIP", address: ip },
      { type: "Hostname", address: name }
    ]
    const status = { conditions: [condition], addresses, capacity, allocatable: capacity }
    const report = Client.status.patch(Node, { name }, Patch.merge({ status }), { fieldManager: "kubelet" })
    // The node of a restored cluster exists already.
    yield* Effect.catchTag(report, "NotFound", () => Effect.andThen(create, report))
  }).pipe(
    // Retries until the API server accepts the node.
    Effect.retry(Schedule.spaced("1 second")),
    Effect.orDie
  )

/** Returns the variables of the API server, which a kubelet sets in every container. */
const environmentOf = (server: string | undefined): Environment.Variables => {
  if (server === undefined) return {}
  const { hostname, port } = new URL(server)
  return { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port, KUBERNETES_SERVICE_PORT_HTTPS: port }
}

/** Starts a node, and returns when the node is registered. */
export const start = (
  options: Options
): Effect.Effect<Kubelet, never, Client.Client | FileSystem.FileSystem | Scope.Scope> =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const name = options.name ?? "node"
    const images = options.images ?? {}
    const network = `10.${options.network ?? 244}`
    const host = (podIP: string) => (options.network === undefined ? "127.0.0.1" : podIP.replace("10.", "127."))
    const isPretended = Object.keys(images).length === 0
    const places = Volumes.places(options.directory ?? (isPretended ? "" : yield* Directory.make))
    let addresses = 0
    const node: PodWorker.Node = {
      name,
      ip: "127.0.0.1",
      images,
      unpullable: options.unpullable ?? [],
      times: {
        startUp: Duration.fromInputUnsafe(options.startUp ?? SimulatedPods.defaults.startUp),
        run: Duration.fromInputUnsafe(options.run ?? SimulatedPods.defaults.run)
      },
      pods: options.pods,
      events: options.events ?? true,
      places,
      environment: environmentOf(options.apiServer),
      host,
      address: () => {
        addresses++
        return `${network}.${(addresses >> 8) & 255}.${addresses & 255}`
      }
    }
    yield* register(name, node.ip)

    const workers = yield* FiberMap.make<string>()
    const current = new Map<string, PodWorker.Worker>()
    const pods = new Map<string, Pod>()
    const context = yield* Effect.context<Client.Client | FileSystem.FileSystem>()
    /** Starts a worker that continues a pod from its status, when the previous worker has ended. */
    const begin = (pod: Pod): Effect.Effect<void> =>
      Effect.gen(function* () {
        const { deletionTimestamp, uid } = pod.metadata
        const before = FiberMap.getUnsafe(workers, uid)
        current.delete(uid)
        // A pod that has ended needs no worker.
        if (PodStatus.isOver(pod.status?.phase) && deletionTimestamp === undefined) {
          return Option.isSome(before) ? before.value.interruptUnsafe() : undefined
        }
        const { podIP = "" } = pod.status ?? {}
        const [high = 0, low = 0] = podIP.startsWith(`${network}.`) ? podIP.split(".").slice(2).map(Number) : []
        addresses = Math.max(addresses, high * 256 + low)
        const again = Effect.suspend(() => {
          const now = pods.get(uid)
          return now === undefined || current.get(uid) !== worker ? Effect.void : begin(now)
        })
        const worker: PodWorker.Worker = yield* PodWorker.make(node, pod, again)
        current.set(uid, worker)
        yield* worker.update(pod)
        const run = Option.isSome(before) ? Effect.andThen(Fiber.interrupt(before.value), worker.run) : worker.run
        yield* FiberMap.run(workers, uid, Effect.provide(run, context))
      })
    const seen = (pod: Pod) =>
      Effect.suspend(() => {
        const { uid } = pod.metadata
        pods.set(uid, pod)
        return current.get(uid)?.update(pod) ?? begin(pod)
      })
    const gone = ({ metadata: { uid } }: Pod) =>
      Effect.suspend(() => {
        const worker = current.get(uid)
        pods.delete(uid)
        current.delete(uid)
        return worker === undefined ? Effect.void : worker.update(undefined)
      })
    yield* Effect.forkScoped(follow(Pod, { fieldSelector: `spec.nodeName=${name}` }, { seen, gone }))

    const logOf = (request: LogRequest) =>
      Effect.gen(function* () {
        const pod = [...pods.values()].find(
          ({ metadata }) => metadata.namespace === request.namespace && metadata.name === request.name
        )
        if (pod === undefined) return yield* new NoLog({ message: `pod ${request.name} is not on this node` })
        const { spec, status } = pod
        const container = request.container ?? spec?.containers[0]?.name ?? ""
        if ([...(spec?.initContainers ?? []), ...(spec?.containers ?? [])].every(({ name }) => name !== container)) {
          return yield* new NoLog({ message: `container ${container} is not valid for pod ${request.name}` })
        }
        const path = Container.logOf(places, pod.metadata.uid, container)
        const { waiting } = PodStatus.stateOf(status, container) ?? { waiting: { reason: "ContainerCreating" } }
        // A container that waits for its restart has a log from before.
        if (waiting !== undefined && !(yield* Effect.orElseSucceed(fs.exists(path), () => false))) {
          return yield* new NoLog({
            message: `container "${container}" in pod "${request.name}" is waiting to start: ${waiting.reason}`
          })
        }
        return {
          read: Effect.orElseSucceed(fs.readFileString(path), () => ""),
          hasEnded: Effect.sync(() => {
            const now = pods.get(pod.metadata.uid)
            return now === undefined || PodStatus.stateOf(now.status, container)?.terminated !== undefined
          })
        }
      })

    return {
      name,
      host,
      logs: (request) =>
        Effect.flatMap(logOf(request), ({ read }) =>
          Effect.map(read, (log) => ContainerLog.tail(log, request.tailLines))
        ),
      follow: (request) =>
        Effect.map(logOf(request), ({ hasEnded, read }) => ContainerLog.follow(read, hasEnded, request.tailLines)),
      claim: places.claim
    }
  })
