/** The controllers of Backups and Restores, and their common settings. */
export { controller as backup } from "./BackupController.ts"
export { controller as restore } from "./RestoreController.ts"
export * as Settings from "./Settings.ts"
