/** The tracing of reconciles and webhooks, and its flags. The exporter decides where traces go. */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import * as Attempt from "../controller/Attempt.ts"
import * as Tracing from "../telemetry/Tracing.ts"
import * as Call from "../webhook/Call.ts"
import * as Flag from "./Flag.ts"

/** The observers of an exporter. */
export interface Observers {
  readonly attempts: Attempt.Observer
  readonly webhooks: Call.Observer
}

/** An exporter of traces. It observes every attempt and webhook until its scope closes, and counts in the fiber's metrics. */
export type Exporting = Effect.Effect<Observers, never, Scope.Scope>

/**
 * The exporter from a program's environment; undefined if tracing is off. Failure: one line about an invalid variable.
 */
export type Export = (setup: {
  readonly name: string
  readonly version: string
  /** The name of the replica. */
  readonly instance: string
  readonly environment: { readonly [name: string]: string | undefined }
}) => Result.Result<Exporting | undefined, string>

const propagations: { readonly [word: string]: Tracing.Propagation } = { off: "off", link: "link", parent: "parent" }

const annotationKey = (key: string): Result.Result<string, string> => {
  const [, prefix, name] = /^(?:(.*)\/)?([^/]*)$/s.exec(key) ?? []
  const isPrefix = prefix === undefined || (prefix.length <= 253 && /^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$/.test(prefix))
  return isPrefix && name !== undefined && /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/.test(name)
    ? Result.succeed(key)
    : Result.fail(`invalid annotation key: "${key}" (write it like ${Tracing.annotation})`)
}

/** The flags. */
export const flags = {
  tracePropagation: Flag.choice<Tracing.Propagation, Tracing.Propagation>("trace-propagation", propagations, {
    placeholder: "HOW",
    description: "How traces continue across written objects: link, parent or off (default link)",
    otherwise: "link"
  }),
  traceAnnotation: Flag.parsed("trace-annotation", {
    placeholder: "KEY",
    description: `The annotation that carries the trace (default ${Tracing.annotation})`,
    parse: annotationKey,
    otherwise: Tracing.annotation
  })
} as const

/** The values of the flags. */
export const settingsOf = ({ traceAnnotation, tracePropagation }: Flag.Values<typeof flags>): Tracing.Settings => ({
  propagation: tracePropagation,
  annotation: traceAnnotation
})

/** Traces the attempts and webhooks in an effect if an exporter is configured. */
export const traced =
  (observers: Observers | undefined, settings: Flag.Values<typeof flags>) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    observers === undefined
      ? effect
      : effect.pipe(
          Attempt.observedBy(observers.attempts),
          Call.observedBy(observers.webhooks),
          Effect.provideService(Tracing.Tracing, settingsOf(settings))
        )
