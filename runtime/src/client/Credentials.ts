/**
 * Credentials that rotate. Tokens, certificates and authorities are read from their source again every minute, and at once when the
 * server rejects them.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { FileSystem } from "effect/FileSystem"
import * as Semaphore from "effect/Semaphore"
import * as FileError from "../resource/FileError.ts"
import * as NodeModule from "../resource/NodeModule.ts"
import * as Time from "../resource/Time.ts"
import { type Cluster, type Credentials, CredentialsError, type Tls } from "./Cluster.ts"

/** A value and its source: a file that may change, or the configuration. */
export type Material =
  | { readonly file: string; readonly what: string }
  | { readonly text: string; readonly what: string }

/** The credentials of a plugin. */
export interface Issued {
  readonly authorization?: string | undefined
  readonly cert?: string | undefined
  readonly key?: string | undefined
  /** When they expire, in milliseconds since 1970; `undefined`: when the server rejects them. */
  readonly expiresAt?: number | undefined
}

/** The user to impersonate. Requests then have the permissions of that user. */
export interface Impersonation {
  readonly user: string
  readonly uid: string | undefined
  readonly group: string | undefined
  /** Extra attributes for authorizers. */
  readonly extra: { readonly [key: string]: string }
}

/** The source of each part of the credentials. `what` and the like name the part and its setting. */
export interface CredentialSource {
  readonly ca: Material | undefined
  readonly cert: Material | undefined
  readonly key: Material | undefined
  readonly token: Material | undefined
  readonly basic: { readonly username: string; readonly password: string } | undefined
  /** Calls a plugin (exec, oidc), which caches its credentials until they expire. */
  readonly plugin: Effect.Effect<Issued, CredentialsError, FileSystem> | undefined
  readonly serverName: string | undefined
  readonly insecure: boolean
  readonly impersonate: Impersonation | undefined
}

/** The longest time between reads, as in client-go. A pod's token is replaced at 80 % of its life, ten minutes before it expires. */
export const refreshMillis = 60_000

/**
 * The shortest time between renewals. So a server that rejects all credentials does not start a plugin per request. A slow plugin does
 * not run again for each waiting request.
 */
export const renewMillis = 5_000

const fail = (message: string) => Effect.fail(new CredentialsError({ message }))

const textOf = (material: Material): Effect.Effect<string, CredentialsError, FileSystem> =>
  "text" in material
    ? Effect.succeed(material.text)
    : Effect.flatMap(FileSystem, (fs) =>
        Effect.catch(fs.readFileString(material.file), (error) =>
          fail(
            FileError.reasonOf(error) === "NotFound"
              ? `${material.what}: file ${material.file} does not exist`
              : `${material.what}: file ${material.file} cannot be read (${FileError.reasonOf(error)})`
          )
        )
      )

const placeOf = (material: Material): string => ("file" in material ? ` (${material.file})` : "")

const isEncrypted = (pem: string): boolean =>
  pem.includes("-----BEGIN ENCRYPTED PRIVATE KEY-----") || pem.includes("Proc-Type: 4,ENCRYPTED")

const pemOf = (
  material: Material,
  check: (pem: string) => unknown
): Effect.Effect<string, CredentialsError, FileSystem> =>
  Effect.flatMap(textOf(material), (pem) =>
    Effect.as(
      Effect.try({
        try: () => check(pem),
        catch: () =>
          new CredentialsError({
            message: isEncrypted(pem)
              ? `${material.what}${placeOf(material)} is encrypted (not supported: store it without a passphrase)`
              : `${material.what}${placeOf(material)} is not in PEM format`
          })
      }),
      pem
    )
  )

const certificateOf = (pem: string) => new (NodeModule.crypto().X509Certificate)(pem)
const privateKeyOf = (pem: string) => NodeModule.crypto().createPrivateKey(pem)

// The key of an extra is part of a header's name, which ignores case and allows few characters.
const impersonation = ({ extra, group, uid, user }: Impersonation): Credentials["headers"] => ({
  "impersonate-user": user,
  ...(uid !== undefined && { "impersonate-uid": uid }),
  ...(group !== undefined && { "impersonate-group": group }),
  ...Object.fromEntries(
    Object.entries(extra).map(([key, value]) => [`impersonate-extra-${encodeURIComponent(key.toLowerCase())}`, value])
  )
})

const issuedPart = (what: string, text: string | undefined): Material | undefined =>
  text === undefined ? undefined : { text, what: `${what} of the plugin` }

/** Credentials, and when they expire, if known. */
interface Reading {
  readonly credentials: Credentials
  readonly expiresAt: number | undefined
}

