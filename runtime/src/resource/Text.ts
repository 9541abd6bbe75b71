/** Texts of others, cut to a length that memory, logs and expressions can bear. */

/**
 * The first `most` characters, with `…` where a text goes on. The result is a copy: an engine's substring would keep the whole text in
 * memory.
 */
export const clip = (text: string, most: number): string =>
  text.length <= most ? text : `${Buffer.from(text.slice(0, most)).toString()}…`

/** Control characters, and those that turn the direction of text around: a terminal obeys them. */
const controls = /[^\P{Cc}\n\t]|[\p{Bidi_Control}\u2028\u2029]/gu

/** The text with such characters spelled as in JSON: `\u001b`. Line breaks and tabs stay. */
export const printable = (text: string): string =>
  text.replaceAll(controls, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`)

/** Bytes that an engine keeps of a text: one for each character, or two if one of them needs that. */
export const bytes = (text: string | undefined): number =>
  text === undefined ? 0 : text.length * (/[^\p{ASCII}\u0080-\u00ff]/u.test(text) ? 2 : 1)

/** Characters of a field's name in a message: names of variables and keys of some maps have no limit on the server. */
export const longestName = 256
