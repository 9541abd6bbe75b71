/**
 * The serving certificate of webhooks, which all replicas of a program share through a Secret of type `kubernetes.io/tls`.
 *
 * The replicas issue it with their own CA and renew both at two thirds of their lifetime: 90 days and a year. Every replica reads the
 * Secret and the published CAs about every 20 seconds. Whichever replica sees first that a renewal is due writes it, and the
 * resourceVersion of the Secret decides between several. `Rotation` has the rules. A replica serves a certificate only if all
 * configurations contain its CA, so the API server can call every replica at any time.
 *
 * Delete the Secret to replace the CA and the certificate at once. The replicas keep serving the old certificate until the new CA is
 * published. The old CA stays trusted until its last certificate has expired.
 *
 * RBAC: get, create, update and delete of `secrets`, except for `create` limited to the name of the Secret.
 */
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import type * as ApiError from "../client/ApiError.ts"
import * as Client from "../client/Client.ts"
import { Secret } from "../resource/BuiltIn.ts"
import type { InvalidObject } from "../resource/Resource.ts"
import * as Time from "../resource/Time.ts"
import * as Metrics from "../telemetry/Metrics.ts"
import * as Metric from "../telemetry/WebhookMetric.ts"
import * as Authority from "./Authority.ts"
import type { Pair, Source } from "./CertificateSource.ts"
import * as Contents from "./Contents.ts"
import * as Rotation from "./Rotation.ts"

/** Any error with a message of one line, such as an `ApiError`. */
interface Failure {
  readonly message: string
}

/** The settings of a shared certificate. */
export interface Settings {
  readonly secret: { readonly namespace: string; readonly name: string }
  /**
   * The DNS names and IP addresses by which the API server calls the webhooks, at least one. A certificate that lacks one of them is
   * renewed. Other names stay until the next renewal that is due, so that replicas of two versions do not compete.
   */
  readonly names: ReadonlyArray<string>
  /**
   * Replaces the caBundle of all configurations with this one, in PEM. Writes it only if the configuration has not changed since its
   * last read. It is retried after an error, and interrupted after 20 seconds.
   */
  readonly publish: (caBundle: string) => Effect.Effect<void, Failure>
  /** The CAs in PEM that every configuration contains now, read from the API server. Empty if there are none. */
  readonly published: Effect.Effect<string, Failure>
  /** Gets the last error, or `undefined` after all steps have succeeded. */
  readonly report?: ((error: string | undefined) => void) | undefined
  /** The interval between reads, which varies by a quarter. Default 20 seconds. */
  readonly every?: Duration.Input | undefined
}

/** A write of bundles takes at most this long, in ms, from the reads before it. */
const publishWithin = 20_000

/**
 * A running replica serves a certificate of a new CA when the CA has been published for this long, in ms: longer than a delayed write
 * of another replica, which may remove the CA again.
 */
export const settleMillis = 60_000

/** The delay after the first failure, in ms. It doubles with each failure up to the interval. */
const firstDelay = 1000

/** The maximum number of looks without a delay after changes. */
const mostAtOnce = 8

/** Another replica was faster: read again. NotFound of a create means a missing namespace. */
const isStale = (error: ApiError.ApiError | InvalidObject): boolean =>
  error._tag === "Conflict" ||
  error._tag === "AlreadyExists" ||
  (error._tag === "NotFound" && error.request.method !== "POST")

