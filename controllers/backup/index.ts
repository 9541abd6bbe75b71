/** The controllers of Backups and Restores, their common settings, and the verb of their mover. */

export { controller as backup } from "./BackupController.ts"
export { verb as mover } from "./mover/Verb.ts"
export { controller as restore } from "./RestoreController.ts"
export * as Settings from "./Settings.ts"
