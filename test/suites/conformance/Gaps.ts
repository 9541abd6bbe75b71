/** The cases that the embedded server fails. A case that passes, or fails with another message, fails the run. */

export interface Gap {
  /** The missing feature of the embedded server. */
  readonly reason: string
  /** A part of its error message. */
  readonly refusal: string
}

/** By the number of the case. */
export const gaps: ReadonlyMap<number, Gap> = new Map()
