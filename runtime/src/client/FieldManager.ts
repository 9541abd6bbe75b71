/**
 * In whose name fields are written.
 */
import * as Context from "effect/Context"

/**
 * The field manager of writes that name none. The worker provides its controller's, so that each controller owns its
 * own fields; outside of a controller it is `homeostat`.
 */
export class FieldManager extends Context.Reference<FieldManager>()("@homeostat/runtime/FieldManager", {
  defaultValue: () => "homeostat"
}) {}

/** In whose name a controller holds fields that it gives up, until their new owner has written them. */
export const handover = (fieldManager: string): string => `${fieldManager}-handover`
