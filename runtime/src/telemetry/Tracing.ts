/**
 * Whether reconciles are traced, and what becomes of a trace beyond this process. Off unless the
 * manager has an exporter, as traces that are not exported are not recorded.
 */
import * as Context from "effect/Context"

/**
 * What the trace of a write does with the objects it writes: `link` puts it into an annotation, and a reconcile that such an
 * object causes is linked to it; `parent` makes it the reconcile's parent instead; `off` does neither.
 */
export type Propagation = "off" | "link" | "parent"

/** How reconciles are traced. */
export interface Settings {
  readonly propagation: Propagation
  /** The annotation that holds a `traceparent`. */
  readonly annotation: string
}

/** The annotation of KEP-5915. */
export const annotation = "tracing.k8s.io/traceparent"

/** The settings, or `undefined` where nothing is traced. */
export class Tracing extends Context.Reference<Tracing>()("@homeostat/runtime/Tracing", {
  defaultValue: (): Settings | undefined => undefined
}) {}
