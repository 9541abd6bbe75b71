/**
 * The preconditions of a write: the uid and the resourceVersion that the client expects.
 */
import * as Failure from "../model/Failure.ts"
import type { Kind } from "../model/Kind.ts"

/** The error (409) of an object that does not meet a precondition. */
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
