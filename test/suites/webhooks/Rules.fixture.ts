/** Manifests with the expected messages of the API server, at least one for each admission rule of the controllers. */

/** A manifest, or an update of it. */
export interface Sample {
  readonly name: string
  /** The created object. It is valid if there is an `update`. */
  readonly manifest: Manifest
  /** A merge patch of the created object. The messages then belong to the response to the patch. */
  readonly update?: object
  /** The status of the created object. */
  readonly status?: object
  /** The replicas for `kubectl scale`. The messages then belong to the response to the scale; the manifest is valid. */
  readonly scale?: number
  /** A part of the error; absent if the write is admitted. */
  readonly denied?: string
  /** A part of each warning; absent or empty if there are none. */
  readonly warned?: ReadonlyArray<string>
}

/** An object as kubectl sends it. */
export interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly annotations?: { readonly [name: string]: string } }
  readonly spec: object
}

const webApp = (spec: object): Manifest => ({
  apiVersion: "apps.kubedojo.io/v1beta1",
  kind: "WebApp",
  metadata: { name: "shop" },
  spec: { image: "nginx:1.27", ...spec }
})

const backup = (spec: object = {}): Manifest => ({
  apiVersion: "backup.example.com/v1",
  kind: "Backup",
  metadata: { name: "cart" },
  spec: { source: "pvc/data", schedule: "0 2 * * *", destination: "s3://bucket", ...spec }
})

const { destination: _, ...withoutDestination } = backup().spec as { readonly destination: string }
const { schedule: __, ...withoutSchedule } = backup().spec as { readonly schedule: string }

const requestedBy = "backup.example.com/requested-by"

const restore = (spec: object = {}, by?: string): Manifest => ({
  apiVersion: "backup.example.com/v1",
  kind: "Restore",
  metadata: { name: "again", ...(by !== undefined && { annotations: { [requestedBy]: by } }) },
  spec: { backupRef: "cart", targetPVC: "data", ...spec }
})

/** A scheduled run in a year. */
const nextYear = `${new Date().getUTCFullYear() + 1}-12-31T02:00:00Z`

