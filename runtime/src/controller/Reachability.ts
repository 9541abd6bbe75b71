/**
 * Whether an API server answers. While no API server answers, all workers of a manager pause until one probe succeeds. Then
 * the workers go on at once, with every retry schedule as it was before the outage.
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import * as Client from "../client/Client.ts"
import { Transport } from "../client/Transport.ts"

/** The gate before every worker. */
export class Reachability extends Context.Tag("@homeostat/runtime/Reachability")<
  Reachability,
  {
    /** The URL of the API server that is meant. Another one that does not answer is that reconcile's failure. */
    readonly server: string
    /** Waits while no API server answers. */
    readonly reached: Effect.Effect<void>
    /** Whether that would not have to wait. */
    readonly isReached: () => boolean
    /** Says that none did: closes the gate until a probe gets an answer, whatever it is. */
    readonly lost: Effect.Effect<void>
  }
>() {}

/** From a tenth of a second, as a restarting server is back soon, to two seconds: a probe is one small request. */
const probing = Schedule.exponential(Duration.millis(100)).pipe(Schedule.union(Schedule.spaced(Duration.seconds(2))))

/** An answer takes milliseconds. A probe that waited longer into the void would hold up what it is there to hasten. */
const timeoutMillis = 5000

/** @internal */
export const make = (
  server: string,
  probe: Effect.Effect<boolean>
): Effect.Effect<Context.Tag.Service<Reachability>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const gate = yield* Effect.makeLatch(true)
    const trouble = yield* Effect.makeLatch(false)
    let isReached = true
    const set = (reached: boolean) =>
      Effect.suspend(() => {
        isReached = reached
        return reached ? Effect.zipRight(trouble.close, gate.open) : Effect.zipRight(gate.close, trouble.open)
      })
    yield* trouble.await.pipe(
      Effect.zipRight(Effect.logWarning("No API server answers; reconciles pause until one does")),
      Effect.zipRight(Effect.repeat(probe, { until: (answered) => answered, schedule: probing })),
      Effect.zipRight(set(true)),
      Effect.zipRight(Effect.logInfo("The API server answers again")),
      Effect.forever,
      Effect.forkScoped
    )
    return Reachability.of({ server, reached: gate.await, isReached: () => isReached, lost: set(false) })
  })

/** Probes with `GET /readyz`: any answer, a refusal too, is an answer. */
export const ofCluster: Effect.Effect<
  Context.Tag.Service<Reachability>,
  never,
  Client.Client | Transport | Scope.Scope
> = Effect.flatMap(Effect.zip(Client.Client, Transport), ([client, { server }]) =>
  make(
    server,
    client.raw({ method: "GET", path: "/readyz", timeoutMillis }).pipe(
      Effect.as(true),
      Effect.catchAll((error) => Effect.succeed(error._tag !== "Transport"))
    )
  )
)
