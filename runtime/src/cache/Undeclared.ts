/** The program reads or writes what no declaration of a controller covers. */
import * as Data from "effect/Data"

/**
 * A defect: only a change of the program or of its flags corrects it, so the attempt is not retried. The message names the
 * declaration to add.
 */
export class Undeclared extends Data.TaggedError("Undeclared")<{ readonly message: string }> {}
