/** Replicas of a program, as processes that elect a leader for one namespace. */
import { join } from "node:path"
import * as Client from "@homeostat/runtime/client/Client"
import { Lease } from "@homeostat/runtime/resource/BuiltIn"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import { Effect, type Scope } from "effect"
import * as Managed from "../Managed.ts"
import * as Binary from "./Binary.ts"
import * as Endpoint from "./Endpoint.ts"
import * as Running from "./Running.ts"

/** The options of a replica. */
export interface Options {
  readonly namespace: string
  /** The name of the Lease. Default: `homeostat`. */
  readonly lease?: string | undefined
  /** Further flags. */
  readonly flags?: ReadonlyArray<string> | undefined
  /** The kubeconfig of the replica. Default: the control plane's. */
  readonly kubeconfig?: string | undefined
}

const start =
  (
    launch: (
      args: ReadonlyArray<string>,
      environment: Running.Environment
    ) => Effect.Effect<Running.Running, never, Scope.Scope>
  ) =>
  (cluster: ControlPlane, { flags = [], kubeconfig, lease = "homeostat", namespace }: Options) =>
    launch(
      [
        "run",
        `--kubeconfig=${kubeconfig ?? cluster.admin.kubeconfigPath}`,
        `--namespace=${namespace}`,
        "--leader-elect",
        `--leader-elect-resource-namespace=${namespace}`,
        `--leader-elect-resource-name=${lease}`,
        ...flags
      ],
      Binary.probed(cluster.directory)
    )

/** Starts a replica of the program. */
export const homeostat = start(Binary.start)

/** Starts a replica of the slow fixture. */
export const slow = start((args, environment) =>
  Running.start([process.execPath, join(import.meta.dir, "fixtures", "slow.ts"), ...args], environment)
)

/** Flags with short election times, for tests in which a leader does not release its Lease. */
export const short = [
  "--leader-elect-lease-duration=3s",
  "--leader-elect-renew-deadline=2s",
  "--leader-elect-retry-period=400ms"
]

/** Whether the replica leads, according to its own metrics. */
export const leads = (replica: Running.Running): Effect.Effect<boolean, Running.NotWritten> =>
  Effect.map(Endpoint.metric(replica, "leader_election_master_status"), (status) => status === 1)

/** Waits until the replica leads. */
export const leading = (replica: Running.Running) =>
  Managed.eventually(`that ${replica.pid} leads`, leads(replica), (is) => is)

/** Waits until the replica stands by: another process holds the Lease, and the replica's caches are synchronized. */
export const standingBy = (replica: Running.Running) =>
  Effect.andThen(
    replica.written(/Standing by/),
    Managed.eventually(`that ${replica.pid} is ready`, Endpoint.get(replica, "/readyz"), ({ status }) => status === 200)
  )

/** The only Lease of a namespace. */
export const leaseOf = (namespace: string) =>
  Effect.flatMap(Client.list(Lease, { namespace }), ({ items: [lease, ...more] }) =>
    lease === undefined || more.length > 0 ? Effect.fail("there is not one Lease") : Effect.succeed(lease)
  )
