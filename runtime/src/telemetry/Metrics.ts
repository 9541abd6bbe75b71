/**
 * The registry of a manager's metrics: it counts, and returns the values.
 *
 * Bind an instrument to its labels once, and then use it: synchronous code of some ns, for the hot path. Binding creates the series
 * with the value 0, so that a rate includes the first event. A collector sets values that are cheaper to compute than to maintain,
 * such as the depth of a queue; it runs before each read.
 *
 * A registry belongs to one manager. Code outside of a manager, such as a client in a script, uses a registry that is not served.
 *
 * For its own metrics, a controller defines them (`Metric.counter` and so on) and binds them to the registry in its reconciles, usually
 * with {@link once}:
 *
 * ```ts
 * const greetings = Metric.counter("example_greetings_total", "Greetings sent, by language", ["language"])
 * const metrics = Metrics.once(({ counter }) => ({ english: counter(greetings, { language: "en" }) }))
 * // in reconcile
 * const { english } = yield* metrics
 * english.add()
 * ```
 *
 * Metrics of reconciles are removed when their controller no longer leads, because the next leader reports them. Remove series with
 * the name of an object in a label when the object is gone: {@link Registry.remove}.
 */
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { type Counter, collectErrors, type Gauge, type Histogram, type Labels, type Metric } from "./Metric.ts"

/** A counter with its labels. */
export interface Counting {
  /** Adds `n`, which must not be negative. Default 1. */
  readonly add: (n?: number) => void
}

/** A gauge with its labels. */
export interface Gauging {
  readonly set: (value: number) => void
  readonly add: (n: number) => void
}

/** A histogram with its labels. */
export interface Observing {
  /** Records a value in the metric's unit, such as seconds or bytes. With a trace, its bucket keeps the latest one as exemplar. */
  readonly observe: (value: number, trace?: Trace) => void
}

/** The exported trace of a value. */
export interface Trace {
  readonly traceId: string
  readonly spanId: string
  /** When the value was recorded, in milliseconds since 1970. */
  readonly at: number
}

/** A value of a bucket with its trace. */
export interface Exemplar extends Trace {
  readonly value: number
}

/** The value of a series of a counter or a gauge. */
export interface Scalar {
  /** In the order of the metric's labels. */
  readonly labels: ReadonlyArray<string>
  readonly value: number
}

/** The values of a series of a histogram. */
export interface Distribution {
  readonly labels: ReadonlyArray<string>
  /** Upper bounds, ascending, without infinity. */
  readonly bounds: ReadonlyArray<number>
  /** The number of values between each bound and the one before; the last number counts the values above all bounds. */
  readonly counts: ReadonlyArray<number>
  readonly sum: number
  /** The latest exemplar of each bucket, in the order of `counts`; absent if there is none. */
  readonly exemplars?: ReadonlyArray<Exemplar | undefined> | undefined
}

/** A metric and its series, in the order of their creation. */
export interface Family {
  readonly metric: Metric
  readonly series: ReadonlyArray<Scalar | Distribution>
}

/** A registry. All methods are synchronous. */
export interface Registry {
  /**
   * The instrument of a series. The same labels return the same series. Throws if a metric with the same name and another type, other
   * labels or buckets exists.
   */
  readonly counter: <L extends string>(metric: Counter<L>, labels: Labels<L>) => Counting
  readonly gauge: <L extends string>(metric: Gauge<L>, labels: Labels<L>) => Gauging
  readonly histogram: <L extends string>(metric: Histogram<L>, labels: Labels<L>) => Observing
  /**
   * Removes the series of a metric with these labels and any others: with only the name of an object, all its results. The values of
   * their instruments are then lost; binding the same labels again starts at 0.
   */
  readonly remove: <L extends string>(metric: Metric<L>, labels: Partial<Labels<L>>) => void
  /** Calls `collect` before each read, until the returned function is called. */
  readonly onCollect: (collect: () => void) => () => void
  /** A part of this registry that can end. */
  readonly part: () => Part
  /**
   * The current values, in the order in which the metrics were created. A collector that throws loses only its own metrics: it is
   * counted, and `failed` gets the error. It also gets a {@link Full} for each metric with too many series.
   */
  readonly read: (failed?: (thrown: unknown) => void) => ReadonlyArray<Family>
}

