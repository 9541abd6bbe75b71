/** Answers to what is malformed, compared by their code and by what they say. */
import { expect } from "bun:test"
import type * as Json from "@homeostat/testkit/server/Json"
import { Effect } from "effect"
import type * as Raw from "./Raw.ts"

/** An answer in a line: the code, and what it says. */
export const line = ({ status, text }: { readonly status: number; readonly text: string }): string => {
  // Neither of Go nor of JavaScript does an answer show where it failed.
  expect(text).not.toMatch(/^goroutine |\n\s+at /)
  const body = read(text)
  if (text === "" || text.startsWith('{"type":')) return `${status} watch`
  if (body === undefined) return `${status} ${text.trim()}`
  if (body.kind !== "Status") return `${status} ${body.kind ?? "without a kind"}`
  return body.status === "Success" ? `${status} Success` : `${status} ${body.reason ?? ""}: ${cut(`${body.message}`)}`
}

/** The message without what only Go's own decoders would say, without the syntax of labels, and without names of many letters. */
const cut = (message: string): string =>
  message
    .replace(/(json parse error|json: cannot unmarshal|yaml:|parsing time|include:|part must|valid label).*$/s, "$1 …")
    .replace(/w{1000,}/, "w…")

const read = (text: string): Json.JsonObject | undefined => {
  try {
    const body: unknown = JSON.parse(text)
    return typeof body === "object" && body !== null ? (body as Json.JsonObject) : undefined
  } catch {
    return undefined
  }
}

/** Asks one after the other; fails with all that was answered differently. */
export const answers = (
  ask: (what: string) => Effect.Effect<{ readonly status: number; readonly text: string }, Raw.NoAnswer>,
  expected: { readonly [what: string]: string }
) =>
  Effect.gen(function* () {
    const answered: { [what: string]: string } = {}
    for (const what of Object.keys(expected)) answered[what] = line(yield* ask(what))
    expect(answered).toEqual(expected)
  })
