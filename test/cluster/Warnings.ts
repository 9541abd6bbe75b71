/**
 * Prints the warnings of the API server in a test, such as for a deprecated version or a kind without a controller.
 *
 * @internal
 */
import { Transport } from "@homeostat/runtime/client/Transport"
import * as Warning from "@homeostat/runtime/client/Warning"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/** The warnings that this process has printed. */
const printed = new Set<string>()

const print = (header: string | null): Effect.Effect<void> =>
  Effect.suspend(() => {
    const texts = header === null ? [] : Warning.parse(header).filter((text) => !printed.has(text))
    for (const text of texts) printed.add(text)
    return Effect.forEach(texts, (text) => Console.warn(`Warning: ${text}`), { discard: true })
  })

/**
 * Returns a transport that prints the warnings in its responses as kubectl does. It prints each text once in this process.
 *
 * @internal
 */
export const printing = (transport: Layer.Layer<Transport>): Layer.Layer<Transport> =>
  Layer.provide(
    Layer.effect(
      Transport,
      Effect.map(Transport, (next) => ({
        ...next,
        send: (request) => Effect.tap(next.send(request), ({ headers }) => print(headers.get("warning"))),
        open: (request) => Effect.tap(next.open(request), ({ headers }) => print(headers.get("warning")))
      }))
    ),
    transport
  )
