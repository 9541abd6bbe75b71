/** The Backup kind: volumes to save to a restic repository, with a schedule and a retention. */
import * as Condition from "@homeostat/runtime/resource/Condition"
import * as CustomResource from "@homeostat/runtime/resource/CustomResource"
import * as Field from "@homeostat/runtime/resource/Field"
import * as Schema from "effect/Schema"
import * as MoverReport from "../mover/MoverReport.ts"
import * as Fields from "./Fields.ts"

const { flag, name, optional, text, time, whole } = Fields

/** A duration in whole numbers of y, w, d, h, m and s. */
const length = text(50).pipe(Schema.pattern(/^([0-9]+(s|m|h|d|w|y))*[1-9][0-9]*(s|m|h|d|w|y)$/))

const interval = (description: string, fallback: string) =>
  Schema.optionalWith(length, { default: () => fallback }).annotations({ description })

const secretReference = (description: string) =>
  optional(Schema.Struct({ name: name("The name of the Secret.") }), description)

const keyReference = (description: string, fallback: string) =>
  optional(
    Schema.Struct({
      name: name("The name of the Secret."),
      key: Schema.optionalWith(text(253).pipe(Schema.pattern(/^[-._a-zA-Z0-9]+$/)), {
        default: () => fallback
      }).annotations({ description: "The key in the Secret." })
    }),
    description
  )

