/**
 * The controllers of this repository. Its scenarios and pages use them, even if a copy adds others to `controllers/main.ts`.
 */
import { backup, restore } from "@homeostat/backup"
import { controller as webapp } from "@homeostat/webapp"

/** The controllers, in the order of the program. */
export const controllers = [webapp, backup, restore]
