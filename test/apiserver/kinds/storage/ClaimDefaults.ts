/** What is filled in where a PersistentVolumeClaim leaves something open. */
import type { DraftObject } from "../../model/Json.ts"
import * as Json from "../../model/Json.ts"
import { fill, part } from "../Definition.ts"
import { roundUp } from "../pods/PodDefaults.ts"

/** A claim, or the template of one. */
export const fillIn = (draft: DraftObject): void => {
  const spec = Json.member(draft, "spec")
  fill(spec, "volumeMode", "Filesystem")
  for (const name of ["limits", "requests"]) roundUp(part(part(spec, "resources"), name))
  fill(Json.member(draft, "status"), "phase", "Pending")
}