const Repository = Schema.Struct({
  endpoint: optional(
    text(253).pipe(
      Field.rule({
        rule: "self.matches('^(https://)?[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?/?$')",
        message: "write the server as host, host:port or https://host:port, without user, password and path"
      })
    ),
    "For s3://, the server if it is not Amazon's: minio.example.com:9000. TLS is always used."
  ),
  region: optional(text(63).pipe(Schema.pattern(/^[a-z0-9-]+$/)), "For s3://, the region, such as eu-central-1."),
  path: optional(
    text(253).pipe(
      Field.rule({
        rule: "self.matches('^[A-Za-z0-9_=+-][A-Za-z0-9._=+-]*(/[A-Za-z0-9_=+-][A-Za-z0-9._=+-]*)*$')",
        message:
          "write folders of letters, digits and . _ = + -, separated by single slashes, none beginning with a dot"
      })
    ),
    "Where in the destination the repository is. Default: <namespace>/<name>, so that each Backup has one of its own."
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
    Schema.Int.pipe(Schema.between(0, 10_000)),
    `Of so many of the latest ${what} with a snapshot, the last one is kept.`
  )

const Retention = Schema.Struct({
  keepLast: optional(
    Schema.Int.pipe(Schema.between(0, 10_000)),
    "So many of the latest snapshots are kept. Default: 3, if anything is deleted at all."
  ),
  keepHourly: keep("hours"),
  keepDaily: keep("days"),
  keepWeekly: keep("weeks"),
  keepMonthly: keep("months"),
  keepYearly: keep("years")
})

const Spec = Schema.Struct({
  source: text(253)
    .pipe(
      Schema.minLength(1),
      Field.rule({
        rule: "self.matches('^((pvc|deployment|statefulset)/)?[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",
        message:
          "write the name of a PersistentVolumeClaim, Deployment or StatefulSet, or pvc/, deployment/ or statefulset/ and the name"
      }),
      Field.immutable
    )
    .annotations({
      description:
        "What is saved: a PersistentVolumeClaim by its name, else all volumes of the Deployment or StatefulSet of that name. pvc/x, deployment/x and statefulset/x say which is meant."
    }),
  schedule: optional(
    text(100).pipe(
      Field.rule({
        rule: "self.matches('^(@(yearly|annually|monthly|weekly|daily|midnight|hourly)(-random)?|@every +[0-9].*|[^ @]+( +[^ ]+){4})$') && !self.contains('TZ=')",
        message:
          "write five fields such as 0 2 * * *, or @daily, @daily-random, @every 6h …; the time zone goes to timeZone"
      })
    ),
    "When it runs: minute, hour, day of month, month, day of week (0-6), or @hourly, @daily, @weekly, @monthly, @yearly, each also with -random, or @every 6h. Without it, it runs once."
  ),
  destination: optional(
    text(1024).pipe(
      Schema.minLength(1),
      Field.rule({
        rule: "!self.contains('@')",
        message: "take user and password out, and put them into the Secret of credentials"
      }),
      Field.rule({
        rule: "self.matches('^((s3|rest[+]https|gs|azure|b2|pvc)://[^/ ?#]+(/[^ ?#]*)?|[a-z0-9][a-z0-9.-]{1,61}[a-z0-9])$')",
        message:
          "write s3://bucket/path, rest+https://host/path, gs://bucket/path, azure://container/path, b2://bucket/path, pvc://claim/path or the name of an S3 bucket"
      }),
      Field.immutable
    ),
    "Where the repository is: s3://bucket/path, rest+https://host/path, gs://bucket/path, azure://container/path, b2://bucket/path or pvc://claim/path. A bare name is an S3 bucket. Default: the manager's HOMEOSTAT_BACKUP_DESTINATION."
  ),
  retentionPolicy: optional(
    text(50).pipe(
      Field.rule({
        rule: "self == '' || self.matches('^([0-9]+(s|m|h|d|w|y))+$')",
        message: "write numbers with s, m (minutes), h, d, w or y, such as 30d or 1y6w"
      }),
      Field.rule({
        rule: "self == '' || self.matches('[1-9]')",
        message: "would keep nothing: name a time such as 30d, or leave it out to keep everything"
      })
    ),
    "Snapshots that are so much older than the newest are deleted after a successful run: 30d, 12w, 1y. m are minutes. Empty: everything is kept."
  ),
  timeZone: optional(
    text(64).pipe(
      Field.rule({
        rule: "self.matches('^[A-Za-z][A-Za-z0-9+_-]*(/[A-Za-z0-9+_-]+)*$') && self != 'Local'",
        message: "write a name of the IANA time zone database, such as Europe/Berlin"
      })
    ),
    "The time zone of the schedule by its IANA name, such as Europe/Berlin. Default: UTC."
  ),
  suspend: flag("Scheduled runs are left out. One that was asked for by annotation is not."),
  startPolicy: Schema.optionalWith(Schema.Literal("Immediately", "OnSchedule"), {
    default: () => "Immediately" as const
  }).annotations({ description: "Whether the first run is at creation, or at the first time of the schedule." }),
  startingDeadlineSeconds: optional(
    Schema.Int.pipe(Schema.between(10, 315_360_000)),
    "A run that could not begin within so many seconds of its time is left out. Default: it is made up for, however late."
  ),
  concurrencyPolicy: Schema.optionalWith(Schema.Literal("Forbid", "Replace"), {
    default: () => "Forbid" as const
  }).annotations({
    description: "What becomes of a run that is due while the one before goes on: it is left out, or takes its place."
  }),
  retention: optional(
    Retention,
    "Snapshots to keep by number, besides those that retentionPolicy keeps. With neither, everything is kept."
  ),
  repository: optional(Repository, "Where the repository is in the destination, and how it is opened."),
  pruneInterval: interval("How often the space of deleted snapshots is given back.", "7d"),
  checkInterval: interval("How often the repository is checked for damage.", "30d"),
  deletionPolicy: Schema.optionalWith(Schema.Literal("Retain", "Delete"), {
    default: () => "Retain" as const
  }).annotations({ description: "What becomes of the snapshots when the Backup is deleted." }),
  deletionGracePeriod: optional(
    length,
    "How long a deleted Backup stays before deletionPolicy Delete deletes its snapshots, such as 7d. Default: not at all."
  ),
  successfulRunsHistoryLimit: whole("How many Jobs of successful runs are kept.", 3, 0, 100),
  failedRunsHistoryLimit: whole("How many Jobs of failed runs are kept.", 1, 0, 100),
  backoffLimit: whole("How often a failed run is tried again before it counts as failed.", 2, 0, 10),
  activeDeadlineSeconds: whole("After so many seconds a run is ended.", 86_400, 60, 31_536_000),
  excludes: optional(
    Schema.Array(text(512).pipe(Schema.minLength(1), Schema.pattern(/^[^\n\r]+$/))).pipe(Schema.maxItems(100)),
    "Files that are not saved, as patterns of restic: *.tmp, cache/**."
  ),
  allowPartial: flag("A run that could not read some files counts as successful, with a warning."),
  allowEmpty: optional(Schema.Boolean, "A run in which a volume has no files counts as successful. Default: false."),
  ...Fields.pod
}).pipe(
  Field.rule({
    rule: "(has(self.repository) && has(self.repository.path) ? self.repository.path : '') == (has(oldSelf.repository) && has(oldSelf.repository.path) ? oldSelf.repository.path : '')",
    message: "is immutable, since its snapshots would be left behind: delete and create the Backup",
    fieldPath: ".repository.path"
  }),
  Field.rule({
    rule: "!(has(self.repository) && (has(self.repository.endpoint) || has(self.repository.region))) || self.destination.startsWith('s3://') || !self.destination.contains('://')",
    message: "repository.endpoint and repository.region are for s3:// only",
    fieldPath: ".repository"
  })
)

/** A volume in a run. */
const Snapshot = Schema.Struct({
  pvc: Fields.word("The PersistentVolumeClaim."),
  id: optional(Schema.String.pipe(Schema.maxLength(64)), "The snapshot; absent if the volume was empty."),
  bytes: Fields.amount("Size of all files."),
  added: Fields.amount("What the repository grew by."),
  files: Fields.amount("Number of files.")
})

/** The triggers of a run. */
export const triggers = ["start", "schedule", "manual", "unlock", "retry"] as const

/** The trigger of a run. */
export type Trigger = (typeof triggers)[number]

/** The status of an active or finished run. */
const run = {
  trigger: Schema.Literal(...triggers).annotations({ description: "Why it began." }),
  startTime: Field.Time.annotations({ description: "When it began." }),
  uid: optional(text(253), "The uid of that Job: a later Job may have the same name."),
  tag: optional(text(100), "restic's tag of its snapshots.")
} as const

/** The status of an active or finished maintenance. */
const maintained = {
  startTime: Field.Time.annotations({ description: "When it began." }),
  uid: optional(text(253), "The uid of that Job.")
} as const

/** The schema of the status. Its maximum lengths matter: the API server rejects a status with a longer text. */
export const Status = Schema.Struct({
  observedGeneration: optional(
    Schema.NonNegativeInt.pipe(Field.format("int64")),
    "The metadata.generation that this status speaks of."
  ),
  phase: optional(
    Schema.Literal("Pending", "Running", "Completed", "Failed"),
    "Pending before the first run or while something is missing, Running, and how the last run ended."
  ),
  message: optional(Schema.String.pipe(Schema.maxLength(2048)), "What happened last, and what to do about it."),
  lastBackupTime: time("When the last successful run ended."),
  lastBackupTag: optional(
    text(100),
    "restic's tag of the snapshots of the last successful run: no deletion removes them."
  ),
  lastScheduleTime: time("The time of the last scheduled run that was begun or left out."),
  lastMissedTime: time("The last time of the schedule that was missed for good."),
  nextBackupTime: time("The next time of the schedule."),
  active: optional(
    Schema.Struct({
      job: Fields.word("Its present Job."),
      ...run,
      token: optional(Schema.String.pipe(Schema.maxLength(253)), "The value of the annotation that asked for it."),
      snapshots: optional(
        Schema.Array(Snapshot).pipe(Schema.maxItems(1000)),
        "What Jobs of the same run have saved before, on other nodes."
      ),
      partial: optional(Schema.String.pipe(Schema.maxLength(2048)), "Why they could not read some of the files."),
      emptied: optional(Schema.String.pipe(Schema.maxLength(2048)), "Which of their volumes are empty.")
    }),
    "The run that goes on."
  ),
  lastRun: optional(
    Schema.Struct({
      job: Fields.word("Its last Job."),
      ...run,
      completionTime: Field.Time.annotations({ description: "When it ended." }),
      reason: Fields.word("How it ended, in a word."),
      message: optional(Schema.String.pipe(Schema.maxLength(2048)), "How it ended."),
      snapshots: optional(Schema.Array(Snapshot).pipe(Schema.maxItems(1000)), "What it saved.")
    }),
    "The run that ended last."
  ),
  consecutiveFailures: optional(Schema.NonNegativeInt, "How many runs failed since the last success."),
  snapshots: optional(
    Schema.NonNegativeInt,
    "How many snapshots there are, as counted by the last run that deleted old ones."
  ),
  repositoryID: optional(
    Schema.String.pipe(Schema.maxLength(64)),
    "restic's id of the repository. Once it is known, a missing repository is a failure, and the mover does not create it again."
  ),
  repositoryHash: optional(
    Schema.String.pipe(Schema.maxLength(63)),
    "Identifies the repository. Of the Backups with the same value, one runs at a time."
  ),
  sharedWith: optional(
    Schema.Array(text(600)).pipe(Schema.maxItems(100)),
    "Other Backups with the same repository: those of this namespace by name, the others by number."
  ),
  warnings: optional(
    Schema.Array(text(2048)).pipe(Schema.maxItems(20)),
    "Parts of the retention that may be mistakes."
  ),
  effectiveSchedule: optional(Schema.String.pipe(Schema.maxLength(100)), "What a -random schedule came to."),
  maintenance: optional(
    Schema.Struct({
      active: optional(Schema.Struct({ job: Fields.word("Its Job."), ...maintained }), "The maintenance that runs."),
      last: optional(
        Schema.Struct({
          job: Fields.word("Its Job."),
          ...maintained,
          completionTime: Field.Time.annotations({ description: "When it ended." }),
          reason: Fields.word("How it ended, in a word."),
          message: optional(Schema.String.pipe(Schema.maxLength(2048)), "How it ended."),
          run: optional(text(253), "The uid of the run before it.")
        }),
        "The maintenance that ended last."
      ),
      failures: optional(Schema.NonNegativeInt, "How many failed since the last success.")
    }),
    "The deletion of old snapshots, the freeing of their space, and the checks, in Jobs of their own."
  ),
  retentionHold: optional(
    Schema.Struct({
      reason: Schema.Literal(...MoverReport.holds).annotations({ description: "Why, in a word." }),
      since: Field.Time.annotations({ description: "Since when." }),
      keep: optional(Schema.NonNegativeInt, "How many snapshots would stay."),
      remove: optional(Schema.NonNegativeInt, "How many snapshots would be deleted."),
      generation: optional(
        Schema.NonNegativeInt.pipe(Field.format("int64")),
        "The metadata.generation for which they were counted."
      ),
      run: optional(text(253), "The uid of the run after which they were counted.")
    }),
    "The deletion of old snapshots waits for the annotation backup.example.com/apply-retention."
  ),
  lastRetentionTime: time("When old snapshots were last deleted."),
  lastRetentionRun: optional(text(253), "The uid of the run after which old snapshots were last deleted."),
  lastRetentionTrigger: optional(
    Schema.String.pipe(Schema.maxLength(253)),
    "The value of the annotation backup.example.com/apply-retention that was last applied."
  ),
  lastPruneTime: time("When space was last given back."),
  lastCheckTime: time("When the repository was last found whole."),
  lastManualTrigger: optional(
    Schema.String.pipe(Schema.maxLength(253)),
    "The value of the annotation backup.example.com/run whose run has ended."
  ),
  lastUnlockTrigger: optional(
    Schema.String.pipe(Schema.maxLength(253)),
    "The value of the annotation backup.example.com/unlock whose run has ended."
  ),
  conditions: optional(
    Condition.list,
    "Ready, LastRunSucceeded, VolumesIntact, RetentionApplied and RepositoryHealthy; Stalled while it holds."
  )
})

/** The kind and its CustomResourceDefinition. */
export const Backup = CustomResource.make({
  group: "backup.example.com",
  version: "v1",
  kind: "Backup",
  shortNames: ["bk"],
  description: "Volumes that are saved to a restic repository, on a schedule, and for how long.",
  spec: Spec,
  status: Status,
  columns: [
    { name: "Source", path: ".spec.source", description: "What is saved" },
    { name: "Schedule", path: ".spec.schedule", description: "When" },
    { name: "Destination", path: ".spec.destination", description: "Where to" },
    { name: "Phase", path: ".status.phase", description: "How it stands" },
    { name: "Last Backup", path: ".status.lastBackupTime", type: "date", description: "The last success" },
    { name: "Suspend", path: ".spec.suspend", priority: 1 },
    { name: "Next", path: ".status.nextBackupTime", type: "string", priority: 1, description: "The next run" }
  ]
})

/** A Backup for `reconcile`, with defaults. */
export type Backup = typeof Backup.Type

/** The status of a Backup. */
export type BackupStatus = NonNullable<Backup["status"]>
