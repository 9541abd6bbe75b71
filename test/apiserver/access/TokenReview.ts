/** The responses to TokenReviews. */

import type { Authenticator } from "../model/Authenticator.ts"
import type { DraftObject } from "../model/Json.ts"
import { infoOf } from "../model/User.ts"

/** The status of a review of a token for the audiences, by default for the server. */
export const status = (
  token: string,
  audiences: ReadonlyArray<string>,
  authenticator: Authenticator | undefined,
  now: number
): DraftObject => {
  const verdict = authenticator?.check(token, audiences, now) ?? { error: "invalid bearer token" }
  return "error" in verdict
    ? { user: {}, error: verdict.error }
    : { authenticated: true, user: infoOf(verdict.user), audiences: [...verdict.audiences] }
}
