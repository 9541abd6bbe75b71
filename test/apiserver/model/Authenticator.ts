/** An authenticator of bearer tokens. */
import type { User } from "./User.ts"

/** The user of a token, or why it is none. */
export type Verdict = { readonly user: User; readonly audiences: ReadonlyArray<string> } | { readonly error: string }

/** Recognizes users by their tokens. */
export interface Authenticator {
  /** The user of a token, or why it is none. Default for the audiences: the server. */
  readonly check: (token: string, audiences: ReadonlyArray<string>, now: number) => Verdict
}