/** A part of a registry: the registry contains its series and collectors until it ends. */
export interface Part extends Registry {
  /** Removes the collectors and the series that were created with this part. Values of instruments that are bound later are lost. */
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
  /** Created with the first exemplar, because most histograms have none. */
  private exemplars: Array<Exemplar | undefined> | undefined = undefined
  constructor(
    readonly labels: ReadonlyArray<string>,
    private readonly bounds: ReadonlyArray<number>
  ) {
    this.counts = new Array(bounds.length + 1).fill(0)
  }
  readonly observe = (value: number, trace?: Trace): void => {
    // Binary search for the first bound that is not exceeded.
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

/** Stands for all labels {@link others}. */
const otherLabels: { readonly [label: string]: string } = {}

/** The owner of series and collectors, which are removed when it ends. */
interface Owner {
  ended: boolean
}

/** A metric and its series by their identity. */
interface Held {
  readonly metric: Metric
  readonly series: Map<string, { readonly owner: Owner | undefined; readonly instrument: Single | Buckets }>
  /** The identities of the series of each namespace; empty without such a label. */
  readonly lanes: Map<string, Set<string>>
  isFull: boolean
}

/**
 * The most series of a metric. The labels can name objects of other users, who choose how many there are. In
 * a full metric, the namespace with the most series gives one up for that of a namespace with fewer.
 */
export const mostSeries = 10_000

/** The value of the labels of the series that counts for those beyond a limit, as in Go's OpenTelemetry. No object has this name. */
export const others = "exceeded_cardinality_limit"

/** A metric has more series than {@link mostSeries}. A gauge has no series for the others, because their values have no meaning together. */
export class Full extends Data.TaggedError("Full")<{ readonly metric: Metric }> {
  override get message(): string {
    const { name, type } = this.metric
    const rest = type === "gauge" ? "are missing" : `count in one series with the labels ${others}`
    return `the metric ${name} has too many series (at most ${mostSeries}): further ones ${rest}`
  }
}

const identityOf = (name: string, values: ReadonlyArray<string>): string => [name, ...values].join("\u0000")

const isComplete = (values: ReadonlyArray<string | undefined>): values is ReadonlyArray<string> =>
  !values.includes(undefined)

const areSame = (one: ReadonlyArray<string | number>, other: ReadonlyArray<string | number>): boolean =>
  one.length === other.length && one.every((each, at) => each === other[at])

const isSame = (one: Metric, other: Metric): boolean =>
  one === other ||
  (one.type === other.type &&
    areSame(one.labels, other.labels) &&
    areSame("buckets" in one ? one.buckets : [], "buckets" in other ? other.buckets : []))

/**
 * An empty registry.
 *
 * @example
 * ```ts
 * const registry = Metrics.make()
 * registry.counter(Metric.counter("sites_renewals_total", "Renewed certificates"), {}).add()
 * ```
 */
export const make = (): Registry => {
  const singles = new Map<string, Single>()
  const distributions = new Map<string, Buckets>()
  const families = new Map<string, Held>()
  const collectors = new Map<() => void, Owner | undefined>()

  const namespaceOf = ({ labels }: Metric, values: ReadonlyArray<string>): string | undefined =>
    values[labels.indexOf("namespace")]
  const removeSeries = (held: Held, identity: string): void => {
    const found = held.series.get(identity)
    if (found === undefined) return
    held.series.delete(identity)
    singles.delete(identity)
    distributions.delete(identity)
    const namespace = namespaceOf(held.metric, found.instrument.labels)
    if (namespace !== undefined) {
      const lane = held.lanes.get(namespace)
      lane?.delete(identity)
      if (lane?.size === 0) held.lanes.delete(namespace)
    }
    if (held.series.size === 0) families.delete(held.metric.name)
  }
  const drop = (held: Held, isGone: (labels: ReadonlyArray<string>, owner: Owner | undefined) => boolean): void => {
    for (const [identity, { instrument, owner }] of held.series) {
      if (isGone(instrument.labels, owner)) removeSeries(held, identity)
    }
  }
  /** Whether there is a place for a series of this namespace. Removes one of the largest namespace if need be. */
  const makesRoom = (held: Held, namespace: string | undefined): boolean => {
    if (held.series.size < mostSeries) return true
    const { labels, name } = held.metric
    const hasOthers = held.series.has(
      identityOf(
        name,
        labels.map(() => others)
      )
    )
    if (hasOthers && held.series.size === mostSeries) return true
    held.isFull = true
    if (namespace === undefined) return false
    let largest: ReadonlySet<string> = new Set()
    for (const lane of held.lanes.values()) if (lane.size > largest.size) largest = lane
    const [first] = largest
    if (first === undefined || largest.size <= (held.lanes.get(namespace)?.size ?? 0) + 1) return false
    removeSeries(held, first)
    return true
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
      const values = metric.labels.map((label) => (labels === otherLabels ? others : (labels[label] ?? "")))
      const identity = identityOf(metric.name, values)
      const existing = bound.get(identity)
      if (existing !== undefined) return existing
      if (owner?.ended === true) return create(values)
      const held = family ?? { metric, series: new Map(), lanes: new Map(), isFull: false }
      const namespace = namespaceOf(metric, values)
      if (labels !== otherLabels && !makesRoom(held, namespace)) {
        return metric.type === "gauge" ? create(values) : bind(bound, metric, otherLabels, create)
      }
      const instrument = create(values)
      bound.set(identity, instrument)
      held.series.set(identity, { owner, instrument })
      if (namespace !== undefined) {
        const lane = held.lanes.get(namespace)
        if (lane === undefined) held.lanes.set(namespace, new Set([identity]))
        else lane.add(identity)
      }
      families.set(metric.name, held)
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
        if (isComplete(wanted)) removeSeries(family, identityOf(name, wanted))
        else drop(family, (values) => wanted.every((value, at) => value === undefined || value === values[at]))
      },
      onCollect: (collect) => {
        if (owner?.ended === true) return () => {}
        // A wrapper, so that one function can be registered twice.
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
            for (const family of families.values()) drop(family, (_labels, by) => by === owner)
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
        return Array.from(families.values(), ({ isFull, metric, series }) => {
          if (isFull) failed?.(new Full({ metric }))
          return { metric, series: Array.from(series.values(), ({ instrument }) => instrument.read()) }
        })
      }
    }
  }

