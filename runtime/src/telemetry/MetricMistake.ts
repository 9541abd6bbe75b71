/** The mistakes in the definition of a metric. */

/** The definition of any metric, as Prometheus reads it. */
export interface Definition {
  readonly type: "counter" | "gauge" | "histogram"
  readonly name: string
  readonly help: string
  readonly labels: ReadonlyArray<string>
  /** The upper bounds of a histogram. */
  readonly buckets?: ReadonlyArray<number>
}

/** The reason why Prometheus would reject or misread a metric with this definition; `undefined` if the definition is valid. */
export const mistakeIn = ({ buckets, help, labels, name, type }: Definition): string | undefined => {
  if (!/^[a-zA-Z_]\w*$/.test(name)) return "a name is letters, digits and _, with no digit first"
  if (name.endsWith("_total") !== (type === "counter")) return "names of counters end in _total, and no others do"
  if (/_(created|bucket|count|sum|info)$/.test(name)) return "ends as names do that readers make themselves"
  if (help.trim() === "") return "help is required: say what it measures"
  const label = labels.find((label) => !/^(?!le$|quantile$|__)[a-zA-Z_]\w*$/.test(label))
  if (label !== undefined) return `${JSON.stringify(label)} can't be a label`
  if (new Set(labels).size < labels.length) return "has a label twice"
  if (buckets === undefined) return undefined
  const rising = buckets.every((bound, at) => Number.isFinite(bound) && bound > (buckets[at - 1] ?? -Infinity))
  return buckets.length > 0 && rising ? undefined : "has buckets whose bounds do not rise"
}
