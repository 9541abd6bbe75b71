/**
 * Kubernetes for tests, as controller-runtime's envtest is for Go. `Envtest.start` returns a control plane for the lifetime of a Scope.
 * A test that needs no special options takes the shared control plane (`Shared`).
 */
import { Effect, type Scope } from "effect"
import * as ControlPlane from "./ControlPlane.ts"
import * as ExistingCluster from "./ExistingCluster.ts"
import * as OwnControlPlane from "./OwnControlPlane.ts"

/** The programs to start besides etcd and kube-apiserver. */
export type Options = OwnControlPlane.Options

/** The reasons why a control plane cannot start. A missing program is an error too: tests are never skipped. */
export type Failure = OwnControlPlane.Failure | ExistingCluster.Failure | ControlPlane.NotOurs

/** All programs: Deployments become available, Jobs complete, and the garbage collector deletes dependents. */
export const everything: Options = { controllers: true, scheduler: true, kwok: true }

/**
 * Starts a control plane and waits until it is ready. etcd and kube-apiserver need three to five seconds on two cores.
 * The end of the Scope removes all processes and files. If this process is killed, its guardians remove them within seconds.
 *
 * `USE_EXISTING_CLUSTER=true` uses the cluster of the current context instead. That cluster must have controllers, a scheduler and nodes.
 * It has its own flags, so the options `audit` and `apiServerFlags` are errors.
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
