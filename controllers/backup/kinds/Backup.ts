/** The Backup kind: volumes to save to a restic repository, with a schedule and a retention. */
import * as Condition from "@homeostat/runtime/resource/Condition"
import * as CustomResource from "@homeostat/runtime/resource/CustomResource"
import * as Field from "@homeostat/runtime/resource/Field"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as MoverReport from "../mover/MoverReport.ts"
import * as Fields from "./Fields.ts"

const { flag, name, optional, text, time, whole } = Fields

/** A duration in whole numbers of y, w, d, h, m and s. */
const length = text(50).check(Schema.isPattern(/^([0-9]+(s|m|h|d|w|y))*[1-9][0-9]*(s|m|h|d|w|y)$/))

const interval = (description: string, fallback: string) =>
  length.pipe(Schema.withDecodingDefaultType(Effect.succeed(fallback))).annotate({ description })

const secretReference = (description: string) =>
  optional(Schema.Struct({ name: name("The name of the Secret.") }), description)

const keyReference = (description: string, fallback: string) =>
  optional(
    Schema.Struct({
      name: name("The name of the Secret."),
      key: text(253)
        .check(Schema.isPattern(/^[-._a-zA-Z0-9]+$/))
        .pipe(Schema.withDecodingDefaultType(Effect.succeed(fallback)))
        .annotate({ description: "The key in the Secret." })
    }),
    description
  )

const Repository = Schema.Struct({
  endpoint: optional(
    text(253).pipe(
      Field.rule({
        rule: "self.matches('^(https://)?[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?/?$')",
        message: "must be host, host:port or https://host:port, without user, password and path"
      })
    ),
    "For s3://, the server if it is not Amazon's: minio.example.com:9000. TLS is always used."
  ),
  region: optional(text(63).check(Schema.isPattern(/^[a-z0-9-]+$/)), "For s3://, the region, such as eu-central-1."),
  path: optional(
    text(253).pipe(
      Field.rule({
        rule: "self.matches('^[A-Za-z0-9_=+-][A-Za-z0-9._=+-]*(/[A-Za-z0-9_=+-][A-Za-z0-9._=+-]*)*$')",
        message:
          "must be folders of letters, digits and . _ = + -, separated by single slashes, none beginning with a dot"
      })
    ),
    "The path of the repository in the destination. Default: <namespace>/<name>, one repository for each Backup."
  ),
  credentialsSecretRef: secretReference(
    "The Secret whose keys are restic's environment variables: RESTIC_PASSWORD, AWS_ACCESS_KEY_ID, … Default: <name>-backup-credentials."
  ),
  caSecretRef: keyReference("The certificate authority of the server, if it is not a public one.", "ca.crt"),
  passwordSecretRef: keyReference(
    "The repository's password, if it is not RESTIC_PASSWORD of the credentials. The repository cannot be read without it.",
    "RESTIC_PASSWORD"
  )
})

const keep = (what: string) =>
  optional(
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 10_000 })),
    `How many of the latest ${what} with snapshots keep their last one.`
  )

const Retention = Schema.Struct({
  keepLast: optional(
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 10_000 })),
    "How many of the latest snapshots to keep. Default: 3, if a policy deletes snapshots."
  ),
  keepHourly: keep("hours"),
  keepDaily: keep("days"),
  keepWeekly: keep("weeks"),
  keepMonthly: keep("months"),
  keepYearly: keep("years")
})

