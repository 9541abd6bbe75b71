/**
 * The registry of a manager's metrics: what was counted, and how to read it.
 *
 * Whoever counts binds an instrument to its labels once and then uses it: plain synchronous code of some ns, for the hot path.
 * Binding creates the series, at 0, so that it is there before anything happened, and a rate over it sees the first event. What
 * is cheaper to look up than to keep (the depth of a queue) is set by a collector, which is called before each reading.
 *
 * A registry belongs to one manager. Code outside a manager (a client in a script) counts into a registry that is not served.
 *
 * A controller has metrics of its own if it defines some (`Metric.counter` …) and binds them to the registry that its reconciles
 * have in their context, most easily by {@link once}:
 *
 * ```ts
 * const greetings = Metric.counter("example_greetings_total", "Greetings sent, by language", ["language"])
 * const metrics = Metrics.once(({ counter }) => ({ english: counter(greetings, { language: "en" }) }))
 * // in reconcile
 * const { english } = yield* metrics
 * english.add()
 * ```
 *
 * What reconciles bind is part of the manager's page, and goes when their controller leads no more: its numbers are the next
 * leader's then. Series whose labels name an object have to be taken away when it is gone: {@link Registry.remove}.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { type Counter, collectErrors, type Gauge, type Histogram, type Labels, type Metric } from "./Metric.ts"

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
  /**
   * The instrument of a series. The same labels give the same series, whoever asks. Throws if the metric's name is that of another
   * one, of another type or with other labels or buckets.
   */
  readonly counter: <L extends string>(metric: Counter<L>, labels: Labels<L>) => Counting
  readonly gauge: <L extends string>(metric: Gauge<L>, labels: Labels<L>) => Gauging
  readonly histogram: <L extends string>(metric: Histogram<L>, labels: Labels<L>) => Observing
  /**
   * Takes away the series of a metric that have these labels, whatever others they have: all of an object's results, if its name is
   * given and the result is not. Their instruments count for nobody from then on; who binds the same labels again begins at 0.
   */
  readonly remove: <L extends string>(metric: Metric<L>, labels: Partial<Labels<L>>) => void
  /** Calls `collect` before each reading, until the answer is called. */
  readonly onCollect: (collect: () => void) => () => void
  /** A view of this registry that ends. */
  readonly part: () => Part
  /**
   * What there is now, in the order in which the metrics were first bound. A collector that throws costs its own metrics only: it is
   * counted, and `failed` gets what it threw.
   */
  readonly read: (failed?: (thrown: unknown) => void) => ReadonlyArray<Family>
}

/** A view of a registry: what is bound and collected by way of it is the registry's, until it ends. */
export interface Part extends Registry {
  /**
   * Takes back the collectors, and takes away the series that were first bound by way of this part. What is bound by way of it
   * later counts for nobody.
   */
  readonly end: () => void
}

