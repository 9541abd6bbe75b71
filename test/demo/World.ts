/** The embedded cluster and the manager of the demo. Both run in this process and communicate over HTTP. */
import type * as Client from "@homeostat/runtime/client/Client"
import * as Run from "@homeostat/runtime/command/Run"
import type { Attempt } from "@homeostat/runtime/controller/Attempt"
import * as EmbeddedCluster from "@homeostat/testkit/EmbeddedCluster"
import { eventually } from "@homeostat/testkit/Eventually"
import * as Directory from "@homeostat/testkit/envtest/Directory"
import * as Port from "@homeostat/testkit/envtest/Port"
import * as User from "@homeostat/testkit/envtest/User"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import { program } from "../../controllers/main.ts"
import * as Backups from "./Backups.ts"
import type { Narrator } from "./Narrator.ts"
import * as Story from "./Story.ts"

/** The cluster and the manager, for the demo and for its user. */
export interface World {
  /** The client for the demo's own reads and writes. */
  readonly client: Layer.Layer<Client.Client>
  readonly kubeconfigPath: string
  readonly metrics: string
  readonly probes: string
  /** The folder with the files of a claim. */
  readonly claimFolder: (namespace: string, claim: string) => string
  /** The image of the movers on the cluster's node. */
  readonly mover: Backups.MoverImage
  /** The last reconcile that changed a Deployment for a new spec, with its trace. */
  readonly lastRollout: () => Attempt | undefined
  /** Fails if the manager fails, and never ends otherwise. */
  readonly broken: Effect.Effect<never, unknown>
}

const isReady = (probes: string) =>
  Effect.tryPromise(() => fetch(`${probes}/readyz`)).pipe(Effect.map(({ status }) => status === 200))

/** Starts the cluster and the manager, and returns when the manager is ready. Both stop at the end of the Scope. */
export const start = (narrator: Narrator) =>
  Effect.gen(function* () {
    const directory = yield* Directory.make
    const mover = Backups.image(directory)
    const cluster = yield* EmbeddedCluster.make({
      kubelet: { directory, images: mover.images, startUp: "400 millis", unpullable: [Story.unpullable] }
    })
    const server = yield* cluster.serve()
    const { kubeconfigPath } = yield* User.make(directory, { server, ca: undefined, user: "you" }, [])
    yield* narrator.report("cluster", `a Kubernetes API server, its controllers and a node, on ${server}`)

    const metrics = `${Port.host}:${yield* Port.free}`
    const probes = `${Port.host}:${yield* Port.free}`
    let lastRollout: Attempt | undefined
    const record = (attempt: Attempt) =>
      Effect.sync(() => {
        if (attempt.corrections.some(({ kind, reason }) => kind === "Deployment" && reason === "intent"))
          lastRollout = attempt
      })
    const nothing = { attempts: () => Effect.void, webhooks: () => {} }
    // Tracing is always on, because the demo shows a trace. The traces are exported only if the environment configures that.
    const traced: typeof program = {
      ...program,
      tracing: (setup) =>
        Result.map(program.tracing(setup), (exporting = Effect.succeed(nothing)) =>
          Effect.map(exporting, ({ attempts, webhooks }) => ({
            attempts: (attempt) => Effect.andThen(attempts(attempt), record(attempt)),
            webhooks
          }))
        )
    }
    const run = Run.verb(traced).run({
      program: program.name,
      args: [
        `--kubeconfig=${kubeconfigPath}`,
        "--install-crds",
        "--leader-elect",
        "--leader-elect-resource-namespace=default",
        `--metrics-bind-address=${metrics}`,
        `--health-probe-bind-address=${probes}`,
        "--log-level=warning",
        "--log-format=pretty"
      ],
      environment: {}
    })
    // The manager gets only these flags: the environment variables of the user are for the user's own manager.
    const manager = Effect.provideService(run, ConfigProvider.ConfigProvider, ConfigProvider.fromEnvRecord({}))
    const running = yield* Effect.forkScoped(manager)
    const ready = eventually("the manager is ready", isReady(`http://${probes}`), (is) => is)
    // The manager ends by itself only with an error.
    const broken = Effect.andThen(Fiber.join(running), Effect.never)
    yield* Effect.raceFirst(ready, broken)
    yield* narrator.report("manager", `runs ${program.controllers.map(({ name }) => name).join(", ")}, as the leader`)
    const reached = { client: cluster.client, kubeconfigPath, metrics, probes }
    const claimFolder = cluster.kubelet?.claim ?? (() => directory)
    return { ...reached, claimFolder, mover, lastRollout: () => lastRollout, broken } satisfies World
  })