const Spec = Schema.Struct({
  source: text(253)
    .check(Schema.isMinLength(1))
    .pipe(
      Field.rule({
        rule: "self.matches('^((pvc|deployment|statefulset)/)?[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",
        message:
          "must be the name of a PersistentVolumeClaim, Deployment or StatefulSet, optionally after pvc/, deployment/ or statefulset/"
      }),
      Field.immutable
    )
    .annotate({
      description:
        "The source: the name of a PersistentVolumeClaim, or else of a Deployment or StatefulSet, with all its volumes. pvc/x, deployment/x and statefulset/x name the kind."
    }),
  schedule: optional(
    text(100).pipe(
      Field.rule({
        rule: "self.matches('^(@(yearly|annually|monthly|weekly|daily|midnight|hourly)(-random)?|@every +[0-9].*|[^ @]+( +[^ ]+){4})$') && !self.contains('TZ=')",
        message:
          "must be five fields such as 0 2 * * *, or @daily, @daily-random or @every 6h, without a time zone; use timeZone"
      })
    ),
    "The schedule: minute, hour, day of month, month, day of week (0-6), or @hourly, @daily, @weekly, @monthly, @yearly, each also with -random, or @every 6h. Without a schedule, the Backup runs once."
  ),
  destination: optional(
    text(1024)
      .check(Schema.isMinLength(1))
      .pipe(
        Field.rule({
          rule: "!self.contains('@')",
          message: "must not contain a user or password; put them into the Secret of credentials"
        }),
        Field.rule({
          rule: "self.matches('^((s3|rest[+]https|gs|azure|b2|pvc)://[^/ ?#]+(/[^ ?#]*)?|[a-z0-9][a-z0-9.-]{1,61}[a-z0-9])$')",
          message:
            "must be s3://bucket/path, rest+https://host/path, gs://bucket/path, azure://container/path, b2://bucket/path, pvc://claim/path or the name of an S3 bucket"
        }),
        Field.immutable
      ),
    "Where the repository is: s3://bucket/path, rest+https://host/path, gs://bucket/path, azure://container/path, b2://bucket/path or pvc://claim/path. A bare name is an S3 bucket. Default: the manager's HOMEOSTAT_BACKUP_DESTINATION."
  ),
  retentionPolicy: optional(
    text(50).pipe(
      Field.rule({
        rule: "self == '' || self.matches('^([0-9]+(s|m|h|d|w|y))+$')",
        message: "must be numbers with s, m (minutes), h, d, w or y, such as 30d or 1y6w"
      }),
      Field.rule({
        rule: "self == '' || self.matches('[1-9]')",
        message: "must be longer than 0; remove it to keep every snapshot"
      })
    ),
    "How much older than the newest snapshot a snapshot may be, such as 30d, 12w or 1y (m: minutes). The maintenance deletes older ones after a successful run. Empty: keep all snapshots."
  ),
  timeZone: optional(
    text(64).pipe(
      Field.rule({
        rule: "self.matches('^[A-Za-z][A-Za-z0-9+_-]*(/[A-Za-z0-9+_-]+)*$') && self != 'Local'",
        message: "must be a name of the IANA time zone database, such as Europe/Berlin"
      })
    ),
    "The time zone of the schedule by its IANA name, such as Europe/Berlin. Default: UTC."
  ),
  suspend: flag("Skip scheduled runs. A run that an annotation requests still starts."),
  startPolicy: Schema.Literals(["Immediately", "OnSchedule"])
    .pipe(Schema.withDecodingDefaultType(Effect.succeed("Immediately" as const)))
    .annotate({ description: "Whether the first run is at creation, or at the first time of the schedule." }),
  startingDeadlineSeconds: optional(
    Schema.Int.check(Schema.isBetween({ minimum: 10, maximum: 315_360_000 })),
    "Skip a run that cannot start within this number of seconds after its scheduled time. Default: start it, however late."
  ),
  concurrencyPolicy: Schema.Literals(["Forbid", "Replace"])
    .pipe(Schema.withDecodingDefaultType(Effect.succeed("Forbid" as const)))
    .annotate({
      description:
        "The treatment of a run that is due while another run is active. Forbid: skip it. Replace: stop the active run."
    }),
  retention: optional(
    Retention,
    "How many snapshots to keep, in addition to those that retentionPolicy keeps. Without both, all snapshots are kept."
  ),
  repository: optional(Repository, "The place of the repository in the destination, and its credentials."),
  pruneInterval: interval("How often to free the space of deleted snapshots.", "7d"),
  checkInterval: interval("How often to check the repository for damage.", "30d"),
  deletionPolicy: Schema.Literals(["Retain", "Delete"])
    .pipe(Schema.withDecodingDefaultType(Effect.succeed("Retain" as const)))
    .annotate({ description: "Whether the snapshots stay when the Backup is deleted." }),
  deletionGracePeriod: optional(
    length,
    "How long to wait after the deletion of the Backup before deletionPolicy Delete deletes the snapshots, such as 7d. Default: no delay."
  ),
  successfulRunsHistoryLimit: whole("How many Jobs of successful runs to keep.", 3, 0, 100),
  failedRunsHistoryLimit: whole("How many Jobs of failed runs to keep.", 1, 0, 100),
  backoffLimit: whole("How often the Job retries the mover before the run fails.", 2, 0, 10),
  activeDeadlineSeconds: whole("The longest duration of a run, in seconds.", 86_400, 60, 31_536_000),
  excludes: optional(
    Schema.Array(text(512).check(Schema.isMinLength(1), Schema.isPattern(/^[^\n\r]+$/))).check(Schema.isMaxLength(100)),
    "Files to exclude, as restic patterns: *.tmp, cache/**."
  ),
  allowPartial: flag("Treat a run that cannot read some files as successful, with a warning."),
  allowEmpty: optional(Schema.Boolean, "Treat a run in which a volume has no files as successful. Default: false."),
  ...Fields.pod
}).pipe(
  Field.rule({
    rule: "(has(self.repository) && has(self.repository.path) ? self.repository.path : '') == (has(oldSelf.repository) && has(oldSelf.repository.path) ? oldSelf.repository.path : '')",
    message: "field is immutable, because the snapshots would stay in the old place; recreate the Backup",
    fieldPath: ".repository.path"
  }),
  Field.rule({
    rule: "!(has(self.repository) && (has(self.repository.endpoint) || has(self.repository.region))) || has(self.destination) && self.destination.startsWith('s3://') || has(self.destination) && !self.destination.contains('://')",
    message: "endpoint and region require spec.destination, with s3:// or the name of an S3 bucket",
    fieldPath: ".repository"
  }),
  Field.rule({
    rule: "has(self.destination) == has(oldSelf.destination)",
    message: "field is immutable, because the snapshots would stay in the old place; recreate the Backup",
    fieldPath: ".destination"
  })
)

