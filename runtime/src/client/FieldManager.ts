/** The field manager of writes. */
import * as Context from "effect/Context"

/**
 * The default field manager of writes. The worker provides that of its controller, so that each controller owns its own fields;
 * outside of a controller it is `homeostat`.
 */
export const FieldManager = Context.Reference("@homeostat/runtime/FieldManager", {
  defaultValue: () => "homeostat"
})

/** The temporary field manager of fields that a controller gives up, until their new owner has written them. */
export const handover = (fieldManager: string): string => `${fieldManager}-handover`
