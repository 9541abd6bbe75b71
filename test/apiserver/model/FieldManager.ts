/** Validates the names of field managers. */
import * as FieldError from "./FieldError.ts"

/** The maximum length of a name, in bytes. */
const longest = 128

/** Validates the name of a manager. `field` is the path for the errors. Returns the errors. */
export const validate = (name: string, field: string): ReadonlyArray<FieldError.FieldError> => [
  ...(Buffer.byteLength(name) > longest
    ? [FieldError.make("FieldValueTooLong", field, undefined, `may not be more than ${longest} bytes`)]
    : []),
  ...unprintable(name).map(({ at, code }) =>
    FieldError.invalid(field, name, `invalid character ${code} (at position ${at})`)
  )
]

/** Finds the characters that Go does not consider printable: all but letters, marks, numbers, punctuation, symbols and the space. */
const unprintable = (text: string): ReadonlyArray<{ readonly at: number; readonly code: string }> =>
  [...text.matchAll(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu)].map((match) => ({
    at: Buffer.byteLength(text.slice(0, match.index)),
    code: `U+${(match[0].codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`
  }))