/** A volume in a run. */
const Snapshot = Schema.Struct({
  pvc: Fields.word("The PersistentVolumeClaim."),
  id: optional(Schema.String.check(Schema.isMaxLength(64)), "The ID of the snapshot. Absent if the volume was empty."),
  bytes: Fields.amount("The size of all files, in bytes."),
  added: Fields.amount("How much the repository grew, in bytes."),
  files: Fields.amount("The number of files.")
})

/** The triggers of a run. */
export const triggers = ["start", "schedule", "manual", "unlock", "retry"] as const

/** The trigger of a run. */
export type Trigger = (typeof triggers)[number]

/** The status of an active or finished run. */
const run = {
  trigger: Schema.Literals(triggers).annotate({ description: "The trigger of the run." }),
  startTime: Field.Time.annotate({ description: "The start time." }),
  uid: optional(text(253), "The UID of that Job. A later Job may have the same name."),
  tag: optional(text(100), "restic's tag of the snapshots of the run."),
  recordedJob: optional(
    text(253),
    "The Job that uid and tag belong to. If it differs from job, an older manager has changed job alone."
  )
} as const

/** The status of an active or finished maintenance. */
const maintained = {
  startTime: Field.Time.annotate({ description: "The start time." }),
  uid: optional(text(253), "The UID of that Job.")
} as const

