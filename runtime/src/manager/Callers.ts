/**
 * Who may ask a manager, for the routes that are not for everybody: who asks from the same machine, where a route takes that for
 * enough, and who shows a bearer token that the API server knows (TokenReview) of somebody who may do this (SubjectAccessReview,
 * on the path, with the method in lower case as the verb). It is what controller-runtime's filter for secure metrics asks, so the
 * same roles grant it:
 *
 * ```yaml
 * rules: [{ nonResourceURLs: [/metrics], verbs: [get] }]
 * ```
 *
 * Answers are remembered for a short time, as client-go's delegating authenticator and authorizer do: see {@link times}. So a right
 * that is taken away, or a token that is revoked, is good for that long still. Tokens are remembered by their hash.
 *
 * Needs `create` on `tokenreviews.authentication.k8s.io` and `subjectaccessreviews.authorization.k8s.io`: see {@link access}.
 */
import { createHash } from "node:crypto"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as ApiError from "../client/ApiError.ts"
import * as Client from "../client/Client.ts"
import * as Right from "../client/Right.ts"
import * as Access from "../controller/Access.ts"
import * as Bounded from "../resource/Bounded.ts"
import { SubjectAccessReview, TokenReview } from "../resource/BuiltIn.ts"
import type { InvalidObject } from "../resource/Resource.ts"
import * as Endpoints from "./Endpoints.ts"

/** What the manager must be allowed in order to ask about its callers. */
export const access: ReadonlyArray<Access.Access> = [Access.create(TokenReview), Access.create(SubjectAccessReview)]

/** How long an answer is remembered, in milliseconds. A refusal for a short time only: somebody may be busy mending it. */
export const times = { known: 60_000, unknown: 10_000, allowed: 300_000, denied: 30_000 } as const

/** Answers of a kind that are remembered at most; the oldest makes room. Whoever tries out tokens must not fill the memory. */
export const mostAnswers = 1024

/** Questions that are asked at a time, for the same reason: the API server has others to serve. */
const concurrency = 4

/** All that is asked about one caller has this long; a port cuts off its handlers soon after. */
const patience = "6 seconds"

/** How often it is logged that callers can't be asked about, in milliseconds. */
const logEvery = 60_000

/** Which callers a route takes. */
export interface Options {
  /** Whether whoever asks from loopback needs no token. */
  readonly loopback: boolean
}

/** Who may ask. */
export class Callers extends Context.Tag("@homeostat/runtime/Callers")<
  Callers,
  {
    /** The handler, for those who may ask. All others get one line that says what is missing: 401, 403, or 503 when nobody can tell. */
    readonly guarded: (handler: Endpoints.Handler, options: Options) => Endpoints.Handler
  }
>() {}

/**
 * The handler, for those who may ask: see {@link Callers}.
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

const loopback = /^(::ffff:)?127\.0\.0\.1$|^::1$/i

/**
 * Whether an IP address is this machine's own, to which nobody else can connect. The rest of `127.0.0.0/8` is not taken: sidecars
 * pass on from there what strangers send (Istio's from 127.0.0.6).
 */
export const isLoopback = (address: string | undefined): boolean => address !== undefined && loopback.test(address)

const localHost = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$/i

/** Headers by which a proxy tells that it is one, and a browser which page it asks for. */
const onBehalf = /^(forwarded|x-forwarded-.*|x-envoy-.*|x-request-id|x-real-ip|via|origin)$/

/** What a browser says of what its user wants himself, by the address bar or from a page of ours. */
const ownSite = new Set([null, "none", "same-origin"])

/**
 * Whether a request was made by somebody on this machine. One that came from loopback may still be another's: a proxy beside us
 * passes on what strangers ask, and a page in a browser here can ask what its author likes, by a name of his own for 127.0.0.1.
 */
const isLocal = ({ headers }: Request, { address }: Endpoints.Caller): boolean =>
  isLoopback(address) &&
  localHost.test(headers.get("host") ?? "") &&
  ownSite.has(headers.get("sec-fetch-site")) &&
  !Array.from(headers.keys()).some((name) => onBehalf.test(name))

/** Who the API server says that somebody is. */
interface User {
  readonly username: string
  readonly uid: string | undefined
  readonly groups: ReadonlyArray<string>
  readonly extra: { readonly [key: string]: ReadonlyArray<string> } | undefined
}

/** Nobody can say who a caller is or what he may do. */
class Unanswered extends Data.TaggedError("Unanswered")<{
  readonly reason: string
  /** For want of a right of the manager: asking again does not help. */
  readonly forbidden: boolean
}> {}

/** Some answers, each until its time. */
interface Answers<A> {
  /** The answer that is still good at that time. */
  readonly get: (key: string, now: number) => A | undefined
  readonly put: (key: string, answer: A, until: number) => void
}

