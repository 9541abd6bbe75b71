/** A page of the docs that is made from code. */

/** Where it is, from the root of the repository, and what it says. */
export interface Page {
  readonly path: string
  readonly text: string
}
