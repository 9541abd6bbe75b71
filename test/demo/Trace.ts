/** Shows the trace of a reconcile: its triggers and its requests. */

import { AttemptTrace } from "@homeostat/observability"
import type { Attempt } from "@homeostat/runtime/controller/Attempt"
import * as Attribute from "@homeostat/runtime/telemetry/Attribute"
import type { Span } from "@homeostat/runtime/telemetry/Recording"
import * as Effect from "effect/Effect"
import type { Narrator } from "./Narrator.ts"
import * as Waterfall from "./Waterfall.ts"

/** Shortens a span name to `PATCH deployments/{name}`: without the API prefix and the namespace. */
const short = (name: string): string => name.replace(/ \/apis?\/.*\/namespaces\/\{ns\}\//, " ")

/** The name and the note of a span. The note has the attributes that show the result. */
const labelOf = ({ attributes, name }: Span): Waterfall.Label => {
  const value = (attribute: string): string | undefined => {
    const value = attributes.get(attribute)
    return value === undefined ? undefined : String(value)
  }
  const status = value(Attribute.httpStatus)
  const changed = value(Attribute.changed)
  const note = [
    value(Attribute.result),
    status && `answered ${status}`,
    changed && (changed === "true" ? "changed it" : "changed nothing"),
    value(Attribute.dependentResult),
    value(Attribute.dependentFields)
  ]
  return { name: short(name), note: note.filter((word) => word !== undefined).join(", ") }
}

/** Shows the trace of an attempt as a waterfall, as Jaeger does. */
export const show = (narrator: Narrator, attempt: Attempt | undefined, columns: number): Effect.Effect<void> =>
  Effect.gen(function* () {
    const recording = attempt === undefined ? undefined : AttemptTrace.complete(attempt)
    if (attempt === undefined || recording === undefined) return yield* Effect.die(new Error("nothing was traced"))
    yield* narrator.part("How the manager took the last image: the trace of that reconcile")
    const reasons = attempt.triggers.map(({ kind, source }) =>
      source === undefined ? kind : `${kind} ${source.kind} ${source.key}`
    )
    yield* narrator.write([
      `trace ${recording.traceId}`,
      `because of ${reasons.join(", ")}`,
      ...Waterfall.lines(recording, columns, labelOf)
    ])
  })