/** The samples. */
export const samples: ReadonlyArray<Sample> = [
  { name: "a WebApp with a version", manifest: webApp({}) },
  {
    name: "a WebApp without a tag",
    manifest: webApp({ image: "nginx" }),
    warned: ['spec.image: "nginx" has no version, so pods may run different programs']
  },
  {
    name: "a WebApp with the tag latest",
    manifest: webApp({ image: "registry.example.com:5000/shop:latest" }),
    warned: ['spec.image: "registry.example.com:5000/shop:latest" has no version']
  },
  { name: "a WebApp with a digest", manifest: webApp({ image: `nginx@sha256:${"0".repeat(64)}` }) },
  {
    name: "a WebApp with an invalid image name",
    manifest: webApp({ image: "Nginx:1.27" }),
    warned: ['spec.image: "Nginx:1.27" is an invalid image name, so no pod can start']
  },
  {
    name: "a WebApp with many more replicas",
    manifest: webApp({ replicas: 3 }),
    update: { spec: { replicas: 30 } },
    warned: ["spec.replicas changes from 3 to 30 (check the number)"]
  },
  {
    name: "a WebApp with many fewer replicas",
    manifest: webApp({ replicas: 20 }),
    update: { spec: { replicas: 2 } },
    warned: ["spec.replicas changes from 20 to 2 (check the number)"]
  },
  {
    name: "a WebApp with a few more replicas",
    manifest: webApp({ replicas: 2 }),
    update: { spec: { replicas: 5 } }
  },
  {
    name: "a WebApp that is scaled to many more replicas",
    manifest: webApp({ replicas: 3 }),
    scale: 30,
    warned: ["spec.replicas changes from 3 to 30 (check the number)"]
  },
  {
    name: "a WebApp that is scaled to many fewer replicas",
    manifest: webApp({ replicas: 20 }),
    scale: 2,
    warned: ["spec.replicas changes from 20 to 2 (check the number)"]
  },
  { name: "a WebApp that is scaled to a few more replicas", manifest: webApp({ replicas: 2 }), scale: 5 },
  { name: "a Backup without errors", manifest: backup() },
  {
    name: "a Backup with an invalid minute",
    manifest: backup({ schedule: "61 * * * *" }),
    denied: 'spec.schedule: Invalid value: "61 * * * *": minute "61" must be 0 to 59'
  },
  {
    name: "a Backup that never runs",
    manifest: backup({ schedule: "0 0 30 2 *" }),
    denied: 'spec.schedule: Invalid value: "0 0 30 2 *": must have a day of month that occurs in one of its months'
  },
  {
    name: "a Backup with an unknown time zone",
    manifest: backup({ timeZone: "Berlin" }),
    denied:
      'spec.timeZone: Invalid value: "Berlin": must be a name of the IANA database, such as Europe/Berlin; the default is UTC'
  },
  {
    name: "a Backup with an invalid bucket",
    manifest: backup({ destination: "gs://b" }),
    denied: 'spec.destination: Invalid value: "gs://b": the bucket must be 3 to 222 lower-case letters'
  },
  {
    name: "a Backup without a destination",
    manifest: { ...backup(), spec: withoutDestination },
    denied: "spec.destination is required: the manager has no HOMEOSTAT_BACKUP_DESTINATION"
  },
  {
    name: "a Backup with too long a retention",
    manifest: backup({ retentionPolicy: "200y" }),
    denied: 'spec.retentionPolicy: Invalid value: "200y": must be at most 100y; remove it to keep every snapshot'
  },
  {
    name: "a Backup with too long an interval of prunes",
    manifest: backup({ pruneInterval: "200y" }),
    denied: 'spec.pruneInterval: Invalid value: "200y": must be 1h to 100y, such as 7d'
  },
  {
    name: "a Backup with too long an interval of checks",
    manifest: backup({ checkInterval: "200y" }),
    denied: 'spec.checkInterval: Invalid value: "200y": must be 1h to 100y, such as 7d'
  },
  {
    name: "a Backup with too long a grace period",
    manifest: backup({ deletionGracePeriod: "200y" }),
    denied: 'spec.deletionGracePeriod: Invalid value: "200y": must be 1h to 100y, such as 7d'
  },
  {
    name: "a Backup with minutes for months",
    manifest: backup({ retentionPolicy: "1m" }),
    warned: ["retentionPolicy 1m: m means minutes, not months", "retentionPolicy 1m keeps snapshots that are at most"]
  },
  {
    name: "a Backup with a retention below the pauses of its schedule",
    manifest: backup({ retentionPolicy: "12h" }),
    warned: ["retentionPolicy 12h keeps snapshots that are at most 12 hours older than the newest one"]
  },
  {
    name: "a Backup whose shorter retention deletes snapshots",
    // The newest snapshot is of a year ahead, because a Backup that the test creates has no snapshots yet.
    manifest: backup({ retentionPolicy: "30d" }),
    status: { lastBackupTime: nextYear },
    update: { spec: { retentionPolicy: "7d" } },
    warned: [
      "retentionPolicy 7d (before: 30d): the maintenance after the next successful run deletes about 23 of 30 snapshots of each volume, and leaves 6 days of 29 days. It first waits for the annotation"
    ]
  },
  {
    name: "a Backup with a longer retention",
    manifest: backup({ retentionPolicy: "7d" }),
    status: { lastBackupTime: nextYear },
    update: { spec: { retentionPolicy: "30d" } }
  },
  {
    name: "a Backup with a shorter retention before its first run",
    manifest: backup({ retentionPolicy: "30d" }),
    update: { spec: { retentionPolicy: "7d" } }
  },
  {
    name: "a Backup that runs only on request",
    manifest: { ...backup(), spec: { ...withoutSchedule, startPolicy: "OnSchedule" } },
    warned: ["startPolicy OnSchedule without schedule: the Backup runs only when its annotation"]
  },
  {
    name: "an update to an invalid schedule",
    manifest: backup(),
    update: { spec: { schedule: "0 24 * * *" } },
    denied: 'spec.schedule: Invalid value: "0 24 * * *": hour "24" must be 0 to 23'
  },
  {
    name: "an update of another field of a Backup with a warning",
    manifest: backup({ retentionPolicy: "12h" }),
    update: { spec: { suspend: true } }
  },
  { name: "a Restore", manifest: restore() },
  {
    name: "a Restore with a deprecated field",
    manifest: restore({ overwrite: true }),
    warned: ["spec.overwrite is deprecated (write spec.mode: Overlay and spec.inUse: Allow)"]
  },
  {
    name: "a Restore of the future",
    manifest: restore({ asOf: "2999-01-01T00:00:00Z" }),
    warned: ["spec.asOf 2999-01-01T00:00:00Z is in the future"]
  },
  {
    name: "a Restore in the name of another user",
    manifest: restore({}, "mallory"),
    denied: `metadata.annotations[${requestedBy}]: Invalid value: "mallory": must be "`
  },
  {
    name: "a Restore whose user changes later",
    manifest: restore(),
    update: { metadata: { annotations: { [requestedBy]: "mallory" } } },
    denied: `metadata.annotations[${requestedBy}]: Invalid value: "mallory": field is immutable`
  }
]
