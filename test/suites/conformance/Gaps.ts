/** The cases that the embedded server fails. The run fails if such a case passes, or fails with another message. */

export interface Gap {
  /** The feature that the embedded server lacks. */
  readonly reason: string
  /** A part of the case's error message. */
  readonly refusal: string
}

/** The gaps by the number of the case. */
export const gaps: ReadonlyMap<number, Gap> = new Map()
