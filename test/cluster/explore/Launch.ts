/** The start of controllers with their other services. */
import type { Transport } from "@homeostat/runtime/client/Transport"
import type { Controller } from "@homeostat/runtime/controller/Controller"
import * as Manager from "@homeostat/runtime/manager/Manager"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"

/**
 * Starts controllers. The services of the layer live as long as the scope.
 *
 * @internal
 */
export const launch = <R>(
  controllers: ReadonlyArray<Controller<R>>,
  settings: NonNullable<Parameters<typeof Manager.launch>[1]>,
  layer: Layer.Layer<Exclude<R, Manager.Runtime>>
): Effect.Effect<unknown, never, Transport | Scope.Scope> =>
  Effect.flatMap(Layer.build(layer), (services) => Effect.provide(Manager.launch(controllers, settings), services))