class Single implements Counting, Gauging {
  private value = 0
  constructor(readonly labels: ReadonlyArray<string>) {}
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
    readonly labels: ReadonlyArray<string>,
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

/** Who may end: what it has bound goes with it. */
interface Owner {
  ended: boolean
}

/** A metric and its series by their identity. */
interface Held {
  readonly metric: Metric
  readonly series: Map<string, { readonly owner: Owner | undefined; readonly instrument: Single | Buckets }>
}

const areSame = (one: ReadonlyArray<string | number>, other: ReadonlyArray<string | number>): boolean =>
  one.length === other.length && one.every((each, at) => each === other[at])

const isSame = (one: Metric, other: Metric): boolean =>
  one === other ||
  (one.type === other.type &&
    areSame(one.labels, other.labels) &&
    areSame("buckets" in one ? one.buckets : [], "buckets" in other ? other.buckets : []))

/** An empty registry. */
export const make = (): Registry => {
  const singles = new Map<string, Single>()
  const distributions = new Map<string, Buckets>()
  const families = new Map<string, Held>()
  const collectors = new Map<() => void, Owner | undefined>()

  const drop = (
    [name, { series }]: readonly [string, Held],
    isGone: (labels: ReadonlyArray<string>, owner: Owner | undefined) => boolean
  ): void => {
    for (const [identity, { instrument, owner }] of series) {
      if (!isGone(instrument.labels, owner)) continue
      series.delete(identity)
      singles.delete(identity)
      distributions.delete(identity)
    }
    if (series.size === 0) families.delete(name)
  }

  const view = (owner: Owner | undefined): Registry => {
    const bind = <S extends Single | Buckets>(
      bound: Map<string, S>,
      metric: Metric,
      labels: { readonly [label: string]: string },
      create: (values: ReadonlyArray<string>) => S
    ): S => {
      const family = families.get(metric.name)
      if (family !== undefined && !isSame(family.metric, metric)) {
        throw new Error(
          `There are two metrics ${metric.name}, of different types, labels or buckets: rename one of them`
        )
      }
      const values = metric.labels.map((label) => labels[label] ?? "")
      const identity = [metric.name, ...values].join("\u0000")
      const existing = bound.get(identity)
      if (existing !== undefined) return existing
      const instrument = create(values)
      if (owner?.ended === true) return instrument
      bound.set(identity, instrument)
      if (family !== undefined) family.series.set(identity, { owner, instrument })
      else families.set(metric.name, { metric, series: new Map([[identity, { owner, instrument }]]) })
      return instrument
    }

    const single = (metric: Metric, labels: { readonly [label: string]: string }): Single =>
      bind(singles, metric, labels, (values) => new Single(values))

    return {
      counter: single,
      gauge: single,
      histogram: (metric, labels) =>
        bind(distributions, metric, labels, (values) => new Buckets(values, metric.buckets)),
      remove: ({ name }, labels: { readonly [label: string]: string | undefined }) => {
        const family = families.get(name)
        if (family === undefined) return
        const wanted = family.metric.labels.map((label) => labels[label])
        drop([name, family], (values) => wanted.every((value, at) => value === undefined || value === values[at]))
      },
      onCollect: (collect) => {
        if (owner?.ended === true) return () => {}
        // A wrapper of its own, so that one function can be registered twice.
        const collector = () => collect()
        collectors.set(collector, owner)
        return () => {
          collectors.delete(collector)
        }
      },
      part: () => {
        const owner: Owner = { ended: false }
        return {
          ...view(owner),
          end: () => {
            owner.ended = true
            for (const family of families) drop(family, (_labels, by) => by === owner)
            for (const [collector, by] of collectors) if (by === owner) collectors.delete(collector)
          }
        }
      },
      read: (failed) => {
        for (const collect of collectors.keys()) {
          try {
            collect()
          } catch (thrown) {
            single(collectErrors, {}).add()
            failed?.(thrown)
          }
        }
        return Array.from(families.values(), ({ metric, series }) => ({
          metric,
          series: Array.from(series.values(), ({ instrument }) => instrument.read())
        }))
      }
    }
  }

  return view(undefined)
}

/** The registry of the manager that an effect runs in. */
export class Metrics extends Context.Reference<Metrics>()("@homeostat/runtime/Metrics", { defaultValue: make }) {}

/** A part of the fiber's registry, which ends with the scope. */
export const scoped: Effect.Effect<Registry, never, Scope.Scope> = Effect.acquireRelease(
  Effect.map(Metrics, ({ part }) => part()),
  ({ end }) => Effect.sync(end)
)

/**
 * What is made of the fiber's registry, once for each: a controller's instruments, bound when its first reconcile asks for them, and
 * anew when it leads again.
 *
 * @param make also gets the services of whoever asks first, such as the Cache, for collectors
 */
export const once = <A, R = never>(
  make: (registry: Registry, services: Context.Context<R>) => A
): Effect.Effect<A, never, R> => {
  const made = new WeakMap<Registry, { readonly value: A }>()
  return Effect.contextWith((services: Context.Context<R>) => {
    const registry = Context.get(services, Metrics)
    const known = made.get(registry)
    if (known !== undefined) return known.value
    const value = make(registry, services)
    made.set(registry, { value })
    return value
  })
}

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
