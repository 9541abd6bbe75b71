/**
 * Steps of the server that need a response from outside, such as that of a webhook.
 *
 * A step is synchronous. If it needs such a response, it throws `Pending`. Its runner waits for the response, and then runs
 * the step again with that response. A step must therefore make all calls before it writes. Each run repeats the uids and
 * names of the previous run (`once`). A step without calls runs once, without overhead.
 */
import { Effect } from "effect"
import * as Failure from "../model/Failure.ts"

/** Thrown by a step that needs the result of a call. The call itself never fails. */
export class Pending extends Error {
  readonly key: string
  readonly call: Effect.Effect<unknown>

  constructor(key: string, call: Effect.Effect<unknown>) {
    super("this step needs the answer of a webhook: run it with Step.run")
    this.key = key
    this.call = call
  }
}

/** The state that the runs of one step share. */
export interface Step {
  readonly answers: Map<string, unknown>
  readonly made: Array<Made | undefined>
  next: number
}

/** The outcome of `once`, and the position at which the run continues after it. */
interface Made {
  readonly outcome: { readonly value: unknown } | { readonly error: unknown }
  readonly next: number
}

/** Creates a step that has not run yet. */
export const make = (): Step => ({ answers: new Map(), made: [], next: 0 })

let current: Step | undefined

/** Runs a step once, from the start. Throws the errors of `body`. */
export const attempt = <A>(step: Step, body: () => A): A => {
  const before = current
  current = step
  step.next = 0
  try {
    return body()
  } finally {
    current = before
  }
}

/**
 * Returns the result of an outside call. Equal calls are made only once, unless a `once` lies between them: a step that
 * creates two equal objects makes a call for each. Throws `Pending` if the result is not known yet.
 */
export const ask = <A>(key: string, call: () => Effect.Effect<A>): A => {
  const position = `${current?.next ?? 0} ${key}`
  if (current?.answers.has(position)) return current.answers.get(position) as A
  throw new Pending(position, call())
}

/**
 * Returns or throws the outcome of `make` in the first run of the step that reached this point. Outside a step, it calls
 * `make` directly.
 */
export const once = <A>(make: () => A): A => {
  const step = current
  if (step === undefined) return make()
  const position = step.next++
  const known = step.made[position]
  if (known !== undefined) {
    step.next = known.next
    if ("error" in known.outcome) throw known.outcome.error
    return known.outcome.value as A
  }
  const done = (outcome: Made["outcome"]): void => {
    step.made[position] = { outcome, next: step.next }
  }
  try {
    const value = make()
    done({ value })
    return value
  } catch (error) {
    if (!(error instanceof Pending)) done({ error })
    throw error
  }
}

/** Runs a step until it has all responses. Fails with the errors of `body` except `Pending`. */
export const run = <A>(step: Step, body: () => A): Effect.Effect<A, unknown> =>
  Effect.suspend(() => {
    try {
      return Effect.succeed(attempt(step, body))
    } catch (error) {
      return error instanceof Pending ? answered(step, error, body) : Effect.fail(error)
    }
  })

/** Waits for the call of a step that threw `Pending`, and continues the step. */
export const answered = <A>(step: Step, { call, key }: Pending, body: () => A): Effect.Effect<A, unknown> =>
  Effect.flatMap(call, (answer) => {
    step.answers.set(key, answer)
    return run(step, body)
  })

/** Converts an error to a Failure. An unexpected error becomes an internal error (500) without its stack. */
export const failureOf = (error: unknown): Failure.Failure => {
  if (error instanceof Failure.Failure) return error
  if (error instanceof RangeError) return Failure.badRequest("the request nests too deeply")
  return Failure.internal(error instanceof Error ? error.message : "unknown error")
}
