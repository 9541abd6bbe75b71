/** The common parts of the two metrics formats: Prometheus' text format and OpenMetrics. */
import type { Metric } from "@homeostat/runtime/telemetry/Metric"
import type { Family } from "@homeostat/runtime/telemetry/Metrics"

/** A page and its media type. */
export interface Page {
  readonly contentType: string
  readonly body: string
}

/** Escapes text within a line. */
export const escapeLine = (text: string): string => text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")

/** Escapes text within quotes. */
export const escapeQuoted = (text: string): string => escapeLine(text).replaceAll('"', '\\"')

/** The value of a series. */
export const number = (value: number): string =>
  value === Number.POSITIVE_INFINITY ? "+Inf" : value === Number.NEGATIVE_INFINITY ? "-Inf" : String(value)

/** A bucket's bound as Go writes it (`1e-06`, `1.048576e+06`): queries compare these as text. */
export const bound = (value: number): string => {
  const [digits = "", power = "0"] = value.toExponential().split("e")
  return !Number.isFinite(value) || value === 0 || (Number(power) >= -4 && Number(power) < 6)
    ? number(value)
    : `${digits}e${power.slice(0, 1)}${power.slice(1).padStart(2, "0")}`
}

/** `a="1",b="2"`, without the braces. */
export const pairs = (metric: Metric, values: ReadonlyArray<string>): string =>
  metric.labels.map((label, index) => `${label}="${escapeQuoted(values[index] ?? "")}"`).join(",")

/** Adds braces unless the text is empty. */
export const braced = (labels: string): string => (labels === "" ? "" : `{${labels}}`)

const compare = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0)

/** Compares by the first label whose values differ. */
const byLabels = (
  one: { readonly labels: ReadonlyArray<string> },
  other: { readonly labels: ReadonlyArray<string> }
) => {
  for (const [index, value] of one.labels.entries()) {
    const order = compare(value, other.labels[index] ?? "")
    if (order !== 0) return order
  }
  return 0
}

/** Sorts metrics by name and series by labels, so that two pages differ only in values. Omits metrics without series. */
export const ordered = (families: ReadonlyArray<Family>): ReadonlyArray<Family> =>
  families
    .filter(({ series }) => series.length > 0)
    .toSorted((one, other) => compare(one.metric.name, other.metric.name))
    .map(({ metric, series }) => ({ metric, series: series.toSorted(byLabels) }))
