/**
 * Credentials that rotate: tokens, certificates and authorities are read from where they are kept, again every minute, and
 * at once when the server refuses them.
 */
import { createPrivateKey, X509Certificate } from "node:crypto"
import { FileSystem } from "@effect/platform/FileSystem"
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { type Cluster, type Credentials, CredentialsError, type Tls } from "./Cluster.ts"

/** Something secret or not, and where it is kept: in a file that may change, or in the configuration. */
export type Material =
  | { readonly file: string; readonly what: string }
  | { readonly text: string; readonly what: string }

/** What a plugin came up with. */
export interface Issued {
  readonly authorization?: string | undefined
  readonly cert?: string | undefined
  readonly key?: string | undefined
}

/** Where each part of the credentials comes from. `what` and the like name the part and the place it is configured at. */
export interface Source {
  readonly ca: Material | undefined
  readonly cert: Material | undefined
  readonly key: Material | undefined
  readonly token: Material | undefined
  readonly basic: { readonly username: string; readonly password: string } | undefined
  /** Asks a plugin (exec, oidc), which keeps what it gets until that expires; `renewed` makes it forget. */
  readonly plugin: ((renewed: boolean) => Effect.Effect<Issued, CredentialsError>) | undefined
  readonly serverName: string | undefined
  readonly insecure: boolean
  /** The user to act as. */
  readonly impersonate: string | undefined
}

/** How old a reading may be. As client-go; a token of a pod is replaced at 80 % of its life, so ten minutes before its end. */
export const refreshMillis = 60_000

/** No reading follows another faster than this, so that a server which refuses everything does not start a plugin per request. */
export const renewMillis = 5_000

const fail = (message: string) => Effect.fail(new CredentialsError({ message }))

const textOf = (material: Material): Effect.Effect<string, CredentialsError, FileSystem> =>
  "text" in material
    ? Effect.succeed(material.text)
    : Effect.flatMap(FileSystem, (fs) =>
        Effect.catchAll(fs.readFileString(material.file), (error) =>
          fail(
            error._tag === "SystemError" && error.reason === "NotFound"
              ? `${material.what}: file ${material.file} does not exist`
              : `${material.what}: file ${material.file} cannot be read (${error._tag === "SystemError" ? error.reason : error.description})`
          )
        )
      )

const placeOf = (material: Material): string => ("file" in material ? ` (${material.file})` : "")

const pemOf = (
  material: Material | undefined,
  check: (pem: string) => unknown
): Effect.Effect<string | undefined, CredentialsError, FileSystem> =>
  material === undefined
    ? Effect.succeed(undefined)
    : Effect.flatMap(textOf(material), (pem) =>
        Effect.as(
          Effect.try({
            try: () => check(pem),
            catch: () => new CredentialsError({ message: `${material.what}${placeOf(material)} is not in PEM format` })
          }),
          pem
        )
      )

const checkCertificate = (pem: string) => new X509Certificate(pem)
const checkKey = (pem: string) => createPrivateKey(pem)

/** Reads all parts once. */
export const read = (source: Source, renewed: boolean): Effect.Effect<Credentials, CredentialsError, FileSystem> =>
  Effect.gen(function* () {
    const issued: Issued = source.plugin === undefined ? {} : yield* source.plugin(renewed)
    const ca = yield* pemOf(source.ca, checkCertificate)
    const cert = issued.cert ?? (yield* pemOf(source.cert, checkCertificate))
    const key = issued.key ?? (yield* pemOf(source.key, checkKey))
    if (cert !== undefined && key === undefined) return yield* fail(`${source.cert?.what ?? "certificate"} has no key`)
    const token = source.token === undefined ? undefined : (yield* textOf(source.token)).trim()
    if (source.token !== undefined && token === "")
      return yield* fail(`${source.token.what}${placeOf(source.token)} is empty`)
    const authorization =
      token !== undefined
        ? `Bearer ${token}`
        : (issued.authorization ??
          (source.basic === undefined
            ? undefined
            : `Basic ${btoa(`${source.basic.username}:${source.basic.password}`)}`))
    return {
      tls: { ca, cert, key, serverName: source.serverName, insecure: source.insecure },
      headers: {
        ...(authorization !== undefined && { authorization }),
        ...(source.impersonate !== undefined && { "impersonate-user": source.impersonate })
      }
    }
  })

const sameTls = (a: Tls, b: Tls): boolean =>
  a.ca === b.ca && a.cert === b.cert && a.key === b.key && a.serverName === b.serverName && a.insecure === b.insecure

/** Whether anything of it can change without the configuration being read again. */
const rotates = (source: Source): boolean =>
  source.plugin !== undefined ||
  [source.ca, source.cert, source.key, source.token].some((material) => material !== undefined && "file" in material)

/**
 * Reads now, and again as time goes by. When a later reading fails, what we had stays in use and a warning says why.
 *
 * @param load the source; evaluated again for a renewal, as the configuration itself may have new certificates in it
 */
export const rotating = (
  load: Effect.Effect<Source, CredentialsError, FileSystem>
): Effect.Effect<Pick<Cluster, "credentials" | "renew">, CredentialsError, FileSystem> =>
  Effect.gen(function* () {
    const fs = yield* FileSystem
    const clock: Clock.Clock = yield* Effect.clock
    let source = yield* load
    let current = yield* read(source, false)
    let readAt = clock.unsafeCurrentTimeMillis()
    let reading = false

    const reread = (renewed: boolean) =>
      Effect.gen(function* () {
        reading = true
        readAt = clock.unsafeCurrentTimeMillis()
        if (renewed) source = yield* load
        const next = yield* read(source, renewed)
        // Connections hang on the identity of `tls`: it changes only when its contents do.
        current = sameTls(next.tls, current.tls) ? { ...next, tls: current.tls } : next
      }).pipe(
        Effect.catchAll((error) => Effect.logWarning(`${error.message}; the credentials read before stay in use`)),
        Effect.ensuring(Effect.sync(() => (reading = false))),
        Effect.zipRight(Effect.sync(() => current)),
        Effect.provideService(FileSystem, fs)
      )

    const olderThan = (millis: number) => !reading && clock.unsafeCurrentTimeMillis() - readAt >= millis
    return {
      credentials: Effect.suspend(() =>
        rotates(source) && olderThan(refreshMillis) ? reread(false) : Effect.succeed(current)
      ),
      renew: Effect.suspend(() => (olderThan(renewMillis) ? reread(true) : Effect.succeed(current)))
    }
  })
