/** The program reads or writes what no declaration of a controller covers. */
import * as Data from "effect/Data"
import * as Resource from "../resource/Resource.ts"

/**
 * A defect: only a change of the program or of its flags corrects it, so the attempt is not retried. The message names the
 * declaration to add.
 */
export class Undeclared extends Data.TaggedError("Undeclared")<{ readonly message: string }> {}

/**
 * The defect of a read of a kind that the cache does not follow, or that the controller which reads does not declare.
 *
 * @param controller the controller of the reconcile or map that reads; undefined outside of both
 */
export const ofKind = (resource: Resource.Any, controller?: string): Undeclared => {
  const { projection, version } = resource
  const kind = `${Resource.nameOf(resource)} (${version}, ${projection})`
  const added = projection === "metadata" ? `Trigger.onMetadata(${resource.kind}, …)` : resource.kind
  return new Undeclared({
    message:
      controller === undefined
        ? `${kind} is not in the cache: declare it with owns or watches, or read it with Client.get`
        : `controller ${controller} reads ${kind} from the cache and does not declare it: add ${added} to watches or owns, or read it with Client.get`
  })
}
