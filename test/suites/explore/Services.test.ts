/** Tests of controllers that need services of their own. */
import { expect, test } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Controller from "@homeostat/runtime/controller/Controller"
import * as Owned from "@homeostat/runtime/controller/Owned"
import * as Result from "@homeostat/runtime/controller/Result"
import * as Manager from "@homeostat/runtime/manager/Manager"
import { ConfigMap } from "@homeostat/runtime/resource/BuiltIn"
import * as Explore from "@homeostat/testkit/Explore"
import { live } from "@homeostat/testkit/Test"
import { Context, Effect, Layer } from "effect"
import { create, key, Volume } from "./Mutant.ts"

class Prices extends Context.Service<Prices, { readonly of: (size: number) => string }>()("test/Prices") {}

const controller = Controller.make("volumes", {
  for: Volume,
  owns: [ConfigMap],
  reconcile: (volume) =>
    Effect.gen(function* () {
      const prices = yield* Prices
      yield* Owned.apply(volume, ConfigMap, {
        metadata: { name: volume.metadata.name },
        data: { price: prices.of(volume.spec.size) }
      })
      return Result.done
    })
})

let built = 0

let closed = 0

/** Prices of a connection, which the end of the process closes. */
const layer = Layer.effect(
  Prices,
  Effect.acquireRelease(
    Effect.sync(() => {
      built++
      const connection = { isOpen: true }
      return {
        connection,
        of: (size: number) => (connection.isOpen ? `${size} euros` : "the connection is closed")
      }
    }),
    ({ connection }) =>
      Effect.sync(() => {
        connection.isOpen = false
        closed++
      })
  )
)

const cluster = { kubelet: false, controllers: ["garbage-collector-controller"] } as const

/** Reads the price from the cluster. */
const check = Explore.step(
  "check",
  Effect.map(Client.get(ConfigMap, key), ({ data }) => expect(data).toEqual({ price: "3 euros" }))
)

live(
  "each process builds the services of a controller from the layer",
  () =>
    Effect.gen(function* () {
      const story = Explore.story({ controllers: [controller], layer, cluster, steps: [create(), check] })
      const { schedules, violations } = yield* Explore.run(story, { faults: ["Crash"] })
      expect(violations).toEqual([])
      expect(schedules).toBeGreaterThan(0)
      expect(built).toBeGreaterThan(schedules)
      expect(closed).toBe(built)
    }),
  60_000
)

live(
  "a program that starts the manager itself passes the services",
  () =>
    Effect.gen(function* () {
      const story = Explore.story({
        controllers: [controller],
        manager: (settings) =>
          Effect.provideService(Manager.launch([controller], settings), Prices, { of: (size) => `${size} euros` }),
        cluster,
        steps: [create(), check]
      })
      expect((yield* Explore.run(story, { faults: ["LostAnswer"] })).violations).toEqual([])
    }),
  60_000
)

Explore.kind("Explore.kind takes the layer", Volume, {
  controllers: [controller],
  layer,
  cluster,
  faults: ["LostAnswer"],
  specs: [{ size: 3 }]
})

test("a service that nothing provides is an error of the compiler", () => {
  // @ts-expect-error the controller needs Prices
  Explore.story({ controllers: [controller], steps: [] })
  // @ts-expect-error the controller needs Prices
  const states = () => Explore.runStates(Volume, { controllers: [controller] })
  // @ts-expect-error the layer provides another service
  Explore.story({ controllers: [controller], steps: [], layer: Layer.succeed(Context.Service<number>("other"), 1) })
  expect(states).toBeFunction()
})
