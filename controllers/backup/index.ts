/** The controllers of Backups and Restores, and the settings that they share. */
export { controller as backup } from "./BackupController.ts"
export { controller as restore } from "./RestoreController.ts"
export * as Settings from "./Settings.ts"
