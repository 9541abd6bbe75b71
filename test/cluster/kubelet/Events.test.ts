/** Tests of the Events of a cluster. */
import { expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import { Pod } from "@homeostat/runtime/resource/BuiltIn"
import { Effect } from "effect"
import * as EmbeddedCluster from "../EmbeddedCluster.ts"
import { live } from "../Test.ts"
import * as VirtualTime from "../VirtualTime.ts"

/** Returns the reasons of the Events about a running pod. */
const reasons = (events?: boolean) => {
  const time = VirtualTime.make()
  return time.within(
    Effect.gen(function* () {
      const { client, server } = yield* EmbeddedCluster.make({ events })
      const pod = Client.create(Pod, {
        metadata: { namespace: "default", name: "web" },
        spec: { containers: [{ name: "web", image: "nginx" }] }
      })
      yield* Effect.provide(pod, client)
      yield* time.pass("10 seconds")
      const [running] = server.store.list("/pods")
      expect(running).toMatchObject({ status: { phase: "Running" } })
      return [...server.store.list("/events"), ...server.store.list("events.k8s.io/events")].map(({ reason }) => reason)
    }).pipe(Effect.scoped)
  )
}

live("The scheduler and the kubelet write Events", () =>
  Effect.map(reasons(), (written) => {
    expect(written).toContain("Scheduled")
    expect(written).toContain("Started")
  })
)

live("A cluster without Events runs pods", () => Effect.map(reasons(false), (written) => expect(written).toEqual([])))
