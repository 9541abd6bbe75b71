/** Specs of Backups and Restores: some valid, and some that the API server rejects, with the field and the advice of each error. */

import type { Json, JsonObject } from "@homeostat/apiserver/model/Json"

/** A change of a valid spec. */
export type Change = JsonObject

/** A spec that the API server rejects. */
export interface Bad {
  /** The only field that the API server reports. */
  readonly field: string
  /** A part of the API server's message. */
  readonly message: string
  readonly spec: Change
}

/** The shortest valid spec of a Backup. */
export const backup = { source: "app", destination: "s3://bucket" }

/** The shortest valid spec of a Restore. */
export const restore = { backupRef: "shop", targetPVC: "fresh" }

const values = (field: string, ...all: ReadonlyArray<Json>): ReadonlyArray<Change> =>
  all.map((value) => ({ ...backup, [field]: value }))

/** Backups that the API server stores. The controller checks whether a schedule ever fires and whether a bucket's name is valid. */
export const goodBackups: ReadonlyArray<Change> = [
  backup,
  ...values("retentionPolicy", "4w", "1y6w", "90m", "", "30d", "1d1y", "0d12h", "3600s"),
  ...values(
    "schedule",
    "0 2 * * *",
    "*/15 0-6,22 1,15 JAN-MAR MON",
    "0 2 ? * *",
    "0  2 * *   *",
    ...["yearly", "annually", "monthly", "weekly", "daily", "midnight", "hourly"].flatMap((name) => [
      `@${name}`,
      `@${name}-random`
    ]),
    "@every 6h",
    "@every 1h30m",
    // These have the shape of a schedule but are wrong: the condition Ready reports them.
    "61 * * * *",
    "0 0 * * 7",
    "@every 5x"
  ),
  ...values(
    "destination",
    "s3://bucket",
    "s3://bucket/",
    "s3://bucket/a/b",
    "rest+https://backup.example.com:8000/a",
    "rest+https://[2001:db8::1]:8000/",
    "gs://bucket/a",
    "azure://container",
    "b2://my-bucket/a",
    "pvc://claim",
    "pvc://claim/a/b",
    "my-backup-bucket",
    "my.bucket"
  ),
  ...values("source", "my-application-pvc", "a", "my.app", "pvc/app", "deployment/my.app", "statefulset/db", "1app"),
  ...values("startingDeadlineSeconds", 10, 315_360_000),
  ...values("timeZone", "UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "Etc/GMT+1", "GMT0"),
  ...values("concurrencyPolicy", "Forbid", "Replace"),
  ...values("startPolicy", "Immediately", "OnSchedule"),
  ...values("deletionPolicy", "Retain", "Delete"),
  ...values("deletionGracePeriod", "7d", "1d12h"),
  ...values("excludes", [], ["*.tmp", "cache/**", "with space", "ümlaut"]),
  ...values(
    "repository",
    {},
    { endpoint: "minio.example.com:9000", region: "eu-central-1" },
    { endpoint: "https://minio.example.com:9000/" },
    { path: "team/app" },
    { path: "a=1+b_c.d-e" },
    { credentialsSecretRef: { name: "restic" }, caSecretRef: { name: "ca" } },
    { passwordSecretRef: { name: "restic", key: "password" } }
  ),
  // A bare name is an S3 bucket.
  { source: "app", destination: "bucket", repository: { endpoint: "minio.example.com" } },
  { source: "app", destination: "pvc://store", repository: { path: "a" } },
  ...values(
    "retention",
    {},
    { keepLast: 0 },
    { keepLast: 3, keepHourly: 24, keepDaily: 7, keepWeekly: 4, keepMonthly: 12, keepYearly: 10_000 }
  ),
  ...values("successfulRunsHistoryLimit", 0, 100),
  ...values("failedRunsHistoryLimit", 0, 100),
  ...values("backoffLimit", 0, 10),
  ...values("activeDeadlineSeconds", 60, 31_536_000),
  ...values("pruneInterval", "1d", "1w2d", "7d12h"),
  ...values("podSecurityContext", {}, { runAsUser: 0, runAsGroup: 0, fsGroup: 1000, supplementalGroups: [1, 2] }),
  ...values("tolerations", [
    { operator: "Exists" },
    { key: "a", value: "b", effect: "NoExecute", tolerationSeconds: 60 }
  ]),
  ...values("resources", { requests: { cpu: "500m", memory: 1_000_000 }, limits: { "ephemeral-storage": "10Gi" } }),
  ...values("nodeSelector", { "kubernetes.io/arch": "arm64" }),
  ...values("image", "registry.example.com/mover@sha256:0123")
]

const bad = (field: string, message: string, ...specs: ReadonlyArray<Change>): ReadonlyArray<Bad> =>
  specs.map((spec) => ({ field: `spec.${field}`, message, spec }))

/** Bad specs: one field with each of the values. */
const badValues = (field: string, message: string, ...all: ReadonlyArray<Json>): ReadonlyArray<Bad> =>
  bad(field, message, ...values(field, ...all))

const schedule = "must be five fields such as 0 2 * * *"
const units = "must be numbers with s, m (minutes), h, d, w or y, such as 30d or 1y6w"
const where = "must be s3://bucket/path, rest+https://host/path"

/** Backups that the API server rejects. */
export const badBackups: ReadonlyArray<Bad> = [
  ...badValues("retentionPolicy", units, "-1d", "30", "4x", "30D", " 30d", "30d ", "1.5d", "d", "30d\n"),
  ...badValues("retentionPolicy", "must be longer than 0", "0d", "0w0h"),
  ...badValues("retentionPolicy", "may not be more than 50", `${"1".repeat(50)}d`),
  ...badValues("retentionPolicy", "must be of type string", 30),
  ...badValues(
    "schedule",
    schedule,
    "TZ=Europe/Berlin 0 2 * * *",
    "CRON_TZ=UTC 0 2 * * *",
    "0 TZ=1 * * *",
    "@dailyXYZ",
    "@daily-randomly",
    "@reboot",
    "@every",
    "@every day",
    "0 2 * *",
    "0 2 * * * *",
    " 0 2 * * *",
    "every night",
    ""
  ),
  ...badValues("schedule", "may not be more than 100", `0 ${"1,".repeat(60)}2 * * *`),
  ...badValues(
    "destination",
    "must not contain a user or password; put them into the Secret of credentials",
    "s3://key@bucket",
    "rest+https://user:word@host/path"
  ),
  ...badValues(
    "destination",
    where,
    "http://host/path",
    "https://host/path",
    "rest+http://host/path",
    "file:///data",
    "/data",
    "s3:bucket/path",
    "S3://bucket",
    "s3://",
    "s3:///path",
    "s3://bucket?versionId=1",
    "s3://bucket/path#x",
    "s3://bucket/with space",
    "My_Bucket",
    "ab"
  ),
  ...badValues("destination", "may not be more than 1024", `s3://bucket/${"a".repeat(1024)}`),
  ...badValues(
    "source",
    "must be the name of a PersistentVolumeClaim, Deployment or StatefulSet",
    "App",
    "pod/app",
    "pvc/",
    "pvc/a/b",
    "/app",
    "a_b",
    "-a",
    "a..b",
    "a\n"
  ),
  ...badValues("startingDeadlineSeconds", "should be greater than or equal to 10", 9, 0, -1),
  ...badValues("startingDeadlineSeconds", "should be less than or equal to 315360000", 315_360_001),
  ...badValues(
    "timeZone",
    "must be a name of the IANA time zone database, such as Europe/Berlin",
    "Local",
    "",
    "Europe/",
    "../etc/passwd",
    "+01:00"
  ),
  ...bad("source", "Required value", { destination: "s3://bucket" }),
  ...badValues("concurrencyPolicy", 'supported values: "Forbid", "Replace"', "Allow"),
  ...badValues("startPolicy", 'supported values: "Immediately", "OnSchedule"', "Later"),
  ...badValues("deletionGracePeriod", "should match", "0d", "week"),
  ...badValues("deletionPolicy", 'supported values: "Retain", "Delete"', "Keep"),
  ...badValues(
    "excludes",
    "must have at most 100 items",
    Array.from({ length: 101 }, () => "a")
  ),
  ...bad("excludes[1]", "should match", { ...backup, excludes: ["a", "b\nc"] }),
  ...bad("excludes[0]", "", { ...backup, excludes: [""] }),
  ...bad("repository.endpoint", "must be host, host:port or https://host:port", {
    ...backup,
    repository: { endpoint: "http://minio:9000" }
  }),
  ...["user:word@minio", "minio/path", "-minio", ""].flatMap((endpoint) =>
    bad("repository.endpoint", "must be host", { ...backup, repository: { endpoint } })
  ),
  ...["rest+https://host/", "pvc://store", "gs://bucket"].flatMap((destination) =>
    bad(
      "repository",
      "endpoint and region require spec.destination, with s3:// or the name of an S3 bucket",
      { source: "app", destination, repository: { endpoint: "minio" } },
      { source: "app", destination, repository: { region: "eu-central-1" } }
    )
  ),
  ...bad(
    "repository",
    "endpoint and region require spec.destination, with s3:// or the name of an S3 bucket",
    { source: "app", repository: { endpoint: "minio" } },
    { source: "app", repository: { region: "eu-central-1" } }
  ),
  ...["/abs", "a//b", "a/", "../up", ".hidden", "a/.b", "a b", ""].flatMap((path) =>
    bad("repository.path", "must be folders of letters, digits and . _ = + -", { ...backup, repository: { path } })
  ),
  ...bad("repository.region", "should match", { ...backup, repository: { region: "EU" } }),
  ...bad("repository.credentialsSecretRef.name", "Required value", {
    ...backup,
    repository: { credentialsSecretRef: {} }
  }),
  ...bad("repository.passwordSecretRef.key", "should match", {
    ...backup,
    repository: { passwordSecretRef: { name: "restic", key: "a/b" } }
  }),
  ...bad("retention.keepLast", "should be greater than or equal to 0", { ...backup, retention: { keepLast: -1 } }),
  ...bad("retention.keepDaily", "should be less than or equal to 10000", {
    ...backup,
    retention: { keepDaily: 10_001 }
  }),
  ...["successfulRunsHistoryLimit", "failedRunsHistoryLimit"].flatMap((field) => [
    ...badValues(field, "should be greater than or equal to 0", -1),
    ...badValues(field, "should be less than or equal to 100", 101)
  ]),
  ...badValues("backoffLimit", "should be greater than or equal to 0", -1),
  ...badValues("backoffLimit", "should be less than or equal to 10", 11),
  ...badValues("activeDeadlineSeconds", "should be greater than or equal to 60", 59),
  ...badValues("activeDeadlineSeconds", "should be less than or equal to 31536000", 31_536_001),
  ...["pruneInterval", "checkInterval"].flatMap((field) => badValues(field, "should match", "0d", "7", "-1d", "")),
  ...badValues("suspend", "must be of type boolean", "yes"),
  ...badValues("image", "should match", "a b"),
  ...bad("podSecurityContext.runAsUser", "should be greater than or equal to 0", {
    ...backup,
    podSecurityContext: { runAsUser: -1 }
  }),
  ...bad("tolerations[0].operator", 'supported values: "Exists", "Equal"', {
    ...backup,
    tolerations: [{ operator: "Maybe" }]
  }),
  ...bad("resources.limits.memory", "", { ...backup, resources: { limits: { memory: "much" } } })
]

/** Restores that the API server stores. */
export const goodRestores: ReadonlyArray<Change> = [
  restore,
  { ...restore, snapshot: "latest" },
  { ...restore, snapshot: "0123abcd" },
  { ...restore, snapshot: "ab".repeat(32) },
  { ...restore, asOf: "2026-11-20T09:00:00Z" },
  { ...restore, asOf: "2026-11-20T09:00:00+01:00", snapshot: "latest" },
  { ...restore, volume: "app", paths: ["/etc/app", "with space"], overwrite: true },
  { ...restore, mode: "Overlay", inUse: "Refuse", paths: ["/etc/app"] },
  { ...restore, mode: "Mirror", inUse: "Allow", overwrite: true, paths: ["/a"] }
]

/** Restores that the API server rejects. */
export const badRestores: ReadonlyArray<Bad> = [
  ...bad("backupRef", "Required value", { targetPVC: "fresh" }),
  ...bad("targetPVC", "Required value", { backupRef: "shop" }),
  ...bad("targetPVC", "should match", { ...restore, targetPVC: "pvc/fresh" }),
  ...["newest", "0123abc", "0123ABCD", ""].flatMap((snapshot) =>
    bad("snapshot", "should match", { ...restore, snapshot })
  ),
  ...bad("asOf", "must be of type date-time", { ...restore, asOf: "yesterday" }, { ...restore, asOf: "2026-11-20" }),
  ...bad("asOf", "must not be set together with a snapshot ID", {
    ...restore,
    asOf: "2026-11-20T09:00:00Z",
    snapshot: "0123abcd"
  }),
  ...bad("paths[0]", "should match", { ...restore, paths: ["a\nb"] }),
  ...bad("mode", "Unsupported value", { ...restore, mode: "Delete" }),
  ...bad("inUse", "Unsupported value", { ...restore, inUse: "Maybe" }),
  ...bad("backoffLimit", "should be less than or equal to 10", { ...restore, backoffLimit: 11 })
]
