/** restic's REST server, as it is run in the world: over TLS, with passwords. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import * as Assets from "@homeostat/testkit/envtest/Assets"
import type * as Process from "@homeostat/testkit/envtest/Process"
import { Effect, type Scope } from "effect"
import * as TlsServer from "./TlsServer.ts"

/** How it is run. */
export interface Options {
  /** Who may log in, with their passwords. Default: `joe`, with a password that is made up. */
  readonly users?: { readonly [user: string]: string }
  /** Nothing that is there can be changed or deleted. */
  readonly appendOnly?: boolean
  /** A user's repositories are below the folder of their name, and nobody else's. */
  readonly privateRepos?: boolean
  /** How much it takes, in bytes. */
  readonly maxSize?: number
}

/** A server that runs. */
export interface RestServer extends TlsServer.TlsServer {
  readonly users: { readonly [user: string]: string }
  /** A repository as restic wants it, and what opens the server: for the user, or the first of them. */
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

/** Starts one for the lifetime of the Scope. */
export const start = (
  options: Options = {}
): Effect.Effect<RestServer, Assets.MissingAsset | Process.StartFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const program = yield* Assets.find("rest-server")
    const users = options.users ?? { joe: crypto.randomUUID() }
    const lines = Object.entries(users).map(
      // The least that bcrypt knows: it is asked for with each request.
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
