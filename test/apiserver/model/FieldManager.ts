/** The names under which clients manage fields. */
import * as FieldError from "./FieldError.ts"

/** As long as a name may be, in bytes. */
const longest = 128

/** What is wrong with the name that stands in a field. */
export const validate = (name: string, field: string): ReadonlyArray<FieldError.FieldError> => [
  ...(Buffer.byteLength(name) > longest
    ? [FieldError.make("FieldValueTooLong", field, undefined, `may not be more than ${longest} bytes`)]
    : []),
  ...unprintable(name).map(({ at, code }) =>
    FieldError.invalid(field, name, `invalid character ${code} (at position ${at})`)
  )
]

/** What Go does not call printable: all that is no letter, mark, number, punctuation, symbol or space. */
const unprintable = (text: string): ReadonlyArray<{ readonly at: number; readonly code: string }> =>
  [...text.matchAll(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu)].map((match) => ({
    at: Buffer.byteLength(text.slice(0, match.index)),
    code: `U+${(match[0].codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`
  }))