/** The schema of the status. Its maximum lengths matter: the API server rejects a status with a longer text. */
export const Status = Schema.Struct({
  observedGeneration: optional(
    Schema.Int.pipe(Field.format("int64")),
    "The metadata.generation of this status; -1 before the first reconcile."
  ),
  phase: optional(
    Schema.Literals(["Pending", "Running", "Completed", "Failed"]),
    "Pending: before the first run, or a prerequisite is missing. Running: a run is active. Completed or Failed: the result of the last run."
  ),
  message: optional(Schema.String.check(Schema.isMaxLength(2048)), "The latest event and, if needed, a fix."),
  lastBackupTime: time("The end of the last successful run."),
  lastBackupTag: optional(
    text(100),
    "restic's tag of the snapshots of the last successful run. No retention deletes these snapshots."
  ),
  lastScheduleTime: time("The scheduled time of the last run that was started or skipped."),
  lastMissedTime: time("The last scheduled time that was missed."),
  nextBackupTime: time("The next scheduled time."),
  active: optional(
    Schema.Struct({
      job: Fields.word("The current Job."),
      ...run,
      token: optional(
        Schema.String.check(Schema.isMaxLength(253)),
        "The value of the annotation that requested the run."
      ),
      snapshots: optional(
        Schema.Array(Snapshot).check(Schema.isMaxLength(1000)),
        "The volumes that earlier Jobs of the same run saved, on other nodes."
      ),
      partial: optional(Schema.String.check(Schema.isMaxLength(2048)), "Why earlier Jobs could not read some files."),
      emptied: optional(Schema.String.check(Schema.isMaxLength(2048)), "Which volumes of earlier Jobs are empty."),
      shrunk: optional(
        Schema.String.check(Schema.isMaxLength(2048)),
        "Which volumes of an earlier Job are much smaller."
      )
    }),
    "The active run."
  ),
  lastRun: optional(
    Schema.Struct({
      job: Fields.word("The last Job of the run."),
      ...run,
      completionTime: Field.Time.annotate({ description: "The end time." }),
      reason: Fields.word("The reason of the result."),
      message: optional(Schema.String.check(Schema.isMaxLength(2048)), "The result."),
      snapshots: optional(Schema.Array(Snapshot).check(Schema.isMaxLength(1000)), "The saved volumes.")
    }),
    "The last finished run."
  ),
  consecutiveFailures: optional(Schema.Natural, "How many runs failed since the last success."),
  snapshots: optional(Schema.Natural, "The number of snapshots after the last deletion of old snapshots."),
  repositoryID: optional(
    Schema.String.check(Schema.isMaxLength(64)),
    "restic's ID of the repository. If it is known and the repository is missing, the run fails, and the mover creates no new repository."
  ),
  repositoryHash: optional(
    Schema.String.check(Schema.isMaxLength(63)),
    "Identifies the repository. Backups with the same value run one at a time."
  ),
  sharedWith: optional(
    Schema.Array(text(600)).check(Schema.isMaxLength(100)),
    "Other Backups with the same repository: those of this namespace by name, the others by number."
  ),
  warnings: optional(
    Schema.Array(text(2048)).check(Schema.isMaxLength(20)),
    "Warnings about a retention that may be a mistake."
  ),
  effectiveSchedule: optional(
    Schema.String.check(Schema.isMaxLength(100)),
    "The schedule that a -random schedule resolved to."
  ),
  maintenance: optional(
    Schema.Struct({
      active: optional(Schema.Struct({ job: Fields.word("The Job."), ...maintained }), "The active maintenance."),
      last: optional(
        Schema.Struct({
          job: Fields.word("The Job."),
          ...maintained,
          completionTime: Field.Time.annotate({ description: "The end time." }),
          reason: Fields.word("The reason of the result."),
          message: optional(Schema.String.check(Schema.isMaxLength(2048)), "The result."),
          run: optional(text(253), "The UID of the run before it."),
          token: optional(text(253), "The value of the annotation backup.example.com/apply-retention at its start.")
        }),
        "The last finished maintenance."
      ),
      waiting: optional(text(2048), "Why the maintenance that is due has not started."),
      failures: optional(Schema.Natural, "How many maintenances failed since the last success.")
    }),
    "The maintenance of the repository: deletes old snapshots, frees their space and checks the repository, in its own Jobs."
  ),
  retentionHold: optional(
    Schema.Struct({
      reason: Schema.Literals(MoverReport.holds).annotate({ description: "The reason." }),
      since: Field.Time.annotate({ description: "The time of the decision." }),
      keep: optional(Schema.Natural, "How many snapshots the deletion would keep."),
      remove: optional(Schema.Natural, "How many snapshots the deletion would remove."),
      generation: optional(Schema.Natural.pipe(Field.format("int64")), "The metadata.generation of these numbers."),
      run: optional(text(253), "The UID of the run before the count.")
    }),
    "The deletion of old snapshots is held until you set the annotation backup.example.com/apply-retention."
  ),
  lastRetentionTime: time("The time of the last deletion of old snapshots."),
  lastRetentionRun: optional(text(253), "The UID of the run before the last deletion of old snapshots."),
  lastRetentionTrigger: optional(
    Schema.String.check(Schema.isMaxLength(253)),
    "The last applied value of the annotation backup.example.com/apply-retention."
  ),
  lastPruneTime: time("The time when space was last freed."),
  lastCheckTime: time("The time of the last check that found no damage."),
  lastManualTrigger: optional(
    Schema.String.check(Schema.isMaxLength(253)),
    "The value of the annotation backup.example.com/run of the last finished run."
  ),
  lastUnlockTrigger: optional(
    Schema.String.check(Schema.isMaxLength(253)),
    "The value of the annotation backup.example.com/unlock of the last finished run."
  ),
  conditions: optional(
    Condition.list,
    "Ready, LastRunSucceeded, VolumesIntact, RetentionApplied and RepositoryHealthy. Stalled if the spec is invalid."
  )
})

/** The kind and its CustomResourceDefinition. */
export const Backup = CustomResource.make({
  group: "backup.example.com",
  version: "v1",
  kind: "Backup",
  shortNames: ["bk"],
  description: "Saves volumes to a restic repository on a schedule.",
  spec: Spec.annotate({ description: "The desired state." }),
  status: Status.annotate({ description: "The observed state, which the controller writes." }),
  columns: [
    { name: "Source", path: ".spec.source", description: "The source" },
    { name: "Schedule", path: ".spec.schedule", description: "The schedule" },
    { name: "Destination", path: ".spec.destination", description: "The destination" },
    { name: "Last Backup", path: ".status.lastBackupTime", type: "date", description: "The last success" },
    { name: "Phase", path: ".status.phase", priority: 1, description: "The phase" },
    { name: "Suspend", path: ".spec.suspend", priority: 1 },
    { name: "Next", path: ".status.nextBackupTime", type: "string", priority: 1, description: "The next run" }
  ]
})

/** A Backup for `reconcile`, with defaults. */
export type Backup = typeof Backup.Type

/** The status of a Backup. */
export type BackupStatus = NonNullable<Backup["status"]>
