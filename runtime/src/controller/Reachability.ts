/**
 * Whether an API server answers. While no API server answers, all workers of a manager pause until one probe succeeds. Then
 * the workers go on at once, with every retry schedule as it was before the outage.
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import * as Client from "../client/Client.ts"
import { Transport } from "../client/Transport.ts"

/** The gate before every worker. */
export class Reachability extends Context.Service<
  Reachability,
  {
    /** The URL of the API server. If another server does not answer, that reconcile fails. */
    readonly server: string
    /** Waits until an API server answers. */
    readonly reached: Effect.Effect<void>
    /** Whether the gate is open. */
    readonly isReached: () => boolean
    /** Closes the gate until a probe gets any answer. */
    readonly lost: Effect.Effect<void>
  }
>()("@homeostat/runtime/Reachability") {}

/** The delays between probes: from 0.1 s, because a restarting server is back soon, to 2 s. */
const probing = Schedule.min([Schedule.exponential(Duration.millis(100)), Schedule.spaced(Duration.seconds(2))])

/** The time limit of a probe: an answer takes milliseconds, and a long wait would delay the workers. */
const timeoutMillis = 5000

/** @internal */
export const make = (
  server: string,
  probe: Effect.Effect<boolean>
): Effect.Effect<Reachability["Service"], never, Scope.Scope> =>
  Effect.gen(function* () {
    const gate = yield* Latch.make(true)
    const trouble = yield* Latch.make(false)
    let isReached = true
    const set = (reached: boolean) =>
      Effect.suspend(() => {
        isReached = reached
        return reached ? Effect.andThen(trouble.close, gate.open) : Effect.andThen(gate.close, trouble.open)
      })
    yield* trouble.await.pipe(
      Effect.andThen(Effect.logWarning("No API server answers; reconciles pause until one does")),
      Effect.andThen(Effect.repeat(probe, { until: (answered) => answered, schedule: probing })),
      Effect.andThen(set(true)),
      Effect.andThen(Effect.logInfo("The API server answers again")),
      Effect.forever,
      Effect.forkScoped
    )
    return Reachability.of({ server, reached: gate.await, isReached: () => isReached, lost: set(false) })
  })

/** Probes with `GET /readyz`. Any answer counts, including an error. */
export const ofCluster: Effect.Effect<Reachability["Service"], never, Client.Client | Transport | Scope.Scope> =
  Effect.flatMap(Effect.zip(Client.Client, Transport), ([client, { server }]) =>
    make(
      server,
      client.raw({ method: "GET", path: "/readyz", timeoutMillis }).pipe(
        Effect.as(true),
        Effect.catch((error) => Effect.succeed(error._tag !== "Transport"))
      )
    )
  )
