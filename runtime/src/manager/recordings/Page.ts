/**
 * `/recordings` at the probe port: the recorded attempts of this process, the newest first. `?trace=ID` answers with one recording as JSON,
 * by its trace ID or its `reconcileID`, without secrets. `homeostat replay` runs it again.
 *
 * The list is text, or JSON (`{"recordings": […]}`) with `output=json`. An unknown ID gets 404 with one line. Callers without permission get
 * 401, 403 or 503 with one line, see `Callers`.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type * as Client from "../../client/Client.ts"
import { Reachability } from "../../controller/Reachability.ts"
import * as Text from "../../resource/Text.ts"
import * as Callers from "../Callers.ts"
import * as Endpoints from "../Endpoints.ts"
import * as Document from "./Document.ts"
import { isWrite } from "./Recorded.ts"
import type { Entry, Ring } from "./Ring.ts"

const headers = { "cache-control": "no-store" }

/** A recording in the list. */
export interface Line {
  readonly trace: string
  readonly reconcileID: string
  readonly controller: string
  readonly kind: string
  readonly key: string
  readonly startedAt: string
  readonly outcome: string
  readonly message?: string | undefined
  readonly writes: number
  /** The approximate memory. */
  readonly bytes: number
}

const lineOf = Effect.fnUntraced(function* ({ bytes, recorded }: Entry): Effect.fn.Return<Line> {
  const { controller, id, key, kind, requests, startedAt, trace } = recorded
  const ending = yield* Document.endingOf(recorded)
  return {
    trace,
    reconcileID: id,
    controller,
    kind,
    key,
    startedAt: new Date(startedAt).toISOString(),
    outcome: ending.outcome,
    ...(ending.message !== undefined && { message: ending.message }),
    writes: requests.filter(isWrite).length,
    bytes
  }
})

/** The longest message in the text, in characters. */
const longest = 120

const textOf = (lines: ReadonlyArray<Line>): string => {
  if (lines.length === 0) return "No attempt failed or wrote, or the recordings are off (--recordings)."
  const rows = lines.map(({ controller, key, kind, message, outcome, startedAt, trace, writes }) => [
    trace,
    startedAt,
    controller,
    `${kind} ${key}`,
    `${writes} ${writes === 1 ? "write" : "writes"}`,
    message === undefined ? outcome : `${outcome}: ${Text.clip(message.replaceAll(/\s+/g, " "), longest)}`
  ])
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)))
  return rows
    .map((row) =>
      row
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join("  ")
        .trimEnd()
    )
    .join("\n")
}

/** The longest JSON with line breaks, in characters: in deep JSON the spaces would take many times as much. */
const longestIndented = 256 * 1024

const json = (value: object): Response => {
  const text = JSON.stringify(value)
  return new Response(
    `${Text.printable(text.length > longestIndented ? text : JSON.stringify(value, undefined, 2))}\n`,
    {
      headers: { "content-type": "application/json", ...headers }
    }
  )
}

const notFound = (ring: Ring, id: string): string => {
  const shown = JSON.stringify(Text.clip(id, 64))
  return ring.isTooLarge(id)
    ? `the attempt ${shown} is too large to record (raise --recordings-memory)`
    : `unknown recording: ${shown} (list those that there are: replay without a trace)`
}

/**
 * The answer to a query.
 *
 * @param server the URL of the API server
 * @param program the program that records
 *
 * @internal
 */
export const answer = Effect.fnUntraced(function* (
  ring: Ring,
  query: URLSearchParams,
  server: string,
  program: string | undefined
): Effect.fn.Return<Response> {
  const id = query.get("trace") ?? ""
  if (id === "") {
    const lines = yield* Effect.forEach(ring.all(), lineOf)
    return query.get("output") === "json" ? json({ recordings: lines }) : Endpoints.text(200, textOf(lines), headers)
  }
  const [first, second] = ring.find(id)
  if (first === undefined) return Endpoints.text(404, notFound(ring, id), headers)
  if (second !== undefined) {
    const ids = ring.find(id).map((each) => each.id)
    return Endpoints.text(
      400,
      `trace ${first.trace} has ${ids.length} recordings: use a reconcileID (${ids.join(", ")})`,
      headers
    )
  }
  return json(yield* Document.of(first, server, program))
})

/** Serves `/recordings`, until the scope closes. Does nothing without ports. */
export const serve = (
  ring: Ring,
  program: string | undefined
): Effect.Effect<void, never, Client.Client | Reachability | Scope.Scope> =>
  Effect.gen(function* () {
    const endpoints = yield* Endpoints.Endpoints
    if (endpoints === Endpoints.off) return
    const { server } = yield* Reachability
    const handler: Endpoints.Handler = (request) => answer(ring, new URL(request.url).searchParams, server, program)
    const callers = Option.getOrElse(yield* Effect.serviceOption(Callers.Callers), () => undefined)
    const { guarded } = callers ?? (yield* Callers.make())
    yield* endpoints.route("probes", "/recordings", guarded(handler, { loopback: true }))
  })
