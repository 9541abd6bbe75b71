/** Numbers of workers on the command line: `16` for every controller, or `webapp=16,backup=4`. */
import * as Either from "effect/Either"

/** One number for all, or one for each controller by name. */
export type Workers = number | { readonly [controller: string]: number }

const count = (text: string): number | undefined => (/^[1-9]\d{0,3}$/.test(text) ? Number(text) : undefined)

/** Parses them. Left: a message with the accepted format. */
export const parse = (text: string): Either.Either<Workers, string> => {
  const all = count(text)
  if (all !== undefined) return Either.right(all)
  const each: { [controller: string]: number } = {}
  for (const part of text.split(",")) {
    const [, name = "", number = ""] = /^([a-z][-a-z0-9]*)=(\d+)$/.exec(part) ?? []
    const workers = count(number)
    if (workers === undefined || each[name] !== undefined) {
      return Either.left(
        `invalid number of workers: "${text}" (must be from 1 to 9999, or NAME=NUMBER pairs such as webapp=16,backup=4)`
      )
    }
    each[name] = workers
  }
  return Either.right(each)
}
