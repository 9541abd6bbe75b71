/** A server for backups with TLS on a free loopback port, with a certificate authority for each server. */
import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import * as Certificates from "@homeostat/testkit/envtest/Certificates"
import * as Directory from "@homeostat/testkit/envtest/Directory"
import * as Port from "@homeostat/testkit/envtest/Port"
import * as Process from "@homeostat/testkit/envtest/Process"
import { Effect, type Scope } from "effect"

/** A running server. */
export interface TlsServer {
  /** The URL, for example `https://127.0.0.1:20001`. */
  readonly url: string
  /** The host and port. */
  readonly host: string
  /** The certificate of the server's authority, as PEM. */
  readonly ca: string
  /** The file with the authority's certificate, for RESTIC_CACERT. */
  readonly caPath: string
  /** The folder with the stored data. */
  readonly folder: string
  readonly process: Process.Process
}

/** The port and files of a server. */
export interface Place {
  readonly port: number
  readonly folder: string
  readonly certificatePath: string
  readonly keyPath: string
  /** A folder for further files. */
  readonly directory: string
}

/** Starts a server for the lifetime of the Scope and waits until the server sends any response. */
export const start = (
  name: string,
  executable: string,
  args: (place: Place) => ReadonlyArray<string>
): Effect.Effect<TlsServer, Process.StartFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const directory = yield* Directory.make
    const folder = join(directory, "stored")
    yield* Effect.promise(() => mkdir(folder))
    const authority = yield* Certificates.authority
    const serving = yield* authority.server({ dns: ["localhost"], ip: [Port.host] })
    const write = (file: string, text: string) =>
      Effect.as(
        Effect.promise(() => writeFile(join(directory, file), text, { mode: 0o600 })),
        join(directory, file)
      )
    const caPath = yield* write("ca.crt", authority.certificate)
    const certificatePath = yield* write("tls.crt", serving.certificate)
    const keyPath = yield* write("tls.key", serving.key)
    const answers = (url: string) =>
      Effect.promise(() =>
        fetch(url, { tls: { ca: authority.certificate } }).then(
          () => true,
          () => false
        )
      )
    const { host, process } = yield* Port.free.pipe(
      Effect.flatMap((port) => {
        const host = `${Port.host}:${port}`
        return Process.start({
          name,
          executable,
          args: args({ port, folder, certificatePath, keyPath, directory }),
          log: join(directory, `${name}.log`),
          ready: answers(`https://${host}/`),
          atEnd: "kill"
        }).pipe(Effect.map((process) => ({ host, process })))
      }),
      // Another process may have taken the port meanwhile.
      Effect.retry({ times: 4, while: ({ log }) => /address already in use|EADDRINUSE/.test(log) })
    )
    return { url: `https://${host}`, host, ca: authority.certificate, caPath, folder, process }
  })
