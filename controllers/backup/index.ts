/** The controllers of Backups and Restores, their admission rules and common settings, and the verb of their mover. */

export { admission } from "./admission.ts"
export { controller as backup } from "./BackupController.ts"
export { verb as mover } from "./mover/Verb.ts"
export { controller as restore } from "./RestoreController.ts"
export * as Settings from "./Settings.ts"
