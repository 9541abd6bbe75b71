/**
 * The certificate and key of a TLS port, and their renewal without a restart.
 *
 * A folder holds them as a mounted Secret of type `kubernetes.io/tls`: `tls.crt` (the server's certificate first, then its
 * intermediates) and `tls.key`, both PEM. The manager reads the files every few seconds and compares their content, because a mounted
 * Secret changes by a symlink. It reports a new pair that it cannot use once, and keeps serving the old pair. Without a folder, the
 * manager serves a self-signed certificate ({@link SelfSigned}) and replaces it before it expires.
 */
import { createPrivateKey, X509Certificate } from "node:crypto"
import { hostname } from "node:os"
import { join } from "node:path"
import { createSecureContext } from "node:tls"
import * as Clock from "effect/Clock"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import { FileSystem } from "effect/FileSystem"
import * as FileError from "../resource/FileError.ts"
import * as Time from "../resource/Time.ts"
import * as Metric from "../telemetry/Metric.ts"
import * as Metrics from "../telemetry/Metrics.ts"
import type { Pair, Source } from "../webhook/CertificateSource.ts"
import * as SelfSigned from "./SelfSigned.ts"

export type { Pair, Source } from "../webhook/CertificateSource.ts"

/** The manager cannot use the certificate of a folder. */
export class Unusable extends Data.TaggedError("Unusable")<{ readonly message: string }> {}

/** The interval between reads of a folder, as in controller-runtime's certificate watcher. */
export const lookEvery = "10 seconds"

/** The interval between checks of the self-signed certificate; a timer of months is not reliable. */
const renewEvery = "1 day"

/** The remaining time at which the self-signed certificate is replaced, in ms: 30 days. */
const renewBefore = 30 * 24 * 60 * 60 * 1000

const names = { certificate: "tls.crt", key: "tls.key" } as const

const reads = <A>(what: string, read: () => A): Effect.Effect<A, Unusable> =>
  Effect.try({
    try: read,
    // The error of the parser could contain parts of the key.
    catch: () => new Unusable({ message: `${what} can't be read as PEM` })
  })

const check = (dir: string, { certificate, key }: Pair): Effect.Effect<void, Unusable> =>
  Effect.gen(function* () {
    const read = yield* reads(join(dir, names.certificate), () => new X509Certificate(certificate))
    const secret = yield* reads(join(dir, names.key), () => createPrivateKey(key))
    if (!read.checkPrivateKey(secret)) {
      return yield* new Unusable({
        message: `${join(dir, names.key)} is not the key of ${join(dir, names.certificate)}`
      })
    }
    yield* reads(join(dir, names.certificate), () => createSecureContext({ cert: certificate, key }))
  })

const fileOf = (file: string): Effect.Effect<string, Unusable, FileSystem> =>
  Effect.flatMap(FileSystem, (files) => files.readFileString(file)).pipe(
    Effect.mapError((error) => {
      const reason = FileError.reasonOf(error)
      return new Unusable({
        message: reason === "NotFound" ? `${file} does not exist` : `${file} cannot be read (${reason})`
      })
    })
  )

const readDir = (dir: string): Effect.Effect<Pair, Unusable, FileSystem> =>
  Effect.all({ certificate: fileOf(join(dir, names.certificate)), key: fileOf(join(dir, names.key)) })

/** The validity and the subject of a certificate. */
const validityOf = ({ certificate }: Pair) => {
  const { validFrom, validTo } = new X509Certificate(certificate)
  return { from: Date.parse(validFrom), to: Date.parse(validTo) }
}

/** The settings of a folder whose caller verifies its certificates. */
export interface Verifying {
  /** Fails if a new pair must not replace the served one. A pair that is rejected is verified again at each read. */
  readonly verify: (found: Pair, served: Pair) => Effect.Effect<void, Unusable>
  /** Gets the error of each read, or `undefined` after a success. */
  readonly report: (error: string | undefined) => void
}

/**
 * The certificates of a folder. Fails if the current ones are not usable. The metrics of the fiber's registry count the reads. An
 * expired or not yet valid certificate is served with a warning in the log: clients refuse it. With `verifying`, the caller logs that
 * warning.
 */
export const ofDir = (dir: string, verifying?: Verifying): Effect.Effect<Source, Unusable, FileSystem> =>
  Effect.gen(function* () {
    const files = yield* FileSystem
    const registry = yield* Metrics.Metrics
    const looks = registry.counter(Metric.certificateReads, {})
    const errors = registry.counter(Metric.certificateReadErrors, {})
    const read = Effect.suspend(() => {
      looks.add()
      return Effect.provideService(readDir(dir), FileSystem, files)
    })
    const counted = <A>(step: Effect.Effect<A, Unusable, FileSystem>) =>
      Effect.tapError(step, () => Effect.sync(() => errors.add()))

    /** The certificate of the last warning. */
    let warned: string | undefined
    const warn = (pair: Pair) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const { from, to } = validityOf(pair)
        const isValid = from <= now && now < to
        if (isValid || verifying !== undefined || warned === pair.certificate) return Effect.void
        warned = pair.certificate
        const file = join(dir, names.certificate)
        return Effect.logWarning(
          now < to
            ? `${file} is not valid before ${Time.seconds(from)}: clients refuse it until then`
            : `${file} has expired at ${Time.seconds(to)}: clients refuse it until there is a new one`
        )
      })
    const first = yield* Effect.tap(read, (pair) => check(dir, pair)).pipe(counted)
    yield* warn(first)
    /**
     * The error of the last read. It is reported at the next read, because one of the two files may be a moment newer than the other.
     */
    let wrong: { readonly message: string; logged: boolean } | undefined

    const refused = ({ message }: Unusable) =>
      Effect.suspend(() => {
        verifying?.report(message)
        if (wrong?.message !== message) wrong = { message, logged: false }
        else if (!wrong.logged) {
          wrong.logged = true
          return Effect.logError(`Invalid certificate, keeping the previous one: ${message}`)
        }
        return Effect.void
      })

    const look = (shown: Pair) =>
      Effect.gen(function* () {
        const found = yield* read
        const same = found.certificate === shown.certificate && found.key === shown.key
        if (!same) {
          yield* check(dir, found)
          yield* verifying?.verify(found, shown) ?? Effect.void
          yield* Effect.logInfo(
            `A new certificate is served: ${join(dir, names.certificate)}, valid until ${Time.seconds(validityOf(found).to)}`
          )
        }
        yield* warn(found)
        wrong = undefined
        verifying?.report(undefined)
        return same ? undefined : found
      }).pipe(
        counted,
        Effect.provideService(FileSystem, files),
        Effect.catch((error) => Effect.as(refused(error), undefined))
      )

    return { first, after: (shown) => until(Effect.delay(look(shown), lookEvery)) }
  })

/** Self-signed certificates for the name of this machine and for loopback. */
export const ofOurOwn: Effect.Effect<Source> = Effect.gen(function* () {
  const make = Effect.map(Clock.currentTimeMillis, (now) =>
    SelfSigned.make([hostname(), "localhost", "127.0.0.1", "::1"], now)
  )
  const renewed = ({ certificate }: Pair) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) =>
      Date.parse(new X509Certificate(certificate).validTo) - now < renewBefore ? make : Effect.sync(() => undefined)
    )
  return { first: yield* make, after: (shown) => until(Effect.delay(renewed(shown), renewEvery)) }
})

/** Repeats a step until it has a result. */
const until = <A>(step: Effect.Effect<A | undefined>): Effect.Effect<A> =>
  Effect.repeat(step, { until: (result) => result !== undefined })
