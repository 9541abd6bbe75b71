/**
 * Authenticates and authorizes the callers of protected routes. A route can accept every caller on the same machine. Other callers need
 * a bearer token that the API server accepts (TokenReview). They also need the permission for the path (SubjectAccessReview, with the
 * lower-case method as the verb). controller-runtime's filter for secure metrics sends the same reviews, so the same roles work:
 *
 * ```yaml
 * rules: [{ nonResourceURLs: [/metrics], verbs: [get] }]
 * ```
 *
 * Answers are cached for a short time, as in client-go's delegating authenticator and authorizer: see {@link times}. A revoked token
 * or permission stays valid for that time. Tokens are cached by their hash.
 *
 * A flood of invalid tokens is cheap: a token that no cluster issues gets its error without a request, and few reviews wait at the
 * same time (see {@link reviews}). A token that the API server has confirmed does not wait behind unconfirmed ones.
 *
 * Needs `create` on `tokenreviews.authentication.k8s.io` and `subjectaccessreviews.authorization.k8s.io`: see {@link access}.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type * as ApiError from "../client/ApiError.ts"
import * as Client from "../client/Client.ts"
import * as Permission from "../client/Permission.ts"
import * as Access from "../controller/Access.ts"
import * as Bounded from "../resource/Bounded.ts"
import { SubjectAccessReview, TokenReview } from "../resource/BuiltIn.ts"
import type { InvalidObject } from "../resource/Resource.ts"
import * as Endpoints from "./Endpoints.ts"
import * as Loopback from "./Loopback.ts"
import * as SingleFlight from "./SingleFlight.ts"

/** The permissions that the reviews need. */
export const access: ReadonlyArray<Access.Access> = [Access.create(TokenReview), Access.create(SubjectAccessReview)]

/** How long an answer is cached, in ms. Denials expire sooner, because an administrator may be about to grant the permission. */
export const times = { known: 60_000, unknown: 10_000, allowed: 300_000, denied: 30_000 } as const

/** The cached answers of each type. The oldest are evicted, so that invalid tokens do not fill the memory. */
export const mostAnswers = 1024

/**
 * Bounds of the reviews in progress and in the queue, for tokens that the API server has not confirmed and for all others. Beyond
 * these bounds a caller gets 429 at once.
 */
export const reviews = {
  unknown: { concurrency: 3, waiting: 16, perSource: 4, sharing: 8 },
  known: { concurrency: 3, waiting: 64, perSource: 64, sharing: 64 }
} as const satisfies { readonly [lane: string]: SingleFlight.Options }

/** The longest accepted token, in characters. OpenID providers issue tokens of some thousand characters to users with many groups. */
const mostToken = 16_384

/** How far the clock of the API server may be behind, in ms. */
const clockSkew = 60_000

/** The timeout of each of the two reviews. The port cuts off handlers after ten seconds. */
const patience = "4 seconds"

/** The interval between log lines about failing reviews, in ms. */
const logEvery = 60_000

/** Which callers a route accepts. */
export interface Options {
  /** Whether callers from loopback need no token. */
  readonly loopback: boolean
}

/** Authenticates and authorizes the callers of routes. */
export class Callers extends Context.Service<
  Callers,
  {
    /**
     * The handler for permitted callers. Others get one line with the reason: 401, 403, 429, or 503 if the API server does not
     * answer.
     */
    readonly guarded: (handler: Endpoints.Handler, options: Options) => Endpoints.Handler
  }
>()("@homeostat/runtime/Callers") {}

/**
 * The handler for permitted callers: see {@link Callers}.
 *
 * ```ts
 * yield* endpoints.route("probes", "/why", yield* Callers.guarded(answer, { loopback: true }))
 * ```
 */
export const guarded = (
  handler: Endpoints.Handler,
  options: Options
): Effect.Effect<Endpoints.Handler, never, Callers> =>
  Effect.map(Callers, (callers) => callers.guarded(handler, options))

/** The user of a token, as the API server reports it. */
interface User {
  readonly username: string
  readonly uid: string | undefined
  readonly groups: ReadonlyArray<string>
  readonly extra: { readonly [key: string]: ReadonlyArray<string> } | undefined
}

/** The API server did not answer a review. */
class Unanswered extends Data.TaggedError("Unanswered")<{
  readonly reason: string
  /** The manager lacks the permission for reviews, so a retry does not help. */
  readonly forbidden: boolean
}> {}