/** The values of the Secret's `data` that a change sets. Those with an empty value are removed. */
const valuesOf = (
  kind: Exclude<Rotation.Change, "delete">,
  { issuer, next, serving }: Contents.Contents,
  bundle: ReadonlyArray<Contents.Ca>,
  names: ReadonlyArray<string>,
  now: number
): { readonly [key: string]: string } => {
  const { keys } = Contents
  const trust = (...added: ReadonlyArray<Contents.Ca>) => ({ [keys.bundle]: Contents.bundleOf([...added, ...bundle]) })
  const noNext = { [keys.nextCertificate]: "", [keys.nextKey]: "" }
  const issued = (by: Contents.Issuer, all = names) => {
    const { certificate, key } = Authority.issue(by, all, now)
    return { [keys.certificate]: certificate, [keys.key]: key, [keys.issuerKey]: by.key }
  }
  if (kind === "announce") {
    const made = Contents.makeIssuer(now)
    return { ...trust(made), [keys.nextCertificate]: made.certificate, [keys.nextKey]: made.key }
  }
  if (kind === "promote" && next !== undefined) return { ...trust(), ...issued(next), ...noNext }
  if (kind === "renew" && issuer !== undefined) {
    const isDue = serving === undefined || Rotation.isDue(serving, now)
    return { ...trust(), ...issued(issuer, isDue ? names : Contents.namesOfBoth(names, serving)) }
  }
  if (kind === "trust") return trust()
  const made = Contents.makeIssuer(now)
  return { ...trust(made), ...issued(made), ...noNext }
}

/**
 * The shared certificate. Waits until the Secret has one whose CA is published, and creates both if they are missing. Until the scope
 * closes, it follows and renews the certificate. Never fails: each distinct error is logged once and retried.
 *
 * @example
 * ```ts
 * const source = yield* SharedCertificate.make({
 *   secret: { namespace: "system", name: "hooks-tls" },
 *   names: ["hooks.system.svc"],
 *   publish: (caBundle) => configurations.setCaBundle(caBundle),
 *   published: configurations.commonCas
 * })
 * ```
 */
