/** coordination.k8s.io/v1 Lease. */
import * as FieldError from "../../model/FieldError.ts"
import * as Json from "../../model/Json.ts"
import * as Check from "../Check.ts"
import { type Definition, strategy } from "../Definition.ts"

/** The definition of Lease. A PUT creates a missing Lease. An update requires a `resourceVersion`. */
export const lease: Definition = {
  group: "coordination.k8s.io",
  version: "v1",
  kind: "Lease",
  strategy: strategy({
    shape: "coordination/v1.Lease",
    *validate(object) {
      const spec = Json.object(object.spec)
      const seconds = Json.number(spec.leaseDurationSeconds)
      if (seconds !== undefined && seconds <= 0) {
        yield FieldError.invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0")
      }
      yield* Check.notNegative("spec.leaseTransitions", spec.leaseTransitions)
      const { preferredHolder, strategy } = spec
      if (preferredHolder !== undefined && preferredHolder !== "" && (strategy ?? "") === "") {
        yield FieldError.forbidden("spec.preferredHolder", "may only be specified if `strategy` is defined")
      }
    }
  }),
  createOnUpdate: true
}
