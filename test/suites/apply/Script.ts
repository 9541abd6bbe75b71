/**
 * Scripts of writes by several managers. Each is one object's life.
 */
import type { DraftObject, JsonObject } from "@homeostat/testkit/server/Json"
import type { Step, Subject } from "./Judge.ts"

/** A script. */
export interface Script {
  readonly name: string
  readonly subject: Subject
  readonly steps: ReadonlyArray<Step>
}

/** POST. */
export const create = (by: string, body: JsonObject): Step => ({ by, write: { create: body } })
/** PUT of the live object, changed. */
export const put = (by: string, change: (live: DraftObject) => void): Step => ({ by, write: { put: change } })
/** A merge patch. */
export const merge = (by: string, patch: JsonObject): Step => ({ by, write: { merge: patch } })
/** Server-side apply. */
export const apply = (by: string, intent: JsonObject): Step => ({ by, write: { apply: intent } })
/** Server-side apply that takes what others own. */
export const force = (by: string, intent: JsonObject): Step => ({ by, write: { apply: intent, force: true } })
/** The same on a subresource. */
export const on = (subresource: "status" | "scale", step: Step): Step => ({ ...step, subresource })
/** The same in another version. */
export const as = (subject: Subject, step: Step): Step => ({ ...step, as: subject })

/** A body that only has a spec. */
export const spec = (fields: JsonObject): JsonObject => ({ spec: fields })
/** A body that only has a status. */
export const status = (fields: JsonObject): JsonObject => ({ status: fields })
