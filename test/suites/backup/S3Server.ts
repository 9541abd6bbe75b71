/**
 * An S3 service: npm's s3rver, over TLS, since over plain HTTP it stores the framing of signed uploads with the data. It knows one
 * user and tells a wrong key's id, but takes any secret. A process of its own, so that it does not wait for the tests.
 */
import { join } from "node:path"
import type * as Process from "@homeostat/testkit/envtest/Process"
import { Effect, type Scope } from "effect"
import * as TlsServer from "./TlsServer.ts"

/** A server that runs. */
export interface S3Server extends TlsServer.TlsServer {
  /** A repository as restic wants it, and the user's keys. */
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

/** The only user that s3rver knows. */
const user = "S3RVER"

/** Starts one for the lifetime of the Scope. A bucket is there when somebody has made it; restic's `init` does. */
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
