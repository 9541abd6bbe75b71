/**
 * The registry of a manager's metrics: what was counted, and how to read it.
 *
 * Whoever counts binds an instrument to its labels once and then uses it: plain synchronous code of some ns, for the hot path.
 * Binding creates the series, at 0, so that it is there before anything happened, and a rate over it sees the first event. What
 * is cheaper to look up than to keep (the depth of a queue) is set by a collector, which is called before each reading.
 *
 * A registry belongs to one manager. Code that runs in none (a client in a script) counts into one that nobody reads.
 */
import * as Context from "effect/Context"
import type { Counter, Gauge, Histogram, Labels, Metric } from "./Metric.ts"

/** A counter with its labels. */
export interface Counting {
  /** Goes up by `n`, 1 by default, which is not to be negative. */
  readonly add: (n?: number) => void
}

/** A gauge with its labels. */
export interface Gauging {
  readonly set: (value: number) => void
  readonly add: (n: number) => void
}

/** A histogram with its labels. */
export interface Observing {
  /** In the metric's unit: seconds, bytes. With a trace that shows where the value comes from, its bucket keeps the newest one. */
  readonly observe: (value: number, trace?: Trace) => void
}

/** A trace that can be looked up, for a value of it to point there. */
export interface Trace {
  readonly traceId: string
  readonly spanId: string
  /** When the value was seen, in milliseconds since 1970. */
  readonly at: number
}

/** One value of a bucket, and its trace. */
export interface Exemplar extends Trace {
  readonly value: number
}

/** A series of a counter or a gauge, at one moment. */
export interface Scalar {
  /** In the order of the metric's labels. */
  readonly labels: ReadonlyArray<string>
  readonly value: number
}

/** A series of a histogram, at one moment. */
export interface Distribution {
  readonly labels: ReadonlyArray<string>
  /** Upper bounds, rising, the one at infinity left out. */
  readonly bounds: ReadonlyArray<number>
  /** How many values are within each bound and within none before; the last number is of those beyond all. */
  readonly counts: ReadonlyArray<number>
  readonly sum: number
  /** The newest of each bucket, as `counts` has them; absent where none was given yet. */
  readonly exemplars?: ReadonlyArray<Exemplar | undefined> | undefined
}

/** A metric and its series, in the order in which they were bound. */
export interface Family {
  readonly metric: Metric
  readonly series: ReadonlyArray<Scalar | Distribution>
}

/** A registry. All of it is synchronous. */
export interface Registry {
  /** The instrument of a series. The same labels give the same series, whoever asks. */
  readonly counter: <L extends string>(metric: Counter<L>, labels: Labels<L>) => Counting
  readonly gauge: <L extends string>(metric: Gauge<L>, labels: Labels<L>) => Gauging
  readonly histogram: <L extends string>(metric: Histogram<L>, labels: Labels<L>) => Observing
  /** Calls `collect` before each reading, until the answer is called. */
  readonly onCollect: (collect: () => void) => () => void
  /** What there is now, in the order in which the metrics were first bound. */
  readonly read: () => ReadonlyArray<Family>
}

class Single implements Counting, Gauging {
  private value = 0
  constructor(private readonly labels: ReadonlyArray<string>) {}
  readonly add = (n = 1): void => {
    this.value += n
  }
  readonly set = (value: number): void => {
    this.value = value
  }
  readonly read = (): Scalar => ({ labels: this.labels, value: this.value })
}

class Buckets implements Observing {
  private readonly counts: Array<number>
  private sum = 0
  /** Made with the first: most histograms never have one. */
  private exemplars: Array<Exemplar | undefined> | undefined = undefined
  constructor(
    private readonly labels: ReadonlyArray<string>,
    private readonly bounds: ReadonlyArray<number>
  ) {
    this.counts = new Array(bounds.length + 1).fill(0)
  }
  readonly observe = (value: number, trace?: Trace): void => {
    // The first bound that is not exceeded, by halving.
    let low = 0
    let high = this.bounds.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (value <= (this.bounds[middle] ?? Number.POSITIVE_INFINITY)) high = middle
      else low = middle + 1
    }
    this.counts[low] = (this.counts[low] ?? 0) + 1
    this.sum += value
    if (trace === undefined) return
    this.exemplars ??= new Array(this.counts.length).fill(undefined)
    this.exemplars[low] = { traceId: trace.traceId, spanId: trace.spanId, at: trace.at, value }
  }
  readonly read = (): Distribution => ({
    labels: this.labels,
    bounds: this.bounds,
    counts: this.counts.slice(),
    sum: this.sum,
    ...(this.exemplars !== undefined && { exemplars: this.exemplars.slice() })
  })
}

/** An empty registry. */
export const make = (): Registry => {
  const singles = new Map<string, Single>()
  const distributions = new Map<string, Buckets>()
  const families = new Map<string, { readonly metric: Metric; readonly series: Array<Single | Buckets> }>()
  const collectors = new Set<() => void>()

  const bind = <S extends Single | Buckets>(
    bound: Map<string, S>,
    metric: Metric,
    labels: { readonly [label: string]: string },
    create: (values: ReadonlyArray<string>) => S
  ): S => {
    const values = metric.labels.map((label) => labels[label] ?? "")
    const identity = [metric.name, ...values].join("\u0000")
    const existing = bound.get(identity)
    if (existing !== undefined) return existing
    const series = create(values)
    bound.set(identity, series)
    const family = families.get(metric.name)
    if (family === undefined) families.set(metric.name, { metric, series: [series] })
    else family.series.push(series)
    return series
  }

  const single = (metric: Metric, labels: { readonly [label: string]: string }): Single =>
    bind(singles, metric, labels, (values) => new Single(values))

  return {
    counter: single,
    gauge: single,
    histogram: (metric, labels) => bind(distributions, metric, labels, (values) => new Buckets(values, metric.buckets)),
    onCollect: (collect) => {
      // A wrapper of its own, so that one function can be registered twice.
      const collector = () => collect()
      collectors.add(collector)
      return () => {
        collectors.delete(collector)
      }
    },
    read: () => {
      for (const collect of collectors) collect()
      return Array.from(families.values(), ({ metric, series }) => ({
        metric,
        series: series.map((each) => each.read())
      }))
    }
  }
}

/** The registry of the manager that an effect runs in. */
export class Metrics extends Context.Reference<Metrics>()("@homeostat/runtime/Metrics", { defaultValue: make }) {}

/**
 * A counter that follows a total which is kept elsewhere. That may begin again from 0 (a new queue, a new watch), so it is told
 * what the total was, and adds what it has grown by.
 */
export const following = (counter: Counting): ((total: number) => void) => {
  let last = 0
  return (total) => {
    counter.add(total < last ? total : total - last)
    last = total
  }
}