/** Reads all parts once. */
const read = (source: CredentialSource): Effect.Effect<Reading, CredentialsError, FileSystem> =>
  Effect.gen(function* () {
    const issued: Issued = source.plugin === undefined ? {} : yield* source.plugin
    const certOf = issuedPart("certificate", issued.cert) ?? source.cert
    const keyOf = issuedPart("key", issued.key) ?? source.key
    const ca = source.ca && (yield* pemOf(source.ca, certificateOf))
    const cert = certOf && (yield* pemOf(certOf, certificateOf))
    const key = keyOf && (yield* pemOf(keyOf, privateKeyOf))
    if (cert !== undefined && key === undefined) return yield* fail(`${certOf?.what ?? "certificate"} has no key`)
    // During a rotation the two files may belong to different pairs, and the server's error does not show that.
    if (cert !== undefined && key !== undefined && !certificateOf(cert).checkPrivateKey(privateKeyOf(key))) {
      return yield* fail(`${certOf?.what} and ${keyOf?.what} do not belong together`)
    }
    const token = source.token === undefined ? undefined : (yield* textOf(source.token)).trim()
    if (source.token !== undefined && token === "")
      return yield* fail(`${source.token.what}${placeOf(source.token)} is empty`)
    const authorization =
      token !== undefined
        ? `Bearer ${token}`
        : (issued.authorization ??
          (source.basic === undefined
            ? undefined
            : `Basic ${Buffer.from(`${source.basic.username}:${source.basic.password}`).toString("base64")}`))
    return {
      credentials: {
        tls: { ca, cert, key, serverName: source.serverName, insecure: source.insecure },
        headers: {
          ...(authorization !== undefined && { authorization }),
          ...(source.impersonate !== undefined && impersonation(source.impersonate))
        }
      },
      expiresAt: issued.expiresAt
    }
  })

const sameTls = (a: Tls, b: Tls): boolean =>
  a.ca === b.ca && a.cert === b.cert && a.key === b.key && a.serverName === b.serverName && a.insecure === b.insecure

/** Whether any part can change without another read of the configuration. */
const rotates = (source: CredentialSource): boolean =>
  source.plugin !== undefined ||
  [source.ca, source.cert, source.key, source.token].some((material) => material !== undefined && "file" in material)

/**
 * Reads the credentials now, and again from time to time. If a later read fails, the old credentials stay in use and a warning gives
 * the reason.
 *
 * @param load the source; evaluated again for a renewal, because the configuration may contain new certificates, and a new plugin has
 * no cached credentials
 */
export const rotating = (
  load: Effect.Effect<CredentialSource, CredentialsError, FileSystem>
): Effect.Effect<Pick<Cluster, "credentials" | "current" | "renew">, CredentialsError, FileSystem> =>
  Effect.gen(function* () {
    const fs = yield* FileSystem
    const clock = yield* Clock.Clock
    const one = yield* Semaphore.make(1)
    let source = yield* load
    let { credentials: current, expiresAt } = yield* read(source)
    let readAt = Time.monotonic(clock)
    let renewedAt = Number.NEGATIVE_INFINITY
    let reading = false

    const reread = (renewed: boolean) =>
      Effect.gen(function* () {
        reading = true
        readAt = Time.monotonic(clock)
        if (renewed) source = yield* load
        const next = yield* read(source)
        // Connections depend on the identity of `tls`, so it changes only with its contents.
        const tls = sameTls(next.credentials.tls, current.tls) ? current.tls : next.credentials.tls
        current = { ...next.credentials, tls }
        expiresAt = next.expiresAt
      }).pipe(
        Effect.catch((error) => Effect.logWarning(`${error.message}; the credentials read before stay in use`)),
        // Only a finished renewal counts: after an interrupted one, the next waiting request renews.
        Effect.andThen(
          Effect.sync(() => {
            readAt = Time.monotonic(clock)
            if (renewed) renewedAt = readAt
          })
        ),
        Effect.ensuring(
          Effect.sync(() => {
            reading = false
          })
        ),
        Effect.provideService(FileSystem, fs)
      )
    const since = (moment: number) => Time.monotonic(clock) - moment
    // Wall-clock time, as `expiresAt` is a date.
    const expired = () => expiresAt !== undefined && clock.currentTimeMillisUnsafe() >= expiresAt
    const rested = () => since(readAt) >= renewMillis
    const latest = Effect.sync(() => current)
    /** One at a time; a request that waited checks again whether the work is still due. */
    const when = (due: () => boolean, read: Effect.Effect<void>) =>
      Effect.andThen(one.withPermits(1)(Effect.suspend(() => (due() ? read : Effect.void))), latest)
    const isOver = () => expired() && (reading || rested())
    // While one request reads, the others use the current credentials, which are still valid.
    const isOld = () => !reading && since(readAt) >= refreshMillis && rotates(source)
    return {
      credentials: Effect.suspend(() => {
        if (isOver()) return when(() => expired() && rested(), reread(false))
        return isOld() ? when(() => since(readAt) >= refreshMillis, reread(false)) : latest
      }),
      current: () => (isOver() || isOld() ? undefined : current),
      // After a rejection they are not valid, so all requests wait for the new ones.
      renew: when(() => since(renewedAt) >= renewMillis, reread(true))
    }
  })
