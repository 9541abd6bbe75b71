/** The compiled binary with webhooks, called by the API server of a control plane. */

import * as Eventually from "@homeostat/testkit/Eventually"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import * as Envtest from "@homeostat/testkit/envtest/Envtest"
import { Effect, type Scope } from "effect"
import * as Binary from "../binary/Binary.ts"
import * as Endpoint from "../binary/Endpoint.ts"
import type * as Running from "../binary/Running.ts"

/** A control plane of its own, because the configurations apply to the whole cluster. */
export const options = { ...Envtest.everything, alone: true, timeoutMillis: 300_000 }

/** A port that is free now. */
export const freePort = Effect.sync(() => {
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() })
  const { port } = server
  void server.stop(true)
  return port ?? 0
})

/** A replica that runs no controllers, and serves all webhooks at a port. */
export const replica = (
  cluster: ControlPlane,
  port: number,
  flags: ReadonlyArray<string> = [],
  environment: Running.Environment = {}
): Effect.Effect<Running.Running, never, Scope.Scope> =>
  Binary.start(
    [
      "run",
      `--kubeconfig=${cluster.admin.kubeconfigPath}`,
      "--install-crds",
      "--selector=reconciled=never",
      "--webhooks",
      `--webhook-bind-address=127.0.0.1:${port}`,
      `--webhook-url=https://127.0.0.1:${port}`,
      ...flags
    ],
    { ...Binary.probed(cluster.directory), ...environment }
  )

/** Waits until a replica is ready. */
export const ready = (replica: Running.Running) =>
  Eventually.eventually("the replica is ready", Endpoint.get(replica, "/readyz"), ({ status }) => status === 200)

/** Runs kubectl with an object on its input. */
export const kubectl = (cluster: ControlPlane, args: ReadonlyArray<string>, object?: object) =>
  cluster.kubectl(args, object === undefined ? {} : { stdin: JSON.stringify(object) })
