/** The admission plugins that limit the objects of a namespace. */
import type { Suite } from "../comparison/Dialogues.ts"
import { limitRanger } from "./LimitRanger.ts"
import { podSecurity } from "./PodSecurity.ts"
import { resourceQuota } from "./ResourceQuota.ts"

export const plugins: Suite = {
  name: "plugins",
  definitions: [],
  dialogues: [...podSecurity, ...limitRanger, ...resourceQuota]
}
