/** What a running program answers over HTTP, at the addresses that it logs. */
import { Effect } from "effect"
import type { NotWritten, Running } from "./Running.ts"

/** An answer. */
export interface Answer {
  readonly status: number
  readonly body: string
}

/** Where a program serves something, once it does. */
const addressOf = (program: Running, what: "metrics" | "probes"): Effect.Effect<string, NotWritten> =>
  Effect.map(program.written(new RegExp(`Serving ${what} on `)), (line) => / on ([0-9.]+:\d+)/.exec(line)?.[1] ?? "")

/** Asks for a path, as `curl` does: every status is an answer. */
export const get = (
  program: Running,
  path: string,
  headers: { readonly [name: string]: string } = {}
): Effect.Effect<Answer, NotWritten> =>
  Effect.flatMap(addressOf(program, path.startsWith("/metrics") ? "metrics" : "probes"), (address) =>
    Effect.promise(async () => {
      // A connection of its own: a kept one of a program that was stopped would wait for ever.
      const response = await fetch(`http://${address}${path}`, { headers: { ...headers, connection: "close" } })
      return { status: response.status, body: await response.text() }
    })
  )

/** The sum of all series of a metric whose labels have this text in them. */
export const metric = (program: Running, name: string, labels = ""): Effect.Effect<number, NotWritten> =>
  Effect.map(get(program, "/metrics"), ({ body }) =>
    body
      .split("\n")
      .filter((line) => new RegExp(`^${name}[{ ]`).test(line) && line.includes(labels))
      .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0)
  )
