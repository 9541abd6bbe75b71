/** The readiness of the webhooks: whether the API server accepts the certificate that this replica serves, and why not. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Health from "../manager/Health.ts"
import type { Pair } from "../webhook/CertificateSource.ts"
import * as Verification from "../webhook/Verification.ts"

/** The readiness of webhooks. */
export interface WebhookReadiness {
  /** This replica serves a pair from now on. */
  readonly serve: (pair: Pair) => Effect.Effect<void>
  /** The last error of an activity, or `undefined` after a success. The readiness shows it while the webhooks are not ready. */
  readonly report: (activity: string, error: string | undefined) => void
}

/** The settings of a readiness. */
export interface Settings {
  /** Where the certificate is stored. */
  readonly place: string
  /** The DNS name or IP address by which the API server calls the webhooks. */
  readonly name: string
  /** The CAs, in PEM, that the API server trusts. */
  readonly cas: () => string
}

/** The interval between checks for the log. */
export const checkEvery = "10 seconds"

/**
 * Registers the readiness check `webhooks`. It fails until the first pair is served, and while the API server rejects the served pair.
 * The log reports each change.
 */
export const make = ({ cas, name, place }: Settings): Effect.Effect<WebhookReadiness, never, Scope.Scope> =>
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    const errors = new Map<string, string>()
    let served: Pair | undefined
    const faultAt = (now: number): string | undefined => {
      if (served === undefined) return undefined
      const problem = Verification.problemOf(served, { name, cas: cas() }, now)
      return problem === undefined ? undefined : `certificate of ${place} ${problem}`
    }
    yield* Effect.flatMap(Health.Health, ({ readiness }) =>
      readiness("webhooks", () => {
        const problem =
          served === undefined
            ? "the API server does not trust the certificate of the webhooks yet"
            : faultAt(clock.currentTimeMillisUnsafe())
        return problem === undefined ? undefined : [problem, ...errors.values()].join("; ")
      })
    )
    let logged: string | undefined
    const check = Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const fault = faultAt(now)
      if (fault === logged) return Effect.void
      logged = fault
      return fault === undefined
        ? Effect.logInfo("The API server accepts the certificate of the webhooks again")
        : Effect.logWarning(`The API server rejects the certificate of the webhooks: ${fault}`)
    })
    yield* Effect.forkScoped(Effect.forever(Effect.delay(check, checkEvery)))
    return {
      serve: (pair) =>
        Effect.suspend(() => {
          served = pair
          return check
        }),
      report: (activity, error) => {
        if (error === undefined) errors.delete(activity)
        else errors.set(activity, error)
      }
    }
  })
