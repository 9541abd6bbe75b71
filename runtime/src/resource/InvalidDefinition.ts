/** Errors in the declaration of a custom resource. `CustomResource.check` reports them. */
import * as Data from "effect/Data"

/**
 * A declaration is invalid: a schema that a CRD cannot express, a column with a wrong path, a name that the API server would reject.
 * This is a mistake in the program, so it is thrown and no code handles it.
 */
export class InvalidDefinition extends Data.TaggedError("InvalidDefinition")<{
  readonly kind: string
  /** The path of the field from the object's root: `spec.source`, `spec.ports[].name`, `spec.labels.*`. */
  readonly field: string
  readonly problem: string
  readonly fix: string
}> {
  override get message(): string {
    return `${this.kind} ${this.field}: ${this.problem}. ${this.fix}`
  }
}
