/**
 * The first word with the API server, before anything is started.
 *
 * Flow: `GET /version`, which needs no right; any answer will do, but a refusal of our credentials. What waiting won't mend (a
 * certificate that isn't trusted or is another host's, credentials that aren't accepted) is an error, so that a wrong
 * setting is a program that ends with a sentence, not one that retries in silence. What time may mend (nothing listens,
 * nothing answers) is waited for with a warning: an API server that is being restarted must not take its controllers along.
 */
import * as Clock from "effect/Clock"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import type * as ApiError from "../client/ApiError.ts"
import * as Client from "../client/Client.ts"
import type { Cluster } from "../client/Cluster.ts"
import * as Disconnect from "../client/Disconnect.ts"
import * as Expiry from "../client/Expiry.ts"

/** The API server can't be worked on with these settings. The message names the server, where it was found, and what is wrong. */
export class Rejected extends Data.TaggedError("Rejected")<{
  readonly server: string
  /** Where the settings came from. */
  readonly source: string
  readonly reason: string
}> {
  override get message(): string {
    return `cannot work on ${this.server}, from ${this.source}: ${this.reason}`
  }
}

/** An answer to this takes milliseconds. */
const timeoutMillis = 5000

/** From a fifth of a second, as a restarting server is back soon, to two seconds: a probe is one small request. */
const probing = Schedule.exponential(Duration.millis(200)).pipe(Schedule.union(Schedule.spaced(Duration.seconds(2))))

/** Why there is no point in asking again; nothing where there is. */
const final = (error: ApiError.ApiError, credentials: Cluster["credentials"]) =>
  Effect.gen(function* () {
    if (error._tag === "Unauthorized") {
      const now = yield* Clock.currentTimeMillis
      const expired = Option.flatMapNullable(yield* Effect.option(credentials), Expiry.at(now))
      const refusal = "the server does not accept the credentials (401 Unauthorized)"
      return Option.isSome(expired) ? `${refusal}: ${expired.value}` : refusal
    }
    const isFinal = error._tag === "Transport" && (Disconnect.isFatal(error) || error.code === "CREDENTIALS")
    return isFinal ? `${error.reason} (${error.code})` : undefined
  })

/** Waits until the API server answers. Says what it waits for, each thing once. */
export const make = (
  cluster: Pick<Cluster, "server" | "source" | "credentials">
): Effect.Effect<void, Rejected, Client.Client> =>
  Effect.gen(function* () {
    const { credentials, server, source } = cluster
    let told: string | undefined
    yield* Client.raw({ method: "GET", path: "/version", timeoutMillis }).pipe(
      Effect.as(true),
      Effect.catchAll((error) =>
        Effect.gen(function* () {
          const reason = yield* final(error, credentials)
          if (reason !== undefined) return yield* new Rejected({ server, source, reason })
          // An error is an answer too: somebody is there, and each request can be judged by its own.
          if (error._tag !== "Transport") return true
          if (told !== error.reason) {
            told = error.reason
            yield* Effect.logWarning(`${server} does not answer, waiting for it: ${error.reason} (${error.code})`)
          }
          return false
        })
      ),
      Effect.repeat({ until: (answered) => answered, schedule: probing })
    )
    if (told !== undefined) yield* Effect.logInfo(`${server} answers`)
  })
