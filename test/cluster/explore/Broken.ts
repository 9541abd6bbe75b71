/** A promise that a run broke. */

/** A broken promise, and the message of its violation. */
export interface Broken {
  readonly oracle: string
  readonly message: string
  /** The objects in the message, each as `namespace/name`. Default: all. */
  readonly objects?: ReadonlyArray<string> | undefined
}
