import { describe, expect } from "bun:test"
import { live } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import * as Cluster from "../client/Cluster.fixture.ts"
import * as Controller from "../controller/Controller.ts"
import * as Result from "../controller/Result.ts"
import { Widget, widget } from "../controller/World.fixture.ts"
import { ConfigMap } from "../resource/BuiltIn.ts"
import * as Manager from "./Manager.ts"

/** The CPU time of one attempt in the namespace `noisy`, in ms. */
const cost = 40

describe("An object of a quiet namespace is reconciled soon while a noisy one has many that cost much", () => {
  for (const [where, isShared] of [
    ["in the same controller", true],
    ["in another controller", false]
  ] as const) {
    live(
      where,
      () =>
        Effect.gen(function* () {
          const server = yield* Cluster.make([Widget])
          const order: Array<string> = []
          const reconcile = ({ metadata: { name, namespace = "" } }: Widget | ConfigMap) =>
            Effect.gen(function* () {
              order.push(namespace)
              // An honest reconcile has a few requests.
              for (let turn = 0; turn < 4; turn++) yield* Effect.sleep("1 millis")
              const until = performance.now() + (namespace === "noisy" ? cost : 0)
              while (performance.now() < until);
              if (namespace === "quiet") order.push(`${namespace}/${name}`)
              return Result.done
            })
          const controllers = [
            Controller.make("widgets", { for: Widget, reconcile, concurrency: 4 }),
            ...(isShared ? [] : [Controller.make("maps", { for: ConfigMap, reconcile, concurrency: 4 })])
          ]
          let before = 0
          const program = Effect.gen(function* () {
            yield* Manager.launch(controllers)
            for (let n = 0; n < 100; n++) {
              server.put(Widget, { ...widget(""), metadata: { namespace: "noisy", name: `w${n}` } })
            }
            // Over the share, with most objects still waiting.
            while (order.length < 18) yield* Effect.sleep("5 millis")
            before = order.length
            if (isShared) server.put(Widget, { ...widget(""), metadata: { namespace: "quiet", name: "w" } })
            else server.put(ConfigMap, { metadata: { namespace: "quiet", name: "w" }, data: {} })
            while (!order.includes("quiet/w")) yield* Effect.sleep("5 millis")
          })
          yield* Effect.provide(program, server.transport)
          expect(order.indexOf("quiet") - before).toBeLessThanOrEqual(8)
          expect(order.indexOf("quiet/w") - before).toBeLessThanOrEqual(16)
        }),
      20_000
    )
  }
})
