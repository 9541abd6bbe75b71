/**
 * Users with credentials from a program (`exec`) or an OpenID Connect issuer (`auth-provider: oidc`). client-node refreshes the
 * issuer's token; its errors become one line here.
 */
import type { User } from "@kubernetes/client-node/dist/config_types.js"
import * as Effect from "effect/Effect"
import { CredentialsError } from "./Cluster.ts"
import type { CredentialSource, Issued } from "./Credentials.ts"
import * as ExecPlugin from "./ExecPlugin.ts"
import { mapping, type Selected } from "./KubeConfigFile.ts"

/** The timeout of an issuer. */
export const timeoutMillis = 30_000

interface Authenticator {
  applyAuthentication(user: User, options: AuthenticatorOptions): Promise<void>
}

// The part of https.RequestOptions that authenticators set.
interface AuthenticatorOptions {
  headers: { Authorization?: string }
}

const firstLine = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).trim().split("\n", 1)[0] ?? ""

/** A plugin that caches its credentials until they expire. A renewal makes a new plugin without cached credentials. */
export const run = (
  what: string,
  user: User,
  make: () => Promise<Authenticator>
): NonNullable<CredentialSource["plugin"]> => {
  let instance: Authenticator | undefined
  return Effect.tryPromise({
    try: async (): Promise<Issued> => {
      instance ??= await make()
      const options: AuthenticatorOptions = { headers: {} }
      await instance.applyAuthentication(user, options)
      // client-node sets no header if it has no credentials. Without this check, requests would be anonymous.
      if (options.headers.Authorization === undefined)
        throw new Error("the id-token has expired and has no refresh-token")
      return { authorization: options.headers.Authorization }
    },
    catch: (error) => new CredentialsError({ message: `${what} failed: ${firstLine(error) || "no message"}` })
  }).pipe(
    // The timeout also applies where the caller cannot be interrupted.
    Effect.interruptible,
    Effect.timeoutOrElse({
      duration: timeoutMillis,
      orElse: () =>
        Effect.fail(new CredentialsError({ message: `${what} did not finish within ${timeoutMillis / 1000} s` }))
    })
  )
}

/** The plugin of a user, if it has one. Fails for the auth-providers that Kubernetes has removed. */
export const of = (selected: Selected): Effect.Effect<CredentialSource["plugin"], CredentialsError> =>
  Effect.gen(function* () {
    const user = selected.user
    if (user === undefined) return undefined
    if (user.value.exec) {
      const exec = mapping(user.value.exec)
      const command = typeof exec.command === "string" ? exec.command : ""
      const name = `exec plugin ${JSON.stringify(command)} of user ${JSON.stringify(user.value.name)} of ${user.file}`
      return ExecPlugin.make(selected, exec, user.file, name)
    }
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