/** Cached answers with an expiry. */
interface Answers<A> {
  /** Whether an answer is cached, expired or not. */
  readonly has: (key: string) => boolean
  readonly drop: (key: string) => void
  /** The cached answer, unless it has expired at that time. */
  readonly get: (key: string, now: number) => A | undefined
  readonly put: (key: string, answer: A, until: number) => void
}

const answers = <A>(): Answers<A> => {
  const kept = new Map<string, { readonly answer: A; readonly until: number }>()
  return {
    has: (key) => kept.has(key),
    drop: (key) => void kept.delete(key),
    get: (key, now) => {
      const found = kept.get(key)
      return found !== undefined && now < found.until ? found.answer : undefined
    },
    put: (key, answer, until) => {
      Bounded.put(kept, key, { answer, until }, mostAnswers)
    }
  }
}

const userOf = ({ status }: TokenReview): User | undefined => {
  const { username, ...rest } = status?.user ?? {}
  if (status?.authenticated !== true || username === undefined || username === "") return undefined
  return { username, uid: rest.uid, groups: rest.groups ?? [], extra: rest.extra }
}

const questionOf = ({ extra, groups, uid, username }: User, path: string, verb: string) => ({
  nonResourceAttributes: { path, verb },
  user: username,
  groups,
  ...(uid === undefined ? {} : { uid }),
  ...(extra === undefined ? {} : { extra })
})

/** The bearer token of a request. */
const tokenOf = ({ headers }: Request): string | undefined =>
  /^Bearer +(\S+) *$/i.exec(headers.get("authorization") ?? "")?.[1]

/** The claims in the middle part of a JWT; undefined if that part has no claims. */
const claimsOf = (token: string): { readonly exp?: unknown } | undefined => {
  const payload = /^[\w-]+\.([\w-]+)\.[\w-]+$/.exec(token)?.[1]
  if (payload === undefined) return undefined
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, "base64url").toString())
    return typeof claims === "object" && claims !== null ? claims : undefined
  } catch {
    return undefined
  }
}

/** Why no cluster can have issued a token, in words for the caller. */
const faultOf = (token: string, now: number): string | undefined => {
  const claims = claimsOf(token)
  if (claims === undefined) {
    return "this is not a token of a cluster: a JSON Web Token is required (other tokens take --opaque-tokens)"
  }
  return typeof claims.exp === "number" && claims.exp * 1000 + clockSkew < now ? "this token has expired" : undefined
}

const unauthorized = (line: string): Response =>
  Endpoints.text(401, line, { "www-authenticate": "Bearer", "cache-control": "no-store" })

/** The answer of a review, within the timeout. */
const answered = Effect.timeoutOrElse({
  duration: patience,
  orElse: () => Effect.fail(new Unanswered({ reason: `no answer within ${patience}`, forbidden: false }))
})

const notKnown = "the API server does not know this token"

const crowded = (): Response =>
  Endpoints.text(429, "the manager checks too many tokens at the moment; try again", {
    "retry-after": "1",
    "cache-control": "no-store"
  })

/** The tokens that callers may use. */
export interface Settings {
  /** Whether to send reviews for tokens that are not JSON Web Tokens, such as static and webhook tokens. Default false. */
  readonly opaqueTokens?: boolean | undefined
}

