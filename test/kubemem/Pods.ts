/** Waits for the pods that a cluster starts with, so that a reset returns to ready pods. */
import * as Json from "@homeostat/apiserver/model/Json"
import type { EmbeddedCluster } from "@homeostat/testkit/EmbeddedCluster"
import * as Effect from "effect/Effect"

/** The time between two reads. After this many reads without a change, the wait ends. */
const pause = "20 millis"
const quietLooks = 50

/** Waits until each pod is ready or has ended. Ends earlier if nothing changes for a second. */
export const started = ({ idle, kubelet, server: { store } }: EmbeddedCluster): Effect.Effect<void> =>
  Effect.gen(function* () {
    yield* idle
    if (kubelet === undefined) return
    let { revision } = store
    let quiet = 0
    while (quiet < quietLooks && store.list("/pods").some(isStarting)) {
      yield* Effect.sleep(pause)
      yield* idle
      quiet = store.revision === revision ? quiet + 1 : 0
      revision = store.revision
    }
  })

const isStarting = ({ status }: Json.JsonObject): boolean => {
  const { conditions, phase } = Json.object(status)
  const isReady = Json.objects(conditions).some(({ status, type }) => type === "Ready" && status === "True")
  return !isReady && phase !== "Succeeded" && phase !== "Failed"
}
