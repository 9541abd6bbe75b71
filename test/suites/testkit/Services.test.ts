/** Tests of controllers with services of their own. */
import { expect, test } from "bun:test"
import { BuiltIn, Client, Controller, Owned, Result } from "@homeostat/runtime"
import { eventually } from "@homeostat/testkit/Eventually"
import * as Harness from "@homeostat/testkit/Harness"
import { Context, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"

class Prices extends Context.Service<Prices, { readonly price: Effect.Effect<string> }>()("test/Prices") {}

const controller = Controller.make("prices", {
  for: BuiltIn.Service,
  owns: [BuiltIn.ConfigMap],
  reconcile: (service) =>
    Effect.gen(function* () {
      const { price } = yield* Prices
      const data = { price: yield* price }
      yield* Owned.apply(service, BuiltIn.ConfigMap, { metadata: { name: service.metadata.name }, data })
      return Result.done
    })
})

/** The events of a connection, which the layer opens and closes. */
const connection: Array<string> = []

const layer = Layer.effect(
  Prices,
  Effect.acquireRelease(
    Effect.sync(() => {
      connection.push("opened")
      return { price: Effect.sync(() => `3 euros, ${connection.at(-1)}`) }
    }),
    () => Effect.sync(() => void connection.push("closed"))
  )
)

const key = { namespace: "default", name: "shop" }

Harness.of([controller], { layer })("The layer of Harness.of lives as long as the manager", () =>
  Effect.gen(function* () {
    yield* TestClock.adjust("1 minute")
    yield* Client.create(BuiltIn.Service, { metadata: key, spec: { ports: [{ port: 80 }] } })
    const map = yield* eventually("it exists", Client.get(BuiltIn.ConfigMap, key), () => true)
    expect([connection, map.data]).toEqual([["opened"], { price: "3 euros, opened" }])
  })
)

test("Each start of the manager builds the layer of Harness.of, also the restart at the end", () => {
  expect(connection).toEqual(["opened", "closed", "opened", "closed"])
})

test("A service that nothing provides is an error of the compiler", () => {
  // @ts-expect-error the controller needs Prices
  const without = () => Harness.of([controller])
  // @ts-expect-error the layer provides another service
  const other = () => Harness.of([controller], { layer: Layer.succeed(Context.Service<number>("other"), 1) })
  expect([without, other]).toHaveLength(2)
})