export const make = (settings: Settings): Effect.Effect<Source, never, Client.Client | Scope.Scope> =>
  Effect.gen(function* () {
    const { names, publish, published, secret: key } = settings
    const place = `Secret ${key.namespace}/${key.name}`
    const every = Duration.toMillis(settings.every ?? "20 seconds")
    const client = yield* Client.Client
    const clock = yield* Clock.Clock
    const registry = yield* Metrics.Metrics
    const start = registry.gauge(Metric.certificateStart, {})
    const expiration = registry.gauge(Metric.certificateExpiration, {})
    const renewals = registry.counter(Metric.certificateRenewals, {})

    /** The certificate that is served, and the signal of its successor. */
    let mine: Contents.Serving | undefined
    let successor = yield* Deferred.make<void>()
    /** When each published CA was first seen, in monotonic ms. */
    let since: ReadonlyMap<string, number> = new Map()
    /** The logged errors of each step since its last success. */
    const logged = new Map<string, Set<string>>()

    /** A step, whose distinct errors are logged once until its next success. Its error names the step. */
    const guarded = <A>(step: string, effect: Effect.Effect<A, Failure>): Effect.Effect<A, Failure> =>
      effect.pipe(
        Effect.tap(() => Effect.sync(() => logged.delete(step))),
        Effect.tapError(({ message }) => {
          const known = logged.get(step) ?? new Set()
          logged.set(step, known)
          if (known.has(message)) return Effect.void
          known.add(message)
          return Effect.logWarning(`Cannot ${step}, retrying: ${message}`)
        }),
        Effect.mapError(({ message }) => ({ message: `cannot ${step}: ${message}` }))
      )

    const serve = (found: Contents.Serving) =>
      Effect.suspend(() => {
        mine = found
        start.set(found.from / 1000)
        expiration.set(found.to / 1000)
        return Effect.logInfo(`A new webhook certificate is served: ${place}, valid until ${Time.seconds(found.to)}`)
      }).pipe(
        Effect.andThen(Deferred.make<void>()),
        Effect.flatMap((next) => {
          const last = successor
          successor = next
          return Deferred.succeed(last, undefined)
        })
      )

    const get = client.get(Secret, key).pipe(
      Effect.map((secret): Secret | undefined => secret),
      Effect.catchIf(
        (error) => error._tag === "NotFound",
        () => Effect.succeed(undefined)
      )
    )

    /** Changes the Secret in the version that was read. False if another replica was faster. */
    const write = (kind: Rotation.Change, reason: string, secret: Secret | undefined, plan: Rotation.Plan) =>
      Effect.gen(function* () {
        if (kind === "delete") {
          const { resourceVersion, uid } = secret?.metadata ?? {}
          yield* client.delete(Secret, key, { uid, resourceVersion })
          return yield* Effect.logInfo(`Deleted ${place}, to create it again: ${reason}`)
        }
        const now = yield* Clock.currentTimeMillis
        const values = valuesOf(kind, Contents.read(secret?.data, now), plan.bundle, names, now)
        const all = { ...secret?.data, ...Contents.encoded(values) }
        const data = Object.fromEntries(
          Object.entries(all).filter(([name, value]) => value !== "" || !(name in values))
        )
        yield* secret === undefined
          ? client.create(Secret, { metadata: { ...key }, type: Contents.type, data })
          : client.replace(Secret, { ...secret, data })
        if (kind === "trust" || kind === "announce") return
        renewals.add()
        yield* Effect.logInfo(`Issued a new webhook certificate: ${place} (${reason})`)
      }).pipe(
        Effect.as(true),
        Effect.catchIf(isStale, () => Effect.succeed(false))
      )

    /** Reads and acts once. Whether to look again at once. */
    const look: Effect.Effect<boolean, Failure> = Effect.gen(function* () {
      const began = Time.monotonic(clock)
      const secret = yield* guarded(`read ${place}`, get)
      const bundle = yield* guarded("read the CAs of the webhook configurations", published)
      const now = yield* Clock.currentTimeMillis
      const cas = Contents.casOf(bundle)
      since = new Map(cas.map(({ id }) => [id, since.get(id) ?? began]))
      const isSuitable = secret !== undefined && secret.type === Contents.type && secret.immutable !== true
      const view: Rotation.View = {
        secret: isSuitable ? Contents.read(secret.data, now) : secret === undefined ? "absent" : "unsuitable",
        published: cas,
        isSettled: ({ id }) => began - (since.get(id) ?? began) >= settleMillis,
        mine,
        names
      }
      const plan = Rotation.next(view, now)
      if (plan.serve !== undefined) yield* serve(plan.serve)
      const steps: Array<Effect.Effect<boolean, Failure>> = []
      if (plan.publish !== undefined) {
        const text = Contents.bundleOf(plan.publish)
        const left = publishWithin - (Time.monotonic(clock) - began)
        const publishing = Effect.timeoutOrElse(left > 0 ? publish(text) : Effect.never, {
          duration: Math.max(left, 0),
          orElse: () => Effect.fail({ message: `no result within ${publishWithin / 1000} seconds` })
        })
        steps.push(Effect.as(guarded("publish the CAs in the webhook configurations", publishing), true))
      }
      if (plan.change !== undefined) {
        const { kind, reason } = plan.change
        steps.push(Effect.as(guarded(`write ${place}`, write(kind, reason, secret, plan)), true))
      }
      const results = yield* Effect.forEach(steps, Effect.result)
      for (const result of results) if (Result.isFailure(result)) return yield* Effect.fail(result.failure)
      return results.length > 0
    })

    let failures = 0
    let atOnce = 0
    const turn = Effect.gen(function* () {
      const result = yield* Effect.result(look)
      settings.report?.(Result.isFailure(result) ? result.failure.message : undefined)
      failures = Result.isSuccess(result) ? 0 : failures + 1
      const isAgain = Result.isSuccess(result) && result.success && atOnce < mostAtOnce
      atOnce = isAgain ? atOnce + 1 : 0
      if (isAgain) return
      const random = yield* Random.next
      const delay = failures > 0 ? Math.min(firstDelay * 2 ** (failures - 1), every) : every
      yield* Effect.sleep(delay * (0.75 + random / 2))
    })
    yield* Effect.forkScoped(Effect.forever(turn))

    const after = (pair: Pair | undefined): Effect.Effect<Pair> =>
      Effect.suspend(() => {
        if (mine !== undefined && (mine.certificate !== pair?.certificate || mine.key !== pair.key)) {
          return Effect.succeed({ certificate: mine.certificate, key: mine.key })
        }
        return Effect.andThen(Deferred.await(successor), after(pair))
      })
    return { first: yield* after(undefined), after }
  })
