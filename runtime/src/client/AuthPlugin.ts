/**
 * Users whose credentials come from a program (`exec`) or an OpenID Connect issuer (`auth-provider: oidc`). client-node runs the
 * program and refreshes the token; here it is given what plugins expect, and its errors become one line.
 */
import * as path from "node:path"
import type { User } from "@kubernetes/client-node/dist/config_types.js"
import * as Effect from "effect/Effect"
import { CredentialsError } from "./Cluster.ts"
import type { Issued, Source } from "./Credentials.ts"
import { type Entry, mapping, type Selected } from "./KubeConfigFile.ts"

/** What a plugin may take: a browser log-in is not possible here, a cloud's token takes a second or two. */
export const timeoutMillis = 30_000

interface Authenticator {
  applyAuthentication(user: User, options: AuthenticatorOptions): Promise<void>
}

// Of https.RequestOptions, what authenticators set.
interface AuthenticatorOptions {
  headers: { Authorization?: string }
  cert?: string
  key?: string
}

const firstLine = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).trim().split("\n", 1)[0] ?? ""

/** A plugin that keeps what it got until that expires. A renewal makes a new one, which has nothing. */
const run = (what: string, user: User, make: () => Promise<Authenticator>): NonNullable<Source["plugin"]> => {
  let instance: Promise<Authenticator> | undefined
  return Effect.tryPromise({
    try: async (): Promise<Issued> => {
      instance ??= make()
      const options: AuthenticatorOptions = { headers: {} }
      await (await instance).applyAuthentication(user, options)
      return { authorization: options.headers.Authorization, cert: options.cert, key: options.key }
    },
    catch: (error) => new CredentialsError({ message: `${what} failed: ${firstLine(error) || "no message"}` })
  }).pipe(
    Effect.timeoutFail({
      duration: timeoutMillis,
      onTimeout: () => new CredentialsError({ message: `${what} did not finish within ${timeoutMillis / 1000} s` })
    })
  )
}

/** `KUBERNETES_EXEC_INFO`, which tells a plugin what is asked of it. Some need the cluster. */
const execInfo = (exec: { readonly [key: string]: unknown }, { cluster }: Selected): string =>
  JSON.stringify({
    apiVersion: exec.apiVersion ?? "client.authentication.k8s.io/v1",
    kind: "ExecCredential",
    spec: {
      interactive: false,
      ...(exec.provideClusterInfo === true && {
        cluster: {
          server: cluster.value.server,
          "tls-server-name": cluster.value.tlsServerName,
          "insecure-skip-tls-verify": cluster.value.skipTLSVerify,
          "certificate-authority-data": cluster.value.caData,
          "proxy-url": cluster.value.proxyUrl
        }
      })
    }
  })

const execOf = (selected: Selected, user: Entry<User>): NonNullable<Source["plugin"]> => {
  const exec = mapping(user.value.exec)
  const command = typeof exec.command === "string" ? exec.command : ""
  const what = `exec plugin ${JSON.stringify(command)} of user ${JSON.stringify(user.value.name)} of ${user.file}`
  // Like kubectl: a name is looked for on the PATH, a relative path starts at the file.
  const located = command.includes("/") ? path.resolve(path.dirname(user.file), command) : command
  const environment = Array.isArray(exec.env) ? exec.env : []
  const prepared: User = {
    ...user.value,
    exec: {
      ...exec,
      command: located,
      args: Array.isArray(exec.args) ? exec.args : [],
      env: [...environment, { name: "KUBERNETES_EXEC_INFO", value: execInfo(exec, selected) }]
    }
  }
  return run(what, prepared, async () => {
    const { ExecAuth } = await import("@kubernetes/client-node/dist/exec_auth.js")
    const auth = new ExecAuth()
    return { applyAuthentication: (user, options) => auth.applyAuthentication(user, options) }
  })
}

/** The plugin of a user, if it has one. Fails for the auth-providers that Kubernetes has dropped. */
export const of = (selected: Selected): Effect.Effect<Source["plugin"], CredentialsError> =>
  Effect.gen(function* () {
    const user = selected.user
    if (user === undefined) return undefined
    if (user.value.exec) return execOf(selected, user)
    const provider = mapping(user.value.authProvider).name
    if (provider === undefined) return undefined
    const where = `user ${JSON.stringify(user.value.name)} of ${user.file}`
    if (provider !== "oidc") {
      return yield* new CredentialsError({
        message: `${where}: auth-provider ${String(provider)} is not supported, use its exec plugin`
      })
    }
    return run(`OpenID Connect of ${where}`, user.value, async () => {
      const { OpenIDConnectAuth } = await import("@kubernetes/client-node/dist/oidc_auth.js")
      const auth = new OpenIDConnectAuth()
      return { applyAuthentication: (user, options) => auth.applyAuthentication(user, options) }
    })
  })
