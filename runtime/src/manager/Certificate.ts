/**
 * What a port that speaks TLS shows: a certificate and its key, and those that take their place in time, without a restart.
 *
 * From a folder, as a Secret of type `kubernetes.io/tls` is mounted: `tls.crt` (the server's certificate first, then those that
 * vouch for it) and `tls.key`, both PEM. They are looked at every few seconds, and what they hold is compared, since a mounted Secret
 * changes by way of a symlink. New ones that can't be used are told of once, and the old ones are shown on. Without a folder a
 * certificate of our own is shown, {@link SelfSigned}, and a new one before it ends.
 */
import { createPrivateKey, X509Certificate } from "node:crypto"
import { hostname } from "node:os"
import { join } from "node:path"
import { createSecureContext } from "node:tls"
import { FileSystem } from "@effect/platform/FileSystem"
import * as Clock from "effect/Clock"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Time from "../resource/Time.ts"
import * as Metric from "../telemetry/Metric.ts"
import * as Metrics from "../telemetry/Metrics.ts"
import * as SelfSigned from "./SelfSigned.ts"

/** A certificate, those that vouch for it perhaps behind it, and its private key; both PEM. */
export type Pair = SelfSigned.Pair

/** Certificates, one after the other. */
export interface Source {
  readonly first: Pair
  /** Waits for the next, which differs from this one. Never fails: what is wrong with it is logged. */
  readonly after: (pair: Pair) => Effect.Effect<Pair>
}

/** The certificate of a folder can't be used. */
export class Unusable extends Data.TaggedError("Unusable")<{ readonly message: string }> {}

/** How often a folder is looked at: as controller-runtime's watcher of certificates. */
export const lookEvery = "10 seconds"

/** How often it is asked whether our own certificate is near its end; a timer of months could not be trusted. */
const renewEvery = "1 day"

/** A certificate of our own is replaced when it has only this long, in milliseconds: a month, as those of others. */
const renewBefore = 30 * 24 * 60 * 60 * 1000

const names = { certificate: "tls.crt", key: "tls.key" } as const

const reads = <A>(what: string, read: () => A): Effect.Effect<A, Unusable> =>
  Effect.try({
    try: read,
    // What a parser says of a key might quote it.
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
      const reason = error._tag === "SystemError" ? error.reason : error.description
      return new Unusable({
        message: reason === "NotFound" ? `${file} does not exist` : `${file} cannot be read (${reason})`
      })
    })
  )

const readDir = (dir: string): Effect.Effect<Pair, Unusable, FileSystem> =>
  Effect.all({ certificate: fileOf(join(dir, names.certificate)), key: fileOf(join(dir, names.key)) })

/** When a certificate begins and ends to be valid, and to whom it was given. */
const validityOf = ({ certificate }: Pair) => {
  const { validFrom, validTo } = new X509Certificate(certificate)
  return { from: Date.parse(validFrom), to: Date.parse(validTo) }
}

/**
 * The certificates of a folder. Fails if there is none now that can be used. Reads are counted in the fiber's registry. One that has
 * expired, or is not valid yet, is served all the same, with a warning in the log: clients refuse it.
 */
export const ofDir = (dir: string): Effect.Effect<Source, Unusable, FileSystem> =>
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

    /** The certificate that was last warned of. */
    let warned: string | undefined
    const warn = (pair: Pair) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const { from, to } = validityOf(pair)
        if ((from <= now && now < to) || warned === pair.certificate) return Effect.void
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
    /** What was wrong at the last look. One of the two files may be a moment newer than the other: that is told the next time. */
    let wrong: { readonly message: string; told: boolean } | undefined

    const refused = ({ message }: Unusable) =>
      Effect.suspend(() => {
        if (wrong?.message !== message) wrong = { message, told: false }
        else if (!wrong.told) {
          wrong.told = true
          return Effect.logError(`The new certificate can't be used, the one before is shown on: ${message}`)
        }
        return Effect.void
      })

    const look = (shown: Pair) =>
      Effect.gen(function* () {
        const found = yield* read
        const same = found.certificate === shown.certificate && found.key === shown.key
        if (!same) {
          yield* check(dir, found)
          yield* Effect.logInfo(
            `A new certificate is served: ${join(dir, names.certificate)}, valid until ${Time.seconds(validityOf(found).to)}`
          )
        }
        yield* warn(found)
        wrong = undefined
        return same ? undefined : found
      }).pipe(
        counted,
        Effect.provideService(FileSystem, files),
        Effect.catchAll((error) => Effect.as(refused(error), undefined))
      )

    return { first, after: (shown) => until(Effect.delay(look(shown), lookEvery)) }
  })

/** Certificates of our own, for this machine's name and for loopback. */
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

/** Does something over and over, until there is a result. */
const until = <A>(step: Effect.Effect<A | undefined>): Effect.Effect<A> =>
  Effect.repeat(step, { until: (result) => result !== undefined })
