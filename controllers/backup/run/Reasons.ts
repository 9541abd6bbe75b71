/** The reasons of outcomes, and their messages: what happened, and what to do. Pure. */

/** Reasons of LastRunSucceeded, and of the outcome of a Restore. */
export type Reason =
  | "Succeeded"
  /** All volumes were saved, but old snapshots could not be deleted. */
  | "RetentionFailed"
  | "PartiallyFailed"
  /** A volume that had files has none, or nothing was saved at all. */
  | "VolumeEmpty"
  | "RepositoryMissing"
  | "RepositoryLocked"
  | "WrongPassword"
  | "DestinationUnreachable"
  | "DestinationFull"
  | "ResticFailed"
  /** restic found damage in the repository. */
  | "RepositoryDamaged"
  /** The destination holds another repository than before. */
  | "RepositoryExchanged"
  /** The repository has keys but no config. */
  | "RepositoryHalfMade"
  /** The image of the mover is of an older version, which would ignore parameters. */
  | "MoverTooOld"
  | "TargetNotEmpty"
  | "TargetFull"
  | "SnapshotNotFound"
  | "Terminated"
  | "OutOfMemory"
  | "PodEvicted"
  | "ImagePullFailed"
  | "DeadlineExceeded"
  | "StartTimeout"
  | "JobDeleted"
  | "Replaced"
  | "ResultLost"

/** The purpose of a run, for the advice in its messages. */
export type Purpose = "backup" | "maintenance" | "restore" | "delete"

/** The reasons of a mover's exit. */
export type Failing = Exclude<
  Reason,
  | "Succeeded"
  | "PodEvicted"
  | "ImagePullFailed"
  | "StartTimeout"
  | "DeadlineExceeded"
  | "JobDeleted"
  | "Replaced"
  | "ResultLost"
>

/** A sentence about the event. */
export const happened: { readonly [reason in Failing]: string } = {
  PartiallyFailed: "Some files could not be read. The other files were saved, and no old snapshot was deleted.",
  RepositoryMissing: "The repository was not found at the destination.",
  RepositoryLocked: "Another restic process holds a lock on the repository.",
  WrongPassword: "RESTIC_PASSWORD does not open the repository.",
  DestinationUnreachable: "The destination did not answer, or it refused the request.",
  DestinationFull: "The destination is full.",
  TargetNotEmpty: "The target volume is not empty. Nothing was written.",
  TargetFull: "The target volume is full.",
  SnapshotNotFound: "No snapshot of this Backup matches. Nothing was written.",
  RetentionFailed: "Old snapshots could not be deleted.",
  ResticFailed: "restic failed.",
  RepositoryDamaged: "restic found damage in the repository. No old snapshot was deleted.",
  VolumeEmpty: "A volume has no files.",
  RepositoryExchanged: "The destination holds another repository than before.",
  RepositoryHalfMade:
    "The repository has keys but no config. Its creation was interrupted, or its file config was lost.",
  MoverTooOld: "The mover is older than the manager.",
  Terminated: "The mover was terminated.",
  OutOfMemory: "The mover exceeded its memory limit."
}

/** The advice for a failed run, as a sentence without a full stop. */
export const advice: { readonly [reason in Failing]: string } = {
  PartiallyFailed:
    "Run the mover as a user who may read them (spec.podSecurityContext), exclude them (spec.excludes), or set spec.allowPartial",
  RepositoryMissing:
    "Restore the repository, or correct spec.destination. To start a new repository, delete and create the Backup",
  RepositoryLocked:
    "The run is retried in 30 minutes, when an abandoned lock counts as stale. If no restic uses the repository, remove the lock now with the annotation backup.example.com/unlock",
  WrongPassword:
    "Put the password of the repository into the Secret, then start a run with the annotation backup.example.com/run",
  DestinationUnreachable: "Check the address, the bucket and the credentials. The run is retried",
  DestinationFull:
    "Free space there, or keep less with spec.retentionPolicy. The manager still frees the space of deleted snapshots",
  TargetNotEmpty: "Restore into an empty volume, or set spec.mode in a new Restore",
  TargetFull: "Create a larger volume and a new Restore",
  SnapshotNotFound: "Choose a snapshot from status.lastRun of the Backup, and create a new Restore",
  RetentionFailed:
    "If the server is append-only, delete snapshots there and remove the retention from the spec. Otherwise give the credentials the permission to delete",
  ResticFailed: "The run is retried",
  RepositoryDamaged:
    "Repair the repository as restic's documentation describes (restic repair index, restic repair snapshots), then start a run with the annotation backup.example.com/run",
  VolumeEmpty: "Restore the volume, or set spec.allowEmpty if it may be empty",
  RepositoryExchanged:
    "Restore the known repository, or correct spec.destination. To use the new repository, delete and create the Backup",
  RepositoryHalfMade:
    "If the folders data and snapshots of the repository are empty, delete its folder keys. Otherwise restore its file config. Then start a run with the annotation backup.example.com/run",
  MoverTooOld:
    "Set spec.image, or HOMEOSTAT_BACKUP_MOVER_IMAGE of the manager, to the mover image of the manager's version",
  Terminated: "The run is retried",
  OutOfMemory: "Raise limits.memory in spec.resources"
}

/** Advice for runs without a next run. */
export const adviceElsewhere: {
  readonly [purpose in "restore" | "delete"]: { readonly [reason in Failing]?: string }
} = {
  restore: {
    PartiallyFailed: "The other files were restored. Check that the user of the mover may write to the volume",
    RepositoryMissing: "Restore the repository, or name another Backup in a new Restore",
    RepositoryLocked:
      "If no restic uses the repository, remove the lock with the annotation backup.example.com/unlock of the Backup. Then create a new Restore",
    WrongPassword: "Put the password of the repository into the Secret, and create a new Restore",
    DestinationUnreachable: "Check the address, the bucket and the credentials, and create a new Restore",
    DestinationFull: "Free space there, because restic writes its lock, and create a new Restore",
    ResticFailed: "Create a new Restore after you fix the cause",
    RepositoryDamaged:
      "Repair the repository as restic's documentation describes (restic repair index, restic repair snapshots), then create a new Restore",
    RepositoryExchanged: "Restore the known repository, or name another Backup in a new Restore",
    RepositoryHalfMade: "Restore the file config of the repository, then create a new Restore",
    MoverTooOld:
      "Set spec.image, or HOMEOSTAT_BACKUP_MOVER_IMAGE of the manager, to the mover image of the manager's version, and create a new Restore",
    OutOfMemory: "Create a new Restore with a larger limits.memory in spec.resources",
    Terminated: "Create a new Restore, with spec.mode Overlay if the volume has some of the files"
  },
  delete: {
    RepositoryMissing: "No snapshot is left to delete",
    RepositoryExchanged: "Restore the known repository, or keep the snapshots of the other one",
    RepositoryLocked: "The deletion is retried in 30 minutes, when an abandoned lock counts as stale",
    WrongPassword: "Put the password of the repository into the Secret",
    DestinationUnreachable: "Check the address, the bucket and the credentials",
    DestinationFull: "Free space there",
    ResticFailed: "Some or all snapshots still exist",
    RetentionFailed: "If the server is append-only, delete the snapshots there",
    Terminated: "Some or all snapshots still exist"
  }
}
