/** Requests to a running program over HTTP, at the addresses that it logs. */
import { Effect } from "effect"
import type { NotWritten, Running } from "./Running.ts"

/** A response. */
export interface Answer {
  readonly status: number
  readonly body: string
}

/** Waits until a program logs the address of its metrics or probes. Returns that address. */
export const addressOf = (program: Running, what: "metrics" | "probes"): Effect.Effect<string, NotWritten> =>
  Effect.map(program.written(new RegExp(`Serving ${what} on `)), (line) => / on ([0-9.]+:\d+)/.exec(line)?.[1] ?? "")

/** Requests a path, as `curl` does. Every status is a result, not an error. */
export const get = (
  program: Running,
  path: string,
  headers: { readonly [name: string]: string } = {}
): Effect.Effect<Answer, NotWritten> =>
  Effect.flatMap(addressOf(program, path.startsWith("/metrics") ? "metrics" : "probes"), (address) =>
    Effect.promise(async () => {
      // Opens a new connection, because a kept connection to a stopped program would wait without a limit.
      const response = await fetch(`http://${address}${path}`, { headers: { ...headers, connection: "close" } })
      return { status: response.status, body: await response.text() }
    })
  )

/** The sum of all series of a metric whose labels contain this text. */
export const metric = (program: Running, name: string, labels = ""): Effect.Effect<number, NotWritten> =>
  Effect.map(get(program, "/metrics"), ({ body }) =>
    body
      .split("\n")
      .filter((line) => new RegExp(`^${name}[{ ]`).test(line) && line.includes(labels))
      .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0)
  )
