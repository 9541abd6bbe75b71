/** Numbers of workers on the command line: `16` for every controller, or `webapp=16,backup=4`. */
import * as Result from "effect/Result"

/** One number for all, or one for each controller by name. */
export type Workers = number | { readonly [controller: string]: number }

const count = (text: string): number | undefined => (/^[1-9]\d{0,3}$/.test(text) ? Number(text) : undefined)

/** Parses them. Failure: a message with the accepted format. */
export const parse = (text: string): Result.Result<Workers, string> => {
  const all = count(text)
  if (all !== undefined) return Result.succeed(all)
  const each: { [controller: string]: number } = {}
  for (const part of text.split(",")) {
    const [, name = "", number = ""] = /^([a-z][-a-z0-9]*)=(\d+)$/.exec(part) ?? []
    const workers = count(number)
    if (workers === undefined || each[name] !== undefined) {
      return Result.fail(
        `invalid number of workers: "${text}" (must be from 1 to 9999, or NAME=NUMBER pairs such as webapp=16,backup=4)`
      )
    }
    each[name] = workers
  }
  return Result.succeed(each)
}
