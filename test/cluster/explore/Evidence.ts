/** The requests and attempts in the message of a violation. */

/** The requests and attempts before a violation. */
export interface Evidence {
  /** The requests and attempts of the objects in the order of their times, a line each. Equal lines are folded. */
  readonly trace: ReadonlyArray<string>
  /** The last attempts of the objects, as `homeostat why` shows them. Empty without an attempt. */
  readonly why: string
}

/** Returns the evidence for objects, each as `namespace/name`; undefined `objects`: for all. */
export type Witness = (objects?: ReadonlyArray<string>) => Evidence
