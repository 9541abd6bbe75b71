/**
 * What a write makes a condition of: that the object is the very one, in the very state, that the client means.
 */
import * as Failure from "../model/Failure.ts"
import type { Kind } from "../model/Kind.ts"

/** The refusal (409) of the storage, where an object is not the one that was meant. */
export const failed = (
  kind: Kind,
  namespace: string,
  name: string,
  what: "UID" | "ResourceVersion",
  expected: string,
  real: string
): Failure.Failure => {
  const objectKey = [...(kind.namespaced ? [namespace] : []), name].join("/")
  const key = `/registry/${kind.custom ? `${kind.group}/` : ""}${kind.plural}/${objectKey}`
  return Failure.conflict(
    kind,
    name,
    `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: ${what} in precondition: ${expected}, ${what} in object meta: ${real}`
  )
}
