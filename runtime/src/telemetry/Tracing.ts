/** The tracing of reconciles. Off unless the manager has an exporter, because only exported traces are recorded. */
import * as Context from "effect/Context"

/**
 * How the trace of a write propagates to the written objects: `link` sets an annotation, and the reconcile that such an object
 * triggers links to the trace; `parent` makes it the parent of that reconcile instead; `off` does neither.
 */
export type Propagation = "off" | "link" | "parent"

/** The tracing of reconciles. */
export interface Settings {
  readonly propagation: Propagation
  /** The annotation with a `traceparent`. */
  readonly annotation: string
}

/** The annotation of KEP-5915. */
export const annotation = "tracing.k8s.io/traceparent"

/** The settings, or `undefined` without tracing. */
export const Tracing = Context.Reference("@homeostat/runtime/Tracing", {
  defaultValue: (): Settings | undefined => undefined
})
