/** A promise that a course broke. */

/** A promise and how it was broken. */
export interface Broken {
  readonly oracle: string
  readonly message: string
  /** The objects that the message names, `namespace/name` each. Default: all. */
  readonly objects?: ReadonlyArray<string> | undefined
}
