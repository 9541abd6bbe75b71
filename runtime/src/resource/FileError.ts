/** Why a file cannot be read. */
import type { PlatformError } from "effect/PlatformError"

/** The reason of an error of the file system in a word, such as `NotFound` or `PermissionDenied`; of a bad argument its description. */
export const reasonOf = ({ reason }: PlatformError): string | undefined =>
  reason._tag === "BadArgument" ? reason.description : reason._tag
