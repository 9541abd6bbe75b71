/**
 * An S3 service over TLS: npm's s3rver. Over plain HTTP, s3rver stores the framing of signed uploads with the data.
 *
 * s3rver has one user. It rejects an unknown key id but accepts any secret. It runs in a separate process, so that
 * the tests do not block it.
 */
import { join } from "node:path"
import type * as Process from "@homeostat/testkit/envtest/Process"
import { Effect, type Scope } from "effect"
import * as TlsServer from "./TlsServer.ts"

/** A running server. */
export interface S3Server extends TlsServer.TlsServer {
  /** The environment variables of restic for a repository, with the user's keys. */
  readonly environment: (
    bucket: string,
    path: string
  ) => {
    readonly RESTIC_REPOSITORY: string
    readonly AWS_ACCESS_KEY_ID: string
    readonly AWS_SECRET_ACCESS_KEY: string
    readonly RESTIC_CACERT: string
  }
}

/** The only user of s3rver. */
const user = "S3RVER"

/** Starts a server for the lifetime of the Scope. It has no buckets at first; restic's `init` creates one. */
export const start: Effect.Effect<S3Server, Process.StartFailed, Scope.Scope> = Effect.map(
  TlsServer.start("s3rver", process.execPath, ({ certificatePath, folder, keyPath, port }) => [
    "run",
    join(import.meta.dirname, "S3Process.ts"),
    `${port}`,
    folder,
    certificatePath,
    keyPath
  ]),
  (server) => ({
    ...server,
    environment: (bucket, path) => ({
      RESTIC_REPOSITORY: `s3:${server.url}/${bucket}/${path}`,
      AWS_ACCESS_KEY_ID: user,
      AWS_SECRET_ACCESS_KEY: user,
      RESTIC_CACERT: server.caPath
    })
  })
)
