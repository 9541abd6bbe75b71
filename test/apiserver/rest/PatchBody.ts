/** The bodies of PATCH requests except server-side apply: parses them, applies them to an object, and decodes the result. */
import type { Options } from "../codec/Decode.ts"
import * as Decode from "../codec/Decode.ts"
import type { PatchType } from "../codec/Negotiation.ts"
import { jsonPatch, strictErrors } from "../fields/JsonPatch.ts"
import { mergePatch } from "../fields/MergePatch.ts"
import { strategicMergePatch } from "../fields/StrategicMergePatch.ts"
import * as Failure from "../model/Failure.ts"
import * as GoText from "../model/GoText.ts"
import type { Json, JsonObject } from "../model/Json.ts"
import * as J from "../model/Json.ts"
import * as JsonText from "../model/JsonText.ts"
import type { Kind } from "../model/Kind.ts"

/** A patch as the client sent it. */
export interface Patch {
  readonly type: Exclude<PatchType, "apply">
  readonly value: Json
  /** The errors of parsing its text: `duplicate field "spec.a"`. */
  readonly duplicates: ReadonlyArray<string>
}

/** Reads the body of a PATCH. Throws a Failure (400) for invalid JSON. */
export const read = (type: Patch["type"], body: string | Uint8Array | undefined): Patch => {
  try {
    return { type, ...JsonText.parse(Decode.textOf(body)) }
  } catch (error) {
    throw error instanceof Failure.Failure ? Failure.badRequest("invalid JSON patch") : error
  }
}

/** A new object: the patched object without fields that its kind does not have. Throws a Failure. */
export const apply = (kind: Kind, patch: Patch, object: JsonObject, options: Options): J.DraftObject => {
  if (patch.type === "strategic") {
    // Go removes the directives from the patch before it prints the patch in an error.
    const change = J.copy(patch.value)
    const value = strategicMergePatch(kind.schema, object, change)
    return Decode.patched(
      kind,
      { value, errors: patch.duplicates, shown: () => GoText.plain(change ?? {}), decoder: "values" },
      options
    )
  }
  const result = patch.type === "json" ? jsonPatch(object, patch.value) : mergePatch(object, patch.value)
  const errors = patch.type === "json" ? strictErrors(patch.value, patch.duplicates) : patch.duplicates
  // Go sorts the members of the result, and decodes it up to the first member of a wrong type.
  const shown = () => GoText.json(result)
  return Decode.patched(kind, { value: J.sorted(result), errors, shown, decoder: "text" }, options)
}
