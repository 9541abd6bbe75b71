import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import { ConfigMap } from "@homeostat/runtime/resource/BuiltIn"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"
import * as History from "./History.ts"
import * as Replica from "./Replica.ts"

describe("A leader that is disconnected from the API server", () => {
  for (const condition of ["silent", "refused"] as const) {
    Replica.virtual(
      `(${condition}) stops before another one starts, and returns as a standby that can lead again`,
      (network, namespace) =>
        Effect.gen(function* () {
          yield* Client.create(ConfigMap, { metadata: { namespace, name: "map", labels: Replica.labels } })
          const history = yield* History.follow(namespace)
          const lastWriter = Effect.sync(() => history.writes.at(-1)?.writer)
          const a = yield* Replica.start(network, namespace, "a")
          yield* Managed.eventually("a writes", lastWriter, (writer) => writer === "a")
          const b = yield* Replica.start(network, namespace, "b")
          yield* Managed.eventually(
            "b stands by",
            Effect.sync(() => b.state()),
            ({ holder }) => holder === "a"
          )

          a.line.condition = condition
          yield* Managed.eventually(
            "a knows that it does not lead",
            Effect.sync(() => a.state()),
            ({ leading }) => !leading
          )
          // Its term is over: the runner has no queue and no workers.
          yield* Managed.eventually(
            "a does nothing more",
            Effect.sync(() => a.runners.map((runner) => runner.queue()._tag)),
            ([tag]) => tag === "None"
          )
          yield* Managed.eventually("b writes", lastWriter, (writer) => writer === "b")

          a.line.condition = "up"
          yield* Managed.eventually(
            "a stands by",
            Effect.sync(() => a.state()),
            ({ holder, leading }) => holder === "b" && !leading
          )
          yield* b.stop
          yield* Managed.eventually("a writes again", lastWriter, (writer) => writer === "a")
          expect(History.overlaps(history)).toEqual([])
          expect(History.trespasses(history)).toEqual([])
        })
    )
  }
})
