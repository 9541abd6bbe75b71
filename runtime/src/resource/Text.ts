/** Texts of unknown origin, cut to a length that is safe for memory, logs and expressions. */

/**
 * The first `most` characters, with `…` after a cut. The result is a copy, because an engine's substring would keep the whole text in
 * memory.
 */
export const clip = (text: string, most: number): string =>
  text.length <= most ? text : `${Buffer.from(text.slice(0, most)).toString()}…`

/** Control characters, including those that change the direction of text, which affect terminals. */
const controls = /[^\P{Cc}\n\t]|[\p{Bidi_Control}\u2028\u2029]/gu

/** The text with these characters escaped as in JSON: `\u001b`. Line breaks and tabs stay. */
export const printable = (text: string): string =>
  text.replaceAll(controls, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`)

const control = new RegExp(controls, "u")

/** Whether {@link printable} leaves a text as it is. */
export const isPrintable = (text: string): boolean => !control.test(text)

/** At most `most` characters of a text, as one printable line. */
export const line = (text: string, most: number): string => printable(clip(text, most).replaceAll(/\s+/g, " ").trim())

/** The memory of a text in bytes: one per character, or two if one of them needs that. */
export const bytes = (text: string | undefined): number =>
  text === undefined ? 0 : text.length * (/[^\p{ASCII}\u0080-\u00ff]/u.test(text) ? 2 : 1)

/** The longest field name in a message, in characters: the server does not limit the names of variables and some map keys. */
export const longestName = 256