const answers = <A>(): Answers<A> => {
  const kept = new Map<string, { readonly answer: A; readonly until: number }>()
  return {
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

/** The token of a request that shows one. */
const tokenOf = ({ headers }: Request): string | undefined =>
  /^Bearer +(\S+) *$/i.exec(headers.get("authorization") ?? "")?.[1]

const unauthorized = (line: string): Response =>
  Endpoints.text(401, line, { "www-authenticate": "Bearer", "cache-control": "no-store" })

/** Asks the API server that the client leads to. */
export const make: Effect.Effect<Callers["Type"], never, Client.Client> = Effect.gen(function* () {
  const client = yield* Client.Client
  const turn = yield* Effect.makeSemaphore(concurrency)
  const users = answers<User>()
  // Apart, so that whoever tries out tokens can't push out those that are good.
  const unknown = answers<"unknown">()
  const verdicts = answers<boolean>()
  let toldAt = Number.NEGATIVE_INFINITY

  /** A question changes nothing: when its answer is lost, it is asked once more. */
  const ask = <A>(question: Effect.Effect<A, ApiError.ApiError | InvalidObject>) =>
    Effect.retry(question, { times: 1, while: ({ _tag }) => _tag === "Transport" }).pipe(
      turn.withPermits(1),
      Effect.mapError(
        (error) =>
          new Unanswered({
            reason: Right.reasonOf(error),
            forbidden: error._tag === "Forbidden" && Right.wanting(error) !== undefined
          })
      )
    )

  const identify = (token: string) =>
    Effect.gen(function* () {
      const key = createHash("sha256").update(token).digest("base64")
      const asked = yield* Clock.currentTimeMillis
      const before = users.get(key, asked) ?? unknown.get(key, asked)
      if (before !== undefined) return before
      const review = yield* ask(client.create(TokenReview, { metadata: {}, spec: { token } }))
      const user = userOf(review)
      const now = yield* Clock.currentTimeMillis
      if (user === undefined) unknown.put(key, "unknown", now + times.unknown)
      else users.put(key, user, now + times.known)
      return user ?? "unknown"
    })

  const isAllowed = (user: User, path: string, verb: string) =>
    Effect.gen(function* () {
      const spec = questionOf(user, path, verb)
      const key = JSON.stringify(spec)
      const before = verdicts.get(key, yield* Clock.currentTimeMillis)
      if (before !== undefined) return before
      const { status } = yield* ask(client.create(SubjectAccessReview, { metadata: {}, spec }))
      const allowed = status?.allowed === true
      const now = yield* Clock.currentTimeMillis
      verdicts.put(key, allowed, now + (allowed ? times.allowed : times.denied))
      return allowed
    })

  /** What a caller is told who may not ask; nothing if he may. */
  const refusal = (token: string, path: string, verb: string) =>
    Effect.gen(function* () {
      const user = yield* identify(token)
      if (user === "unknown") return unauthorized("the API server does not know this token")
      if (yield* isAllowed(user, path, verb)) return undefined
      const rule = JSON.stringify({ nonResourceURLs: [path], verbs: [verb] })
      return Endpoints.text(403, `${user.username} may not ${verb} ${path}: add to a ClusterRole ${rule}`)
    })

  const unavailable = (path: string, { forbidden, reason }: Unanswered) =>
    Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      if (now - toldAt >= logEvery) {
        toldAt = now
        yield* Effect.logWarning(`Nobody can say who may ask for ${path}: ${reason}`)
      }
      if (forbidden) {
        return Endpoints.text(
          503,
          `the manager may not ask the API server who you are and what you may do: ${reason} (homeostat rbac --metrics-secure grants it)`
        )
      }
      return Endpoints.text(503, "the API server does not say who you are and what you may do; try again", {
        "retry-after": "5"
      })
    })

  return {
    guarded: (handler, options) => (request, caller) =>
      Effect.gen(function* () {
        if (options.loopback && isLocal(request, caller)) return yield* handler(request, caller)
        const { pathname } = URL.parse(request.url) ?? { pathname: "/" }
        const token = tokenOf(request)
        if (token === undefined) {
          return unauthorized(
            `${pathname} takes a token of the cluster: Authorization: Bearer …${options.loopback ? ", except from loopback" : ""}`
          )
        }
        const refused = yield* refusal(token, pathname, request.method.toLowerCase()).pipe(
          Effect.timeoutFail({
            duration: patience,
            onTimeout: () => new Unanswered({ reason: `no answer within ${patience}`, forbidden: false })
          }),
          Effect.catchTag("Unanswered", (error) => unavailable(pathname, error))
        )
        return refused ?? (yield* handler(request, caller))
      })
  }
})

/** Asks the API server, as long as the layer. */
export const layer: Layer.Layer<Callers, never, Client.Client> = Layer.effect(Callers, make)
