/**
 * The first contact with the API server: the first reads of the program, and no request of its own where one is answered.
 *
 * Any answer makes the contact, but a refusal of the credentials. Where waiting does not help (a certificate that is not trusted or
 * is another host's, credentials that the server does not accept), the program ends with a sentence. Where nothing listens or
 * answers, the program warns and waits: an API server that restarts must not take its controllers along. It asks `GET /version`
 * then, which needs no permission.
 */
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import type * as ApiError from "../client/ApiError.ts"
import * as Client from "../client/Client.ts"
import type { Cluster } from "../client/Cluster.ts"
import * as Disconnect from "../client/Disconnect.ts"
import * as Expiry from "../client/Expiry.ts"
import type { InvalidObject } from "../resource/Resource.ts"

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

/** How long the first read may take before the server is asked beside it. */
const patience = Duration.seconds(5)

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
    // Nearly always a port without TLS, which a report at once helps to find.
    const isHandshake = error._tag === "Transport" && error.code === "EPROTO"
    const isFinal =
      isHandshake || (error._tag === "Transport" && (Disconnect.isFatal(error) || error.code === "CREDENTIALS"))
    return isFinal ? `${error.reason} (${error.code})` : undefined
  })

/** The first contact with an API server. */
export interface FirstContact {
  /**
   * A client whose reads begin the contact. Before it is made, a read that gets no answer waits, and is sent again when the server
   * answers. So no informer reports a server that does not answer yet.
   */
  readonly client: (client: Context.Tag.Service<Client.Client>) => Context.Tag.Service<Client.Client>
  /** Asks the server while no read has had an answer: at once after a failed read or {@link FirstContact.ask}, else after five seconds. */
  readonly probe: Effect.Effect<void, never, Client.Client>
  /** Begins to ask, for a program that reads nothing yet. */
  readonly ask: Effect.Effect<void>
  /** Done when the server has answered. Fails when waiting does not help. */
  readonly made: Effect.Effect<void, Rejected>
}

/** The first contact with a cluster. It logs what it waits for, each thing once. */
export const make = ({
  credentials,
  server,
  source
}: Pick<Cluster, "server" | "source" | "credentials">): Effect.Effect<FirstContact> =>
  Effect.gen(function* () {
    const made = yield* Deferred.make<void, Rejected>()
    const asking = yield* Effect.makeLatch(false)
    let isMade = false
    let logged: string | undefined

    const answered = Effect.suspend(() => {
      if (isMade) return Effect.void
      isMade = true
      return Effect.zipRight(
        Deferred.succeed(made, undefined),
        logged === undefined ? Effect.void : Effect.logInfo(`${server} answers`)
      )
    })

    const failed = (error: ApiError.ApiError) =>
      Effect.gen(function* () {
        const reason = yield* final(error, credentials)
        if (reason !== undefined) return yield* Deferred.fail(made, new Rejected({ server, source, reason }))
        // An error is an answer too: the server is there, and each request can be judged by its own.
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
          if (error._tag === "InvalidObject") return Effect.zipRight(answered, Effect.fail(error))
          return Effect.flatMap(isMade ? Effect.void : failed(error), () =>
            error._tag !== "Transport" && error._tag !== "Unauthorized"
              ? Effect.fail(error)
              : Effect.zipRight(
                  Effect.orElse(Deferred.await(made), () => Effect.never),
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
        Effect.zipRight(
          Effect.suspend(() =>
            isMade ? Effect.void : Client.raw({ method: "GET", path: "/version", timeoutMillis })
          ).pipe(
            Effect.matchEffect({ onSuccess: () => answered, onFailure: failed }),
            Effect.zipRight(Deferred.isDone(made)),
            Effect.repeat({ until: (isOver) => isOver, schedule: probing })
          )
        ),
        Effect.asVoid
      ),
      ask: Effect.asVoid(asking.open),
      made: Deferred.await(made)
    }
  })
