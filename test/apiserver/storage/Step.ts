/**
 * Steps of the server that need an answer from outside, of a webhook.
 *
 * A step is synchronous. Where it needs such an answer it throws `Pending`; the runner of the step waits for the answer and runs the
 * step again, now with the answer. So a step asks for everything before it writes, and each run repeats the uids and names of the
 * run before (`once`). A step that asks nothing runs once, and at no cost.
 */
import { Effect } from "effect"
import * as Failure from "../model/Failure.ts"

/** A step needs the result of a call, which never fails. */
export class Pending extends Error {
  readonly key: string
  readonly call: Effect.Effect<unknown>

  constructor(key: string, call: Effect.Effect<unknown>) {
    super("this step needs the answer of a webhook: run it with Step.run")
    this.key = key
    this.call = call
  }
}

/** What the runs of one step have in common. */
export interface Step {
  readonly answers: Map<string, unknown>
  readonly made: Array<Made | undefined>
  next: number
}

/** The outcome of `once`, and where the run goes on behind it. */
interface Made {
  readonly outcome: { readonly value: unknown } | { readonly error: unknown }
  readonly next: number
}

/** A step that has not run. */
export const make = (): Step => ({ answers: new Map(), made: [], next: 0 })

let current: Step | undefined

/** Runs a step, or goes on with it. Throws what `body` throws. */
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
 * The result of a call to the outside. Equal calls are made once, unless something happened `once` between them: a step that creates
 * two equal objects asks about each. Throws `Pending`.
 */
export const ask = <A>(key: string, call: () => Effect.Effect<A>): A => {
  const position = `${current?.next ?? 0} ${key}`
  if (current?.answers.has(position)) return current.answers.get(position) as A
  throw new Pending(position, call())
}

/** What `make` returned, or threw, in the first run of the step that came that far. Outside of steps: calls `make`. */
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

/** Runs a step until it has all answers. Fails with what `body` throws besides `Pending`. */
export const run = <A>(step: Step, body: () => A): Effect.Effect<A, unknown> =>
  Effect.suspend(() => {
    try {
      return Effect.succeed(attempt(step, body))
    } catch (error) {
      return error instanceof Pending ? answered(step, error, body) : Effect.fail(error)
    }
  })

/** Goes on with a step that has thrown `Pending`. */
export const answered = <A>(step: Step, { call, key }: Pending, body: () => A): Effect.Effect<A, unknown> =>
  Effect.flatMap(call, (answer) => {
    step.answers.set(key, answer)
    return run(step, body)
  })

/** The Failure for an error. An unexpected error is an internal error of the server, without its stack. */
export const failureOf = (error: unknown): Failure.Failure => {
  if (error instanceof Failure.Failure) return error
  if (error instanceof RangeError) return Failure.badRequest("the request nests too deeply")
  return Failure.internal(error instanceof Error ? error.message : "unknown error")
}
