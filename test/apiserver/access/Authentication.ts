/** The user of a request: that of its bearer token, or the server's user for requests without credentials. */
import type { Authenticator } from "../model/Authenticator.ts"
import * as Failure from "../model/Failure.ts"
import type * as User from "../model/User.ts"
import type * as Tokens from "./ServiceAccountTokens.ts"

/** Authenticates users by their tokens. */
export interface Authentication extends Authenticator {
  readonly serviceAccounts: Tokens.ServiceAccountTokens
  /** Registers the token of a user for the lifetime of the server. */
  readonly addToken: (token: string, user: User.User) => void
  /** The user of an `Authorization` header; undefined if it has no token. Throws a Failure (401). */
  readonly userOf: (authorization: string | undefined, now: number) => User.User | undefined
}

/** The prefix of a token in the header. */
const scheme = "bearer "

/** The token of an `Authorization` header; undefined without one, for example with another scheme. */
export const tokenOf = (authorization: string | undefined): string | undefined => {
  if (authorization?.slice(0, scheme.length).toLowerCase() !== scheme) return undefined
  return authorization.slice(scheme.length).trim() || undefined
}

/** Authenticates the tokens of service accounts and the registered tokens. */
export const make = (serviceAccounts: Tokens.ServiceAccountTokens): Authentication => {
  const users = new Map<string, User.User>()
  const check: Authentication["check"] = (token, audiences, now) => {
    const requested = audiences.length === 0 ? [serviceAccounts.issuer] : audiences
    const user = users.get(token)
    if (user !== undefined) return { user, audiences: requested }
    return serviceAccounts.check(token, requested, now)
  }
  return {
    serviceAccounts,
    check,
    addToken: (token, user) => {
      users.set(token, user)
    },
    userOf: (authorization, now) => {
      const token = tokenOf(authorization)
      if (token === undefined) return undefined
      const verdict = check(token, [], now)
      if ("error" in verdict) throw Failure.unauthorized()
      return verdict.user
    }
  }
}
