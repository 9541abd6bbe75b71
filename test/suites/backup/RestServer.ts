/** restic's REST server with TLS and passwords. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import * as Assets from "@homeostat/testkit/envtest/Assets"
import type * as Process from "@homeostat/testkit/envtest/Process"
import { Effect, type Scope } from "effect"
import * as TlsServer from "./TlsServer.ts"

/** The options of a server. */
export interface Options {
  /** The users and their passwords. Default: `joe` with a generated password. */
  readonly users?: { readonly [user: string]: string }
  /** Whether the server rejects each change and deletion of stored data. */
  readonly appendOnly?: boolean
  /** Whether each user can reach only the repositories below the folder with the user's name. */
  readonly privateRepos?: boolean
  /** The limit of stored data, in bytes. */
  readonly maxSize?: number
}

/** A running server. */
export interface RestServer extends TlsServer.TlsServer {
  readonly users: { readonly [user: string]: string }
  /** The environment variables of restic for a repository and a user. Default: the first user. */
  readonly environment: (
    path: string,
    user?: string
  ) => {
    readonly RESTIC_REPOSITORY: string
    readonly RESTIC_REST_USERNAME: string
    readonly RESTIC_REST_PASSWORD: string
    readonly RESTIC_CACERT: string
  }
}

/** Starts a server for the lifetime of the Scope. */
export const start = (
  options: Options = {}
): Effect.Effect<RestServer, Assets.MissingAsset | Process.StartFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const program = yield* Assets.find("rest-server")
    const users = options.users ?? { joe: crypto.randomUUID() }
    const lines = Object.entries(users).map(
      // The lowest cost of bcrypt, because the server checks the password at each request.
      ([user, password]) => `${user}:${Bun.password.hashSync(password, { algorithm: "bcrypt", cost: 4 })}\n`
    )
    const server = yield* TlsServer.start(
      "rest-server",
      program,
      ({ certificatePath, directory, folder, keyPath, port }) => {
        const htpasswd = join(directory, "htpasswd")
        writeFileSync(htpasswd, lines.join(""), { mode: 0o600 })
        return [
          ...["--listen", `127.0.0.1:${port}`, "--path", folder, "--htpasswd-file", htpasswd],
          ...["--tls", "--tls-cert", certificatePath, "--tls-key", keyPath],
          ...(options.appendOnly === true ? ["--append-only"] : []),
          ...(options.privateRepos === true ? ["--private-repos"] : []),
          ...(options.maxSize === undefined ? [] : ["--max-size", `${options.maxSize}`])
        ]
      }
    )
    return {
      ...server,
      users,
      environment: (path, user = Object.keys(users)[0] ?? "") => ({
        RESTIC_REPOSITORY: `rest:${server.url}/${path}/`,
        RESTIC_REST_USERNAME: user,
        RESTIC_REST_PASSWORD: users[user] ?? "",
        RESTIC_CACERT: server.caPath
      })
    }
  })
