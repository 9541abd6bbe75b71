/** An authenticator of bearer tokens. */
import type { User } from "./User.ts"

/** The user of a token, or the error if the token is invalid. */
export type Verdict = { readonly user: User; readonly audiences: ReadonlyArray<string> } | { readonly error: string }

/** Authenticates users by their tokens. */
export interface Authenticator {
  /** Checks a token for the audiences at the time `now`. Empty audiences stand for the server itself. */
  readonly check: (token: string, audiences: ReadonlyArray<string>, now: number) => Verdict
}
