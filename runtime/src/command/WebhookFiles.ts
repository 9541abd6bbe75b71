/** The certificate of the webhooks in a folder, as cert-manager writes it: `tls.crt`, `tls.key` and `ca.crt`. */
import { X509Certificate } from "node:crypto"
import { join } from "node:path"
import * as Clock from "effect/Clock"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import { FileSystem } from "effect/FileSystem"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import * as Certificate from "../manager/Certificate.ts"
import * as Metrics from "../telemetry/Metrics.ts"
import * as WebhookMetric from "../telemetry/WebhookMetric.ts"
import type * as CertificateSource from "../webhook/CertificateSource.ts"
import * as Contents from "../webhook/Contents.ts"
import type * as Registration from "../webhook/Registration.ts"
import * as Verification from "../webhook/Verification.ts"

/** The certificate of a folder cannot be published. */
export class NoCa extends Data.TaggedError("NoCa")<{ readonly message: string }> {}

/** The settings of a folder. */
export interface Settings {
  readonly dir: string
  /** The DNS name or IP address by which the API server calls the webhooks. */
  readonly name: string
  /** Gets the last error of an activity, or `undefined` after a success. */
  readonly report: (activity: string, error: string | undefined) => void
}

/** The folder of a certificate, whose files were usable at the start. */
export interface WebhookFiles {
  /**
   * The pairs of the folder. The first pair waits until its CA is published, and so does each later one. While the API server accepts
   * the served pair, a pair that it would reject does not replace it.
   */
  readonly follow: (registration: Registration.Registration) => Effect.Effect<
    {
      readonly first: Effect.Effect<CertificateSource.Pair>
      readonly after: CertificateSource.Source["after"]
    },
    never,
    Scope.Scope
  >
}

/** An expired CA is removed from the configurations after this time, in ms, because the clocks of replicas differ. */
const keptFor = 24 * 60 * 60 * 1000

/** The place of the certificate of a folder. */
export const placeOf = (dir: string): string => join(dir, "tls.crt")

/** The files of a folder. Fails if one of them cannot be used, with a message that names `--webhook-cert-dir`. */
export const make = ({
  dir,
  name,
  report
}: Settings): Effect.Effect<WebhookFiles, Certificate.Unusable | NoCa, FileSystem> =>
  Effect.gen(function* () {
    const files = yield* FileSystem
    const file = join(dir, "ca.crt")
    /** The CAs of the folder, at least one. */
    const ca = files.readFileString(file).pipe(
      Effect.map(Contents.casOf),
      Effect.filterOrFail((cas) => cas.length > 0),
      Effect.mapError(() => new NoCa({ message: `cannot read a CA: ${file} (the CA that issued tls.crt, as PEM)` }))
    )
    let published: () => string = () => ""
    /** Rejects a pair with which calls would begin to fail. */
    const verify = (found: CertificateSource.Pair, served: CertificateSource.Pair) =>
      Effect.gen(function* () {
        const own = yield* Effect.orElseSucceed(ca, () => [])
        const now = yield* Clock.currentTimeMillis
        const expected = { name, cas: `${Contents.bundleOf(own)}${published()}` }
        const problem = Verification.problemOf(found, expected, now)
        if (problem !== undefined && Verification.problemOf(served, expected, now) === undefined) {
          return yield* new Certificate.Unusable({ message: `certificate of ${placeOf(dir)} ${problem}` })
        }
      })
    const named = (message: string) => `--webhook-cert-dir: ${message}`
    const source = yield* Effect.mapError(
      Certificate.ofDir(dir, { verify, report: (error) => report("read", error) }),
      ({ message }) => new Certificate.Unusable({ message: named(message) })
    )
    yield* Effect.mapError(ca, ({ message }) => new NoCa({ message: named(message) }))
    return {
      follow: (registration) =>
        Effect.gen(function* () {
          published = registration.current
          const registry = yield* Metrics.Metrics
          const start = registry.gauge(WebhookMetric.certificateStart, {})
          const expiration = registry.gauge(WebhookMetric.certificateExpiration, {})
          const measured = (pair: CertificateSource.Pair) =>
            Effect.sync(() => {
              const { validFrom, validTo } = new X509Certificate(pair.certificate)
              start.set(Date.parse(validFrom) / 1000)
              expiration.set(Date.parse(validTo) / 1000)
            })
          /** The logged errors since the last success. */
          const logged = new Set<string>()
          const publish = Effect.gen(function* () {
            const own = yield* ca
            const now = yield* Clock.currentTimeMillis
            const found = Contents.casOf(yield* registration.published)
            // The API server may still call a replica with the old certificate.
            const current = found.filter(({ id, to }) => now < to + keptFor && own.every((ca) => ca.id !== id))
            const wanted = [...own, ...current]
            const isPublished =
              wanted.length === found.length && own.every(({ id }) => found.some((ca) => ca.id === id))
            if (!isPublished) yield* registration.publish(Contents.bundleOf(wanted))
            logged.clear()
            report("publish", undefined)
          }).pipe(
            Effect.tapError(({ message }) => {
              report("publish", `cannot publish the CA of the webhooks: ${message}`)
              if (logged.has(message)) return Effect.void
              logged.add(message)
              return Effect.logWarning(`Cannot publish the CA of the webhooks, retrying: ${message}`)
            }),
            Effect.retry(Schedule.min([Schedule.exponential("1 second"), Schedule.spaced("30 seconds")])),
            Effect.orDie
          )
          // Another client may remove the CA or a configuration.
          yield* Effect.forkScoped(Effect.repeat(publish, Schedule.spaced("20 seconds")))
          return {
            first: Effect.as(publish, source.first).pipe(Effect.tap(measured)),
            after: (pair) => Effect.tap(source.after(pair), publish).pipe(Effect.tap(measured))
          }
        })
    }
  })
