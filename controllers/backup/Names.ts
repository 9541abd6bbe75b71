/** The names by which Backups, their Jobs and people speak of each other: labels, annotations, finalizer. */

const domain = "backup.example.com"

/** On Jobs and the pods of movers: the UID of the Backup or Restore that they work for. */
export const ownerLabel = `${domain}/owner`
/** On Jobs and the pods of movers: which repository they work on (see Repository). */
export const repositoryLabel = `${domain}/repository`
/** On Jobs and the pods of movers: why they run (see Run). */
export const triggerLabel = `${domain}/trigger`

/** On Jobs: the tick of a scheduled run, RFC 3339. */
export const scheduledAtAnnotation = `${domain}/scheduled-at`
/** On Jobs: the token of the annotation that asked for them. */
export const tokenAnnotation = `${domain}/token`
/** On Jobs: the claims that they mount, separated by commas; for people. */
export const claimsAnnotation = `${domain}/claims`
/** On Jobs: which run they belong to; the same in all Jobs of a run. */
export const runIdAnnotation = `${domain}/run-id`
/** On Jobs: the uid of the last Job of the run before, as the status had it when this Job was made; empty if there was none. */
export const afterAnnotation = `${domain}/after`
/** On Jobs: the claims of the same run that are left to another Job, on another node. */
export const remainingAnnotation = `${domain}/remaining`

/** On a Backup: runs it now, once for each value. */
export const runAnnotation = `${domain}/run`
/** On a Backup: takes all locks of the repository away and runs it, once for each value. */
export const unlockAnnotation = `${domain}/unlock`
/** On a Backup that is being deleted: `"true"` lets it go without the clean-up. */
export const skipCleanupAnnotation = `${domain}/skip-cleanup`

/** Holds a Backup until its mover has stopped, and its snapshots are gone if that was asked for. */
export const finalizer = `${domain}/finalizer`

/** Of every mover: the pods that the controllers follow. */
export const moverLabels = {
  "app.kubernetes.io/name": "homeostat-mover",
  "app.kubernetes.io/managed-by": "homeostat"
} as const
