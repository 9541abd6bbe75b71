/** A trace as lines of text: the name, the start and the duration of each span, as Jaeger draws them. */
import type { Recording, Span } from "@homeostat/runtime/telemetry/Recording"
import * as Option from "effect/Option"

/** The start and the end of a span, in milliseconds since the root began. A span that has not ended lasts until the root ends. */
const timesOf = ({ status }: Span, root: Span): { readonly start: number; readonly end: number } => {
  const since = (time: bigint): number => Number(time - root.status.startTime) / 1e6
  const ended = status._tag === "Ended" ? status : root.status
  return { start: since(status.startTime), end: since(ended._tag === "Ended" ? ended.endTime : ended.startTime) }
}

/** Spans in the order of a tree, each with its depth: children below their parent, in the order in which they began. */
const tree = (spans: ReadonlyArray<Span>): ReadonlyArray<{ readonly span: Span; readonly depth: number }> => {
  const ids = new Set(spans.map(({ spanId }) => spanId))
  const parentOf = ({ parent }: Span): string | undefined =>
    Option.isSome(parent) && ids.has(parent.value.spanId) ? parent.value.spanId : undefined
  const children = Map.groupBy(spans, parentOf)
  const below = (parent: string | undefined, depth: number): ReturnType<typeof tree> =>
    (children.get(parent) ?? [])
      .toSorted((one, other) => Number(one.status.startTime - other.status.startTime))
      .flatMap((span) => [{ span, depth }, ...below(span.spanId, depth + 1)])
  return below(undefined, 0)
}

/** The name and the note of a span in the text. */
export interface Label {
  readonly name: string
  readonly note: string
}

/**
 * Returns a line for each span with its name, a bar and its duration. The note follows on a line of its own.
 *
 * @param columns the width of the text
 */
export const lines = (
  recording: Recording,
  columns: number,
  labelOf: (span: Span) => Label = ({ name }) => ({ name, note: "" })
): ReadonlyArray<string> => {
  const [root] = recording.spans
  if (root === undefined) return []
  const times = recording.spans.map((span) => timesOf(span, root))
  const from = Math.min(...times.map(({ start }) => start))
  const whole = Math.max(...times.map(({ end }) => end)) - from || 1
  const rows = tree(recording.spans).map(({ depth, span }) => ({
    ...labelOf(span),
    indent: "  ".repeat(depth),
    ...timesOf(span, root)
  }))
  const names = Math.min(
    Math.max(...rows.map(({ indent, name }) => indent.length + name.length)),
    Math.floor(columns / 2)
  )
  const width = Math.max(10, Math.min(40, columns - names - 12))
  const at = (time: number): number => Math.round(((time - from) * width) / whole)
  return rows.flatMap(({ end, indent, name, note, start }) => {
    const left = Math.min(at(start), width - 1)
    const bar = "█".repeat(Math.max(1, at(end) - left))
    const took = `${(end - start).toFixed(1)} ms`.padStart(9)
    const label = `${indent}${name}`
    const shown = label.length > names ? `${label.slice(0, names - 1)}…` : label
    return [
      `${shown.padEnd(names)} ${" ".repeat(left)}${bar.padEnd(width - left)} ${took}`,
      ...(note === "" ? [] : [`${indent}  ${note}`])
    ].map((line) => line.slice(0, columns))
  })
}