  return view(undefined)
}

/** The registry of the manager of an effect. */
export const Metrics = Context.Reference("@homeostat/runtime/Metrics", { defaultValue: make })

/** A part of the fiber's registry, until the scope closes. */
export const scoped: Effect.Effect<Registry, never, Scope.Scope> = Effect.acquireRelease(
  Effect.map(Metrics, ({ part }) => part()),
  ({ end }) => Effect.sync(end)
)

/**
 * Creates a controller's instruments once per registry: at the first reconcile, and again in each later leadership.
 *
 * @param make also gets the services of the first caller, such as the Cache, for collectors
 *
 * @example
 * ```ts
 * const size = Metric.gauge("sites_size_bytes", "The size of a site", ["name"])
 * const metrics = Metrics.once((registry) => ({
 *   record: (name: string, bytes: number) => registry.gauge(size, { name }).set(bytes)
 * }))
 * const { record } = yield* metrics
 * record("shop", 512)
 * ```
 */
export const once = <A, R = never>(
  make: (registry: Registry, services: Context.Context<R>) => A
): Effect.Effect<A, never, R> => {
  const made = new WeakMap<Registry, { readonly value: A }>()
  return Effect.map(Effect.context<R>(), (services) => {
    const registry = Context.get(services, Metrics)
    const known = made.get(registry)
    if (known !== undefined) return known.value
    const value = make(registry, services)
    made.set(registry, { value })
    return value
  })
}

/**
 * Adds the growth of a total to a counter. If the total is smaller than before, it has restarted from 0 (a new queue, a new watch).
 *
 * @internal
 */
export const following = (counter: Counting): ((total: number) => void) => {
  let last = 0
  return (total) => {
    counter.add(total < last ? total : total - last)
    last = total
  }
}
