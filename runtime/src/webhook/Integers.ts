/**
 * JSON with exact integers. A number of JavaScript rounds an integer beyond 9007199254740991, so a conversion would change fields that it
 * only copies. Such an integer becomes a bigint.
 */

/** A number with so many digits may be beyond the exact ones. */
const long = /[:[,\s]-?\d{16}/

/** Throws a SyntaxError. */
export const parse = (text: string): unknown =>
  long.test(text)
    ? JSON.parse(text, (_, value: unknown, context?: { readonly source?: string }) =>
        typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source ?? "")
          ? BigInt(context?.source ?? value)
          : value
      )
    : JSON.parse(text)

/** TypeScript does not know the function yet. */
const { rawJSON } = JSON as unknown as { readonly rawJSON: (text: string) => object }

/** The text of a value of {@link parse}. */
export const stringify = (value: object): string =>
  JSON.stringify(value, (_, each: unknown) => (typeof each === "bigint" ? rawJSON(String(each)) : each))

/** Whether a value of `JSON.parse` has an integer that may be rounded. */
export const hasRounded = (value: unknown): boolean =>
  typeof value === "number"
    ? Number.isInteger(value) && !Number.isSafeInteger(value)
    : typeof value === "object" && value !== null && Object.values(value).some(hasRounded)