/** Sends the reviews with the client of the context. */
export const make = ({
  opaqueTokens = false
}: Settings = {}): Effect.Effect<Callers["Service"], never, Client.Client | Scope.Scope> =>
  Effect.gen(function* () {
    const client = yield* Client.Client
    const unconfirmed = yield* SingleFlight.make<User | string, Unanswered>(reviews.unknown)
    const known = yield* SingleFlight.make<User | string, Unanswered>(reviews.known)
    const authorizations = yield* SingleFlight.make<boolean, Unanswered>(reviews.known)
    const users = answers<User>()
    // Separate from `users`, so that invalid tokens do not evict confirmed ones.
    const unknown = answers<string>()
    const verdicts = answers<boolean>()
    let loggedAt = Number.NEGATIVE_INFINITY

    /** A review changes nothing, so a lost answer is retried once. */
    const ask = <A>(question: Effect.Effect<A, ApiError.ApiError | InvalidObject>) =>
      Effect.retry(question, { times: 1, while: ({ _tag }) => _tag === "Transport" }).pipe(
        Effect.mapError(
          (error) =>
            new Unanswered({
              reason: Permission.reasonOf(error),
              forbidden: error._tag === "Forbidden" && Permission.missing(error) !== undefined
            })
        ),
        answered
      )

    const review = (token: string, key: string) =>
      Effect.gen(function* () {
        const user = userOf(yield* ask(client.create(TokenReview, { metadata: {}, spec: { token } })))
        const now = yield* Clock.currentTimeMillis
        if (user === undefined) {
          users.drop(key)
          unknown.put(key, notKnown, now + times.unknown)
        } else users.put(key, user, now + times.known)
        return user ?? notKnown
      })

    /**
     * The user of a token, or the reason for a denial. Plain code where the answer is cached or the queue is full, because in a flood
     * each step counts.
     */
    const identify = (
      token: string,
      source: string,
      now: number
    ): Effect.Effect<User | string, Unanswered | SingleFlight.Crowded> => {
      if (token.length > mostToken) return Effect.succeed(`this token is too long: at most ${mostToken} characters`)
      const key = Bun.CryptoHasher.hash("sha256", token, "base64")
      const before = users.get(key, now) ?? unknown.get(key, now)
      if (before !== undefined) return Effect.succeed(before)
      // A confirmed token does not wait behind unconfirmed ones.
      const lane = users.has(key) ? known : unconfirmed
      if (lane.refuses(key, source)) return Effect.fail(SingleFlight.crowded)
      const fault = opaqueTokens ? undefined : faultOf(token, now)
      if (fault !== undefined) return Effect.succeed(fault)
      return Effect.flatMap(lane.ask(key, source, review(token, key)), answered)
    }

    const isAllowed = (user: User, path: string, verb: string) =>
      Effect.gen(function* () {
        const spec = questionOf(user, path, verb)
        const key = JSON.stringify(spec)
        const before = verdicts.get(key, yield* Clock.currentTimeMillis)
        if (before !== undefined) return before
        const answer = yield* authorizations.ask(
          key,
          user.username,
          Effect.gen(function* () {
            const { status } = yield* ask(client.create(SubjectAccessReview, { metadata: {}, spec }))
            const allowed = status?.allowed === true
            const now = yield* Clock.currentTimeMillis
            verdicts.put(key, allowed, now + (allowed ? times.allowed : times.denied))
            return allowed
          })
        )
        return yield* answered(answer)
      })

    /** The answer to a caller without the permission; undefined for a permitted one. */
    const refusal = (user: User | string, path: string, verb: string) =>
      typeof user === "string"
        ? Effect.succeed(unauthorized(user))
        : Effect.map(isAllowed(user, path, verb), (allowed) => {
            const rule = JSON.stringify({ nonResourceURLs: [path], verbs: [verb] })
            return allowed
              ? undefined
              : Endpoints.text(
                  403,
                  `${user.username} is not allowed to ${verb} ${path} (add this rule to a ClusterRole: ${rule})`
                )
          })

    const unavailable = (path: string, { forbidden, reason }: Unanswered) =>
      Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        if (now - loggedAt >= logEvery) {
          loggedAt = now
          yield* Effect.logWarning(`Cannot authorize requests for ${path}: ${reason}`)
        }
        if (forbidden) {
          return Endpoints.text(
            503,
            `the manager cannot authorize the request: ${reason} (the command rbac --metrics-secure prints the missing roles)`
          )
        }
        return Endpoints.text(
          503,
          "the manager cannot authorize the request: the API server does not answer (try again)",
          {
            "retry-after": "5"
          }
        )
      })

    return {
      guarded: (handler, options) => (request, caller) =>
        Effect.clockWith((clock) => {
          if (options.loopback && Loopback.isLocal(request, caller.address)) return handler(request, caller)
          const { pathname } = URL.parse(request.url) ?? { pathname: "/" }
          const token = tokenOf(request)
          if (token === undefined) {
            return Effect.succeed(
              unauthorized(
                `${pathname} takes a token of the cluster: Authorization: Bearer …${options.loopback ? ", except from loopback" : ""}`
              )
            )
          }
          return identify(token, caller.address ?? "", clock.currentTimeMillisUnsafe()).pipe(
            Effect.flatMap((user) => refusal(user, pathname, request.method.toLowerCase())),
            Effect.catch((error) =>
              error._tag === "Crowded" ? Effect.succeed(crowded()) : unavailable(pathname, error)
            ),
            Effect.flatMap((refused) => (refused === undefined ? handler(request, caller) : Effect.succeed(refused)))
          )
        })
    }
  })

/** Callers that the API server authenticates and authorizes, for the lifetime of the layer. */
export const layer = (settings?: Settings): Layer.Layer<Callers, never, Client.Client> =>
  Layer.effect(Callers, make(settings))
