/** The program reads or writes what no declaration of a controller covers. */
import * as Data from "effect/Data"
import * as Resource from "../resource/Resource.ts"

/**
 * A defect: only a change of the program or of its flags corrects it, so the attempt is not retried. The message names the
 * declaration to add.
 */
export class Undeclared extends Data.TaggedError("Undeclared")<{ readonly message: string }> {}

/** The defect of a read of a kind that the cache does not follow. */
export const ofKind = (resource: Resource.Any): Undeclared =>
  new Undeclared({
    message: `${Resource.nameOf(resource)} (${resource.version}, ${resource.projection}) is not in the cache: declare it with owns or watches, or read it with Client.get`
  })
