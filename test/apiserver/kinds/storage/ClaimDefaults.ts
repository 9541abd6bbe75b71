/** The defaults of PersistentVolumeClaims. */
import type { DraftObject } from "../../model/Json.ts"
import * as Json from "../../model/Json.ts"
import { fill, part } from "../Definition.ts"
import { roundUp } from "../pods/PodDefaults.ts"

/** Sets the defaults of a claim or of a claim template. */
export const fillIn = (draft: DraftObject): void => {
  const spec = Json.member(draft, "spec")
  fill(spec, "volumeMode", "Filesystem")
  for (const name of ["limits", "requests"]) roundUp(part(part(spec, "resources"), name))
  fill(Json.member(draft, "status"), "phase", "Pending")
}
