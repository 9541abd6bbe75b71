/**
 * The protocol between managers and movers, as a number. Their versions can differ: a user pins `spec.image`, or a node keeps an older
 * image. A mover ignores parameters that it does not know, and some of them protect snapshots. So the first word of a mover's arguments
 * names the protocol. A mover that does not know the word ends before it opens the repository. Pure.
 *
 * Raise {@link number} with each parameter or operation that a mover must not ignore.
 */

/** The protocol of this program. */
export const number = 2

/** The first argument of a mover. The movers of 0.1.0 refuse it as an unknown operation. */
export const operation = `protocol-${number}`

/** The protocol that the arguments of a mover ask for. Those of a manager of 0.1.0 name none, and mean 1. */
export const of = (args: ReadonlyArray<string>): number =>
  Number(/^protocol-([0-9]{1,6})$/.exec(args[0] ?? "")?.[1] ?? 1)
