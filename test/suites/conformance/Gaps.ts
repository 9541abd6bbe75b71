/**
 * The cases that the embedded server does not pass, and what it says instead. Each has to fail by exactly this refusal: a case that passes
 * or fails for another reason fails the run.
 */

/** A known gap. */
export interface Gap {
  /** What the embedded server lacks. */
  readonly reason: string
  /** A part of the message by which it refuses. */
  readonly refusal: string
}

/** The gaps, by the number of the case. */
export const gaps: ReadonlyMap<number, Gap> = new Map([
  [
    116,
    {
      reason: "it converts nothing but the apiVersion",
      refusal: "the embedded API server does not support conversion webhooks: the strategy has to be None"
    }
  ]
])
