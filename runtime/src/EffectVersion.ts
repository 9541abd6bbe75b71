/** Stops a program with another version of Effect at its first import. */
import { getCurrentVersion } from "effect/Version"

/**
 * The reason why the runtime does not run with this version of Effect; undefined if it does.
 *
 * @internal
 */
export const refusal = (version: string): string | undefined =>
  /^4\.[1-9]/.test(version)
    ? undefined
    : `Homeostat needs effect 4.1 or a newer 4.x: found ${version} (bun add effect@4)`

const refused = refusal(getCurrentVersion())
if (refused !== undefined) throw new Error(refused)
