/** The names that Backups, their Jobs and users share: labels, annotations, finalizer. */

const domain = "backup.example.com"

/** On Jobs and mover pods: the UID of their Backup or Restore. */
export const ownerLabel = `${domain}/owner`
/** On Jobs and mover pods: their repository (see Repository). */
export const repositoryLabel = `${domain}/repository`
/** On Jobs and mover pods: their trigger (see Run). */
export const triggerLabel = `${domain}/trigger`
/** How a mover uses its repository: see `MoverJob.Use`. */
export const useLabel = `${domain}/use`

/** On Jobs: the tick of a scheduled run, RFC 3339. */
export const scheduledAtAnnotation = `${domain}/scheduled-at`
/** On Jobs: the token of the annotation that requested them. */
export const tokenAnnotation = `${domain}/token`
/** On Jobs: their claims, separated by commas, for people. */
export const claimsAnnotation = `${domain}/claims`
/** On Jobs: the ID of their run, the same in all its Jobs. */
export const runIdAnnotation = `${domain}/run-id`
/** On Jobs: restic's tag of the snapshots of their run. */
export const tagAnnotation = `${domain}/tag`
/** On Jobs: the UID of the last Job of the previous run in the status at their creation; empty without one. */
export const afterAnnotation = `${domain}/after`
/** On Jobs of the maintenance: the UID of the previous one in the status at their creation; empty without one. */
export const previousAnnotation = `${domain}/previous`
/** On Jobs: the claims of the same run that another Job on another node saves. */
export const remainingAnnotation = `${domain}/remaining`

/** On a Backup: starts a run, once per value. */
export const runAnnotation = `${domain}/run`
/** On a Backup: removes all locks of the repository and starts a run, once per value. */
export const unlockAnnotation = `${domain}/unlock`
/** On a Backup: allows the deletion of old snapshots that is held, once per value. */
export const retentionAnnotation = `${domain}/apply-retention`
/** On a Backup that is being deleted: `"true"` skips the clean-up. */
export const skipCleanupAnnotation = `${domain}/skip-cleanup`

/** On a Restore: the user that created it. The webhook sets it. */
export const requestedByAnnotation = `${domain}/requested-by`

/** On a namespace: `"true"` allows privileged movers. Only its administrators may set it. */
export const privilegedAnnotation = `${domain}/privileged-movers`

/** On a namespace: the namespaces whose Restores may read its Backups, separated by commas; `*` for all. */
export const restoreAnnotation = `${domain}/restore-to-namespaces`

/** Keeps a Backup until its mover has stopped and, if requested, its snapshots are deleted. */
export const finalizer = `${domain}/finalizer`

/** On Jobs and mover pods: see {@link moverLabels} and {@link jobName}. */
export const nameLabel = "app.kubernetes.io/name"

/** The labels of every mover pod, which the controllers watch. */
export const moverLabels = {
  [nameLabel]: "homeostat-mover",
  "app.kubernetes.io/managed-by": "homeostat"
} as const

/** The trigger of a maintenance. */
export const maintenanceTrigger = "maintenance"

/**
 * The {@link nameLabel} of the Job of a maintenance. A manager of 0.1.0 takes each Job of a Backup with {@link moverLabels} for a run. It does
 * not see this one. It still sees its pod, which has the labels of every mover, and waits for it.
 */
export const maintenanceName = "homeostat-maintenance"

/** The {@link nameLabel} of a Job. 0.1.0 knows the triggers of runs, of Restores and of the clean-up. */
export const jobName = (trigger: string): string =>
  trigger === maintenanceTrigger ? maintenanceName : moverLabels[nameLabel]
