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
  /** Another repository is in the place of the known one. */
  | "RepositoryExchanged"
  /** The repository has keys but no config. */
  | "RepositoryHalfMade"
  | "TargetNotEmpty"
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

/** What happened, as a sentence. */
export const happened: { readonly [reason in Failing]: string } = {
  PartiallyFailed: "Some files could not be read; the others were saved, and no old snapshot was deleted.",
  RepositoryMissing: "The repository at the destination is missing.",
  RepositoryLocked: "Another restic has locked the repository.",
  WrongPassword: "RESTIC_PASSWORD does not open the repository.",
  DestinationUnreachable: "The destination did not answer as it should.",
  DestinationFull: "The destination is full.",
  TargetNotEmpty: "The volume to restore into is not empty, and nothing was written.",
  SnapshotNotFound: "What is to be restored is not among the snapshots of this Backup, and nothing was written.",
  RetentionFailed: "Old snapshots could not be deleted.",
  ResticFailed: "restic failed.",
  RepositoryDamaged: "restic found damage in the repository, and no old snapshot was deleted.",
  VolumeEmpty: "A volume has no files.",
  RepositoryExchanged: "Another repository is in the place of the known one.",
  RepositoryHalfMade:
    "The repository has keys but no config: its creation was interrupted, or its file config is lost.",
  Terminated: "The mover was ended from outside.",
  OutOfMemory: "The mover needed more memory than it may have."
}

/** What to do about a failed run, as a sentence without a full stop. */
export const advice: { readonly [reason in Failing]: string } = {
  PartiallyFailed:
    "Let spec.podSecurityContext run as a user who may read them, exclude them with spec.excludes, or set spec.allowPartial",
  RepositoryMissing:
    "A new repository would hide the loss: bring the old one back, or correct spec.destination; to start a new one, delete and create the Backup",
  RepositoryLocked:
    "It is tried again in 30 minutes, when a lock that was left behind counts as stale; if no restic uses the repository, annotate the Backup with backup.example.com/unlock to remove it now",
  WrongPassword:
    "Put the password with which the repository was made into the Secret, then run it with the annotation backup.example.com/run",
  DestinationUnreachable: "Check the address, the bucket and the credentials; the run is retried",
  DestinationFull: "Make room there, or keep less with spec.retentionPolicy; pruning goes on at its own time",
  TargetNotEmpty: "Restore into an empty volume, or set spec.mode in a new Restore",
  SnapshotNotFound: "Look at status.lastRun of the Backup for what there is, and create a new Restore",
  RetentionFailed:
    "If the server is append-only, delete there and remove retention from the spec; otherwise give the credentials permission to delete",
  ResticFailed: "The run is retried",
  RepositoryDamaged:
    "Repair the repository as restic's documentation describes (restic repair index, restic repair snapshots), then start a run with the annotation backup.example.com/run",
  VolumeEmpty: "Restore the volume, or set spec.allowEmpty if it is meant to be empty",
  RepositoryExchanged:
    "Bring the known repository back, or correct spec.destination; to use the new one, delete and create the Backup",
  RepositoryHalfMade:
    "If the folders data and snapshots of the repository are empty, delete its folder keys; otherwise bring its file config back. Then start a run with the annotation backup.example.com/run",
  Terminated: "The run is retried",
  OutOfMemory: "Raise limits.memory in spec.resources"
}

/** Advice for runs without a next run. */
export const adviceElsewhere: {
  readonly [purpose in "restore" | "delete"]: { readonly [reason in Failing]?: string }
} = {
  restore: {
    PartiallyFailed: "What could be restored is there; look whether the user of the mover may write to the volume",
    RepositoryMissing: "Bring it back, or name another Backup in a new Restore",
    RepositoryLocked:
      "Annotate the Backup with backup.example.com/unlock if no restic uses the repository, and create a new Restore",
    WrongPassword: "Put the password with which the repository was made into the Secret, and create a new Restore",
    DestinationUnreachable: "Check the address, the bucket and the credentials, and create a new Restore",
    DestinationFull: "The volume to restore into is too small: create a larger one, and a new Restore",
    ResticFailed: "Create a new Restore after you fix the cause",
    Terminated: "Create a new Restore, with spec.mode Overlay if the volume has a part of the files"
  },
  delete: {
    RepositoryMissing: "There is nothing left to delete",
    RepositoryLocked: "It is tried again in 30 minutes, when a lock that was left behind counts as stale",
    WrongPassword: "Put the password with which the repository was made into the Secret",
    DestinationUnreachable: "Check the address, the bucket and the credentials",
    DestinationFull: "Make room there",
    ResticFailed: "The snapshots are still there, some or all",
    RetentionFailed: "If the server is append-only, delete there",
    Terminated: "The snapshots are still there, some or all"
  }
}
