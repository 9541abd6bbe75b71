/** The requests and attempts that a violation shows. */

/** What happened before a violation. */
export interface Evidence {
  /** The requests and attempts of the objects in the order of their times, a line each. Equal lines are folded. */
  readonly trace: ReadonlyArray<string>
  /** The last attempts of the objects, as `why` shows them. Empty without an attempt. */
  readonly why: string
}

/** The evidence about objects, `namespace/name` each. Without objects: about all. */
export type Witness = (objects?: ReadonlyArray<string>) => Evidence
