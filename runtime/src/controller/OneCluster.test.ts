import { describe, expect } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Client from "../client/Client.ts"
import * as Cluster from "../client/Cluster.fixture.ts"
import { ConfigMap } from "../resource/BuiltIn.ts"
import type { Services } from "./Controller.ts"
import * as Owned from "./Owned.ts"
import type { Reconciliation } from "./Reconciliation.ts"
import * as Result from "./Result.ts"
import * as Status from "./Status.ts"
import { counted, run, story, Widget, widget, withWorld } from "./World.fixture.ts"

const child = { metadata: { name: "page" } }

const writes: {
  readonly [what: string]: (owner: Widget) => Effect.Effect<unknown, unknown, Services | Reconciliation>
} = {
  "Owned.apply of ConfigMap default/page": (owner) => Owned.apply(owner, ConfigMap, child),
  "Owned.remove of ConfigMap default/page": (owner) => Owned.remove(owner, ConfigMap, { name: "page" }),
  "the status of Widget default/a": (owner) => Status.update(owner, { phase: "Ready" })
}

describe("The Client of another cluster", () => {
  for (const [what, write] of Object.entries(writes)) {
    effect(
      `is a permanent error, and gets no request: ${what}`,
      withWorld(({ attempts, logs, server }) =>
        Effect.gen(function* () {
          const other = yield* Cluster.make([Widget])
          const services = yield* Layer.build(Layer.provide(Client.layer({ userAgent: "other" }), other.transport))
          server.put(Widget, widget("a"))
          const { reconcile } = counted((_, owner) =>
            Effect.gen(function* () {
              if (what.includes("remove")) yield* Owned.apply(owner, ConfigMap, child)
              yield* Effect.provide(write(owner), services)
              return Result.done
            })
          )
          yield* run({ reconcile, owns: [Owned.kind(ConfigMap, { removes: true })] })
          expect(story(attempts)[0]).toBe("Terminal")
          expect(logs).toContain(
            `ERROR Reconcile failed permanently: ${what} uses a Client whose writes the Cache does not see: that of another cluster (write there with Client.apply)`
          )
          expect(Cluster.lines(other.requests)).toEqual([])
        })
      )
    )
  }
})
