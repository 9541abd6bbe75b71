/** One replica of the program takes over when another has ended. The `failover` bench of `bun run bench` measures the time. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import { Deployment } from "@homeostat/runtime/resource/BuiltIn"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"
import * as Endpoint from "./Endpoint.ts"
import * as Replica from "./Replica.ts"
import { createApp, real, replicasOf } from "./Scene.ts"

/** Changes the Deployment of a WebApp, as a user does. */
const drift = (namespace: string) =>
  Client.patch(Deployment, { namespace, name: "shop" }, Patch.merge({ spec: { replicas: 7 } }))

/** Waits until a manager has reverted that change. */
const repaired = (namespace: string) =>
  Managed.eventually("the repair", replicasOf(namespace), (replicas) => replicas === 1)

describe("Two managers with --leader-elect", () => {
  real("continue after a SIGKILL of the leader, when the Lease has expired", (cluster, namespace) =>
    Effect.gen(function* () {
      yield* createApp(namespace)
      const start = Replica.homeostat(cluster, { namespace, flags: Replica.short })
      const leader = yield* start
      yield* Managed.eventually("the Deployment", replicasOf(namespace), (replicas) => replicas === 1)
      const standby = yield* start
      yield* Replica.standingBy(standby)
      yield* leader.signal("SIGKILL")
      yield* drift(namespace)
      yield* repaired(namespace)
      const { metadata, spec } = yield* Replica.leaseOf(namespace)
      expect(spec?.leaseTransitions).toBe(1)
      // The leader did not release the Lease.
      expect(standby.stderr()).toContain(`Leading, with the Lease ${namespace}/${metadata.name}`)
    })
  )

  real(
    "hand over the Lease after SIGTERM: the other one corrects a drift, and the exit code is 0",
    (cluster, namespace) =>
      Effect.gen(function* () {
        yield* createApp(namespace)
        let leader = yield* Replica.homeostat(cluster, { namespace })
        yield* Managed.eventually("the Deployment", replicasOf(namespace), (replicas) => replicas === 1)
        let [rounds, handOvers] = [0, 0]
        while (handOvers < 3) {
          rounds++
          const standby = yield* Replica.homeostat(cluster, { namespace })
          yield* Replica.standingBy(standby)
          yield* leader.signal("SIGTERM")
          yield* drift(namespace)
          yield* repaired(namespace)
          const end = yield* leader.ended("15 seconds")
          expect(end.code).toBe(0)
          expect(end.stderr).toContain("Released the Lease")
          yield* Replica.leading(standby)
          const writes = yield* Endpoint.metric(standby, "rest_client_requests_total", `method="PATCH"`)
          // A leader that saw the drift before the signal has reverted the drift itself.
          if (writes > 0) handOvers++
          leader = standby
        }
        expect((yield* Replica.leaseOf(namespace)).spec?.leaseTransitions).toBe(rounds)
      })
  )
})
