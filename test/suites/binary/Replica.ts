/** Replicas of a program, as processes, that elect a leader among them for one namespace. */
import { join } from "node:path"
import * as Client from "@homeostat/runtime/client/Client"
import { Lease } from "@homeostat/runtime/resource/BuiltIn"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import { Effect, type Scope } from "effect"
import * as Managed from "../Managed.ts"
import * as Binary from "./Binary.ts"
import * as Endpoint from "./Endpoint.ts"
import * as Running from "./Running.ts"

/** How a replica is started. */
export interface Options {
  readonly namespace: string
  /** The name of its Lease. Default `homeostat`. */
  readonly lease?: string | undefined
  /** Further flags. */
  readonly flags?: ReadonlyArray<string> | undefined
  /** Where its API server is, if not where the control plane says. */
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

/** A replica of the binary. */
export const homeostat = start(Binary.start)

/** A replica of the fixture that takes its time. */
export const slow = start((args, environment) =>
  Running.start([process.execPath, join(import.meta.dir, "fixtures", "slow.ts"), ...args], environment)
)

/** For tests in which a leader does not give its Lease back. */
export const short = [
  "--leader-elect-lease-duration=3s",
  "--leader-elect-renew-deadline=2s",
  "--leader-elect-retry-period=400ms"
]

/** Whether it leads, by its own account. */
export const leads = (replica: Running.Running): Effect.Effect<boolean, Running.NotWritten> =>
  Effect.map(Endpoint.metric(replica, "leader_election_master_status"), (status) => status === 1)

/** Waits until it leads. */
export const leading = (replica: Running.Running) =>
  Managed.eventually(`that ${replica.pid} leads`, leads(replica), (is) => is)

/** Waits until it stands by: it has seen the Lease in other hands, and has read all that it would work on. */
export const standingBy = (replica: Running.Running) =>
  Effect.zipRight(
    replica.written(/Standing by/),
    Managed.eventually(`that ${replica.pid} is ready`, Endpoint.get(replica, "/readyz"), ({ status }) => status === 200)
  )

/** The Lease of a namespace, of which there is to be one. */
export const leaseOf = (namespace: string) =>
  Effect.flatMap(Client.list(Lease, { namespace }), ({ items: [lease, ...more] }) =>
    lease === undefined || more.length > 0 ? Effect.fail("there is not one Lease") : Effect.succeed(lease)
  )
