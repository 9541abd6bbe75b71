/** The limits of objects: the admission plugins of a namespace, and the size. */
import type { Suite } from "../comparison/Dialogues.ts"
import { classes } from "./Classes.ts"
import { limitRanger } from "./LimitRanger.ts"
import { podSecurity } from "./PodSecurity.ts"
import { resourceQuota } from "./ResourceQuota.ts"
import { size } from "./Size.ts"

export const plugins: Suite = {
  name: "plugins",
  definitions: [],
  dialogues: [...podSecurity, ...limitRanger, ...resourceQuota, ...classes, ...size]
}
