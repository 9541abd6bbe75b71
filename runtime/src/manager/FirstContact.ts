/**
 * The first contact with the API server: the first reads of the program. If they get an answer, no extra request is sent.
 *
 * Any answer except rejected credentials makes the contact. If waiting cannot help (an untrusted certificate, a certificate of
 * another host, rejected credentials), the program fails with one sentence. If the server does not answer, the program warns and
 * waits, so that a restart of the API server does not stop its controllers. It then sends `GET /version`, which needs no permission.
 */
import * as Clock from "effect/Clock"
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as ApiError from "../client/ApiError.ts"
import * as Client from "../client/Client.ts"
import type { Cluster } from "../client/Cluster.ts"
import * as Disconnect from "../client/Disconnect.ts"
import * as Expiry from "../client/Expiry.ts"
import type { InvalidObject } from "../resource/Resource.ts"

/**
 * The manager cannot use the API server with these settings. The message names the server, the source of the settings, and the error.
 */
export class Rejected extends Data.TaggedError("Rejected")<{
  readonly server: string
  /** The source of the settings. */
  readonly source: string
  readonly reason: string
}> {
  override get message(): string {
    return `cannot work on ${this.server}, from ${this.source}: ${this.reason}`
  }
}

/** The error of a verb that does not wait for an API server. It names the settings if the server does not answer or rejects them. */
export const rejection = <E>({ server, source }: Pick<Cluster, "server" | "source">, error: E): E | Rejected =>
  error instanceof ApiError.Transport || error instanceof ApiError.Unauthorized
    ? new Rejected({ server, source, reason: error.message })
    : error

/** The timeout of `GET /version`, which takes milliseconds. */
const timeoutMillis = 5000

/** How long the first read may take before `GET /version` is sent beside it. */
const patience = Duration.seconds(5)

/** From 0.2 seconds, because a restarting server is soon back, to two seconds. */
const probing = Schedule.min([Schedule.exponential(Duration.millis(200)), Schedule.spaced(Duration.seconds(2))])

/** Why a retry cannot help; undefined if it can. */
const final = (error: ApiError.ApiError, credentials: Cluster["credentials"]) =>
  Effect.gen(function* () {
    if (error._tag === "Unauthorized") {
      const now = yield* Clock.currentTimeMillis
      const expired = Option.flatMapNullishOr(yield* Effect.option(credentials), Expiry.at(now))
      const refusal = "the server does not accept the credentials (401 Unauthorized)"
      return Option.isSome(expired) ? `${refusal}: ${expired.value}` : refusal
    }
    // Nearly always a port without TLS: an error at once helps to find it.
    const isHandshake = error._tag === "Transport" && error.code === "EPROTO"
    const isFinal =
      isHandshake || (error._tag === "Transport" && (Disconnect.isFatal(error) || error.code === "CREDENTIALS"))
    return isFinal ? `${error.reason} (${error.code})` : undefined
  })

/** The first contact with an API server. */
export interface FirstContact {
  /**
   * A client whose reads make the contact. Until then, a read without an answer waits, and is retried when the server answers. So no
   * informer reports an unavailable server before that.
   */
  readonly client: (client: Client.Client["Service"]) => Client.Client["Service"]
  /**
   * Sends `GET /version` while no read has an answer: at once after a failed read or {@link FirstContact.ask}, else after five
   * seconds.
   */
  readonly probe: Effect.Effect<void, never, Client.Client>
  /** Starts to send `GET /version`, for a program that does not read yet. */
  readonly ask: Effect.Effect<void>
  /** Succeeds when the server has answered. Fails if waiting cannot help. */
  readonly made: Effect.Effect<void, Rejected>
}

/** The first contact with a cluster. It logs each reason for waiting once. */
export const make = ({
  credentials,
  server,
  source
}: Pick<Cluster, "server" | "source" | "credentials">): Effect.Effect<FirstContact> =>
  Effect.gen(function* () {
    const made = yield* Deferred.make<void, Rejected>()
    const asking = yield* Latch.make(false)
    let isMade = false
    let logged: string | undefined

    const answered = Effect.suspend(() => {
      if (isMade) return Effect.void
      isMade = true
      return Effect.andThen(
        logged === undefined ? Effect.void : Effect.logInfo(`${server} answers`),
        Deferred.succeed(made, undefined)
      )
    })

    const failed = (error: ApiError.ApiError) =>
      Effect.gen(function* () {
        const reason = yield* final(error, credentials)
        if (reason !== undefined) return yield* Deferred.fail(made, new Rejected({ server, source, reason }))
        // An error response also shows that the server is available. Each request handles its own error.
        if (error._tag !== "Transport") return yield* answered
        if (logged !== error.reason) {
          logged = error.reason
          yield* Effect.logWarning(`${server} does not answer, waiting for it: ${error.reason} (${error.code})`)
        }
        yield* asking.open
      })

    const through = <A, E extends ApiError.ApiError | InvalidObject, R>(request: Effect.Effect<A, E, R>) => {
      const first = Effect.matchEffect(request, {
        onSuccess: (answer) => Effect.as(answered, answer),
        onFailure: (error): Effect.Effect<A, E, R> => {
          if (error._tag === "InvalidObject") return Effect.andThen(answered, Effect.fail(error))
          return Effect.flatMap(isMade ? Effect.void : failed(error), () =>
            error._tag !== "Transport" && error._tag !== "Unauthorized"
              ? Effect.fail(error)
              : Effect.andThen(
                  Effect.catch(Deferred.await(made), () => Effect.never),
                  request
                )
          )
        }
      })
      return Effect.suspend(() => (isMade ? request : first))
    }

    return {
      client: (client) => ({
        ...client,
        get: (...args) => (isMade ? client.get(...args) : through(client.get(...args))),
        page: (...args) => (isMade ? client.page(...args) : through(client.page(...args))),
        watch: (...args) => (isMade ? client.watch(...args) : through(client.watch(...args)))
      }),
      probe: asking.await.pipe(
        Effect.timeoutOption(patience),
        Effect.andThen(
          Effect.suspend(() =>
            isMade ? Effect.void : Client.raw({ method: "GET", path: "/version", timeoutMillis })
          ).pipe(
            Effect.matchEffect({ onSuccess: () => answered, onFailure: failed }),
            Effect.andThen(Deferred.isDone(made)),
            Effect.repeat({ until: (isOver) => isOver, schedule: probing })
          )
        ),
        Effect.asVoid
      ),
      ask: Effect.asVoid(asking.open),
      made: Deferred.await(made)
    }
  })
