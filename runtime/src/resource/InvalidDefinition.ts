/** What is wrong with the declaration of a custom resource. The check is `CustomResource.check`. */
import * as Data from "effect/Data"

/**
 * A kind cannot be declared as written: a schema that a CRD cannot hold, a column that points nowhere, a name the API
 * server would refuse. A mistake in the program, so it is thrown where the kind is made and nobody handles it.
 */
export class InvalidDefinition extends Data.TaggedError("InvalidDefinition")<{
  readonly kind: string
  /** The place, by its path from the object's root: `spec.source`, `spec.ports[].name`, `spec.labels.*`. */
  readonly field: string
  readonly problem: string
  readonly fix: string
}> {
  override get message(): string {
    return `${this.kind} ${this.field}: ${this.problem}. ${this.fix}`
  }
}
