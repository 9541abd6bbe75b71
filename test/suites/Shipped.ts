/**
 * The controllers of this repository: what its own stories and pages are about, whatever else `controllers/main.ts` has been
 * given by who works in a copy of it.
 */
import { backup, restore } from "@homeostat/backup"
import { controller as webapp } from "@homeostat/webapp"

/** In the order in which the program has them. */
export const controllers = [webapp, backup, restore]
