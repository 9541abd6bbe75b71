/**
 * Kubernetes for tests, as controller-runtime's envtest is for Go: `Envtest.start` gives a control plane for the lifetime
 * of a Scope. A test that needs no special one takes the shared one instead, see `Shared`.
 */
import { Effect, type Scope } from "effect"
import * as ControlPlane from "./ControlPlane.ts"
import * as ExistingCluster from "./ExistingCluster.ts"
import * as OwnControlPlane from "./OwnControlPlane.ts"

/** The programs to start besides etcd and kube-apiserver. */
export type Options = OwnControlPlane.Options

/** Why there is no control plane. A program that is missing, too, is an error: no test is skipped for it. */
export type Failure = OwnControlPlane.Failure | ExistingCluster.Failure | ControlPlane.NotOurs

/** All there is: Deployments become available, Jobs complete, and what is deleted goes with all it owns. */
export const everything: Options = { controllers: true, scheduler: true, kwok: true }

/**
 * Starts a control plane and waits until it is ready; three to five seconds for etcd and kube-apiserver on two cores. At the end of the
 * Scope no process and no file is left, nor when this process is killed (after a few seconds, then).
 *
 * With `USE_EXISTING_CLUSTER=true`, the cluster of the current context is taken instead: it is expected to have
 * controllers, a scheduler and nodes, and flags of its own: asking for `audit` or `apiServerFlags` is an error then.
 *
 * @example
 * ```ts
 * import { expect } from "bun:test"
 * import * as Envtest from "@homeostat/testkit/envtest/Envtest"
 * import { live } from "@homeostat/testkit/Test"
 * import { Effect } from "effect"
 *
 * live("a real API server answers", () =>
 *   Effect.gen(function* () {
 *     const cluster = yield* Envtest.start()
 *     const { status } = yield* cluster.request("GET", "/readyz")
 *     expect(status).toBe(200)
 *   })
 * )
 * ```
 */
export const start = (options: Options = {}): Effect.Effect<ControlPlane.ControlPlane, Failure, Scope.Scope> =>
  Effect.gen(function* () {
    if (!(yield* ExistingCluster.wanted)) return yield* OwnControlPlane.start(options)
    if (options.audit === true) return yield* new ControlPlane.NotOurs({ wanted: "An audit log" })
    if ((options.apiServerFlags ?? []).length > 0) {
      return yield* new ControlPlane.NotOurs({ wanted: "Choosing flags of kube-apiserver" })
    }
    return yield* ExistingCluster.connect
  })
