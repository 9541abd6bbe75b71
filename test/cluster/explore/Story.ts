/** The story of an exploration: the program, and the actions of its users. */
import type * as Client from "@homeostat/runtime/client/Client"
import type { Transport } from "@homeostat/runtime/client/Transport"
import type { Controller } from "@homeostat/runtime/controller/Controller"
import type * as Manager from "@homeostat/runtime/manager/Manager"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as EmbeddedCluster from "../EmbeddedCluster.ts"

/** A step of a story. The cluster comes to rest before the next step. */
export interface Step {
  readonly name: string
  /** The requests of a user. */
  readonly act: Effect.Effect<unknown, unknown, Client.Client | Scope.Scope>
  /** Additional time after the step, besides the time until the cluster is at rest. Default: none. */
  readonly passes?: Duration.Input | undefined
  /** Whether the step also runs with faults. Default: true. */
  readonly faults?: boolean | undefined
}

/** The settings of a manager in an exploration. */
export type ManagerSettings = Pick<Manager.Settings, "leaderElection"> & { readonly instance: string }

/** A program, and the steps of its users. */
export interface Story {
  readonly controllers: ReadonlyArray<Controller<unknown>>
  /** Starts the program. Default: `Manager.launch(controllers, settings)`. */
  readonly manager: (settings: ManagerSettings) => Effect.Effect<unknown, never, Transport | Scope.Scope>
  readonly steps: ReadonlyArray<Step>
  readonly cluster: EmbeddedCluster.Options
  /** Creates objects that exist before the program starts. Default: none. */
  readonly before: Effect.Effect<unknown, unknown, Client.Client | Scope.Scope> | undefined
  /** The roles and bindings of the program. */
  readonly roles: ReadonlyArray<object>
  /** The start time of the story, in epoch milliseconds. */
  readonly begin: number
  /** Fields that may differ at the end, as `kind: path`: `WebApp: status.lastProbe`. */
  readonly ignore: ReadonlyArray<string>
  /**
   * Whether the state at rest depends on the specs only, because the program keeps no memory of the past. Then each step must end like a
   * new cluster with the same specs, except while the API server rejects a spec. Default: false.
   */
  readonly fromSpecs: boolean
  /**
   * Whether one process also plays all steps. Set it to false for a controller whose end depends on the start time of its process, such as
   * one that polls. Default: true.
   */
  readonly lasting: boolean
}
