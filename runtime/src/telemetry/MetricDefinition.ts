/** The definition of a metric: name, help, type, labels, buckets. */
import { mistakeIn } from "./MetricMistake.ts"

/** The value of each label of a series. */
export type Labels<L extends string> = { readonly [label in L]: string }

/** A value that only increases. */
export interface Counter<out L extends string = string> {
  readonly type: "counter"
  /** Ends in `_total`. */
  readonly name: string
  readonly help: string
  readonly labels: ReadonlyArray<L>
}

/** A value that increases and decreases. */
export interface Gauge<out L extends string = string> {
  readonly type: "gauge"
  readonly name: string
  readonly help: string
  readonly labels: ReadonlyArray<L>
}

/** The distribution of a value. */
export interface Histogram<out L extends string = string> {
  readonly type: "histogram"
  readonly name: string
  readonly help: string
  readonly labels: ReadonlyArray<L>
  /** Upper bounds, ascending, without infinity. */
  readonly buckets: ReadonlyArray<number>
}

/** Any metric. */
export type Metric<L extends string = string> = Counter<L> | Gauge<L> | Histogram<L>

/** Throws at the start of the program, because one invalid metric would make Prometheus reject the whole page. */
const checked = <M extends Metric>(metric: M): M => {
  const mistake = mistakeIn(metric)
  if (mistake !== undefined) throw new Error(`The metric ${JSON.stringify(metric.name)}: ${mistake}`)
  return metric
}

/**
 * Defines a counter. Throws if the definition is invalid. A name begins with that of the program and ends with the unit:
 * `homeostat_backup_bytes_added_total`. Each combination of label values is a series, so use labels with few values.
 *
 * @example
 * ```ts
 * const renewals = Metric.counter("sites_renewals_total", "Renewed certificates", ["namespace"])
 * ```
 */
export const counter = <const L extends string = never>(
  name: string,
  help: string,
  labels: ReadonlyArray<L> = []
): Counter<L> => checked({ type: "counter", name, help, labels })

/**
 * Defines a gauge. Otherwise like {@link counter}.
 *
 * @example
 * ```ts
 * const size = Metric.gauge("sites_size_bytes", "The size of a site", ["namespace", "name"])
 * ```
 */
export const gauge = <const L extends string = never>(
  name: string,
  help: string,
  labels: ReadonlyArray<L> = []
): Gauge<L> => checked({ type: "gauge", name, help, labels })

/**
 * Defines a histogram with these upper bounds, ascending, in the unit at the end of its name. Otherwise like {@link counter}.
 *
 * @example
 * ```ts
 * const duration = Metric.histogram("sites_build_duration_seconds", "How long builds took", [1, 10, 60])
 * ```
 */
export const histogram = <const L extends string = never>(
  name: string,
  help: string,
  buckets: ReadonlyArray<number>,
  labels: ReadonlyArray<L> = []
): Histogram<L> => checked({ type: "histogram", name, help, labels, buckets })
