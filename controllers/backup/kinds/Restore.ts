/** The Restore kind: writes a snapshot of a Backup to a volume, once. */
import * as Condition from "@homeostat/runtime/resource/Condition"
import * as CustomResource from "@homeostat/runtime/resource/CustomResource"
import * as Field from "@homeostat/runtime/resource/Field"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Fields from "./Fields.ts"

const { flag, name, optional, text, time, whole } = Fields

/** A claim that a Restore creates, with the fields of a PersistentVolumeClaim. */
const ClaimTemplate = Schema.Struct({
  metadata: optional(
    Schema.Struct({
      labels: optional(Fields.texts, "Labels of the claim."),
      annotations: optional(Fields.texts, "Annotations of the claim.")
    }),
    "Metadata of the claim."
  ),
  spec: Schema.Struct({
    accessModes: optional(
      Schema.Array(Schema.Literals(["ReadWriteOnce", "ReadWriteMany", "ReadWriteOncePod"])).check(
        Schema.isMinLength(1),
        Schema.isMaxLength(3)
      ),
      "Default: ReadWriteOnce."
    ),
    storageClassName: optional(text(253), "The StorageClass. Default: that of the cluster."),
    resources: Schema.Struct({
      requests: Schema.Struct({
        storage: Field.Quantity.annotate({ description: "The size, such as 10Gi." })
      }).annotate({ description: "The requested resources." })
    }).annotate({ description: "The size of the volume." })
  }).annotate({ description: "The spec of the claim." })
})

const Spec = Schema.Struct({
  backupRef: name("The Backup whose snapshot is restored."),
  backupNamespace: optional(
    name("A namespace."),
    "The namespace of the Backup. Default: that of the Restore. Another namespace has to allow it with its annotation backup.example.com/restore-to-namespaces."
  ),
  targetPVC: name(
    "The PersistentVolumeClaim to write to, in the namespace of the Restore. It must be empty unless mode says otherwise."
  ),
  volumeClaimTemplate: optional(
    ClaimTemplate,
    "Creates the PersistentVolumeClaim targetPVC if it does not exist. The claim stays when the Restore is deleted."
  ),
  volume: optional(
    name("A PersistentVolumeClaim."),
    "The claim whose snapshot to restore. Required if the Backup saves several claims and targetPVC is not one of them."
  ),
  snapshot: text(64)
    .check(Schema.isPattern(/^(latest|[0-9a-f]{8,64})$/))
    .pipe(Schema.withDecodingDefaultType(Effect.succeed("latest")))
    .annotate({
      description:
        "latest, or the ID of a snapshot from the status of the Backup. latest excludes snapshots that are newer than the Restore."
    }),
  asOf: optional(Field.Time, "Restore the newest snapshot up to this time, such as 2026-11-20T09:00:00Z."),
  paths: optional(
    Schema.Array(text(1024).check(Schema.isMinLength(1), Schema.isPattern(/^[^\n\r]+$/))).check(
      Schema.isMaxLength(100)
    ),
    "Restore only these files and folders: their paths from the root of the volume, such as /etc/app. Default: all files."
  ),
  mode: optional(
    Schema.Literals(["IntoEmpty", "Overlay", "Mirror"]),
    "IntoEmpty (default): the volume must be empty. Overlay: files of the snapshot replace existing files, and others stay. Mirror: files that the snapshot lacks are deleted too, with paths only below them."
  ),
  inUse: optional(
    Schema.Literals(["Refuse", "Allow"]),
    "Refuse (default): no running pod may use the volume. Allow: write to a volume that running pods use. They may see a mixture of old and restored files."
  ),
  overwrite: flag("Deprecated. The default of mode is then Overlay, and that of inUse is Allow."),
  backoffLimit: whole("How often the Job retries the mover before the Restore fails.", 2, 0, 10),
  activeDeadlineSeconds: whole("The longest duration, in seconds.", 86_400, 60, 31_536_000),
  ...Fields.pod
}).pipe(
  Field.rule({
    rule: "self == oldSelf",
    message: "field is immutable, because a Restore runs once; create another Restore"
  }),
  Field.rule({
    rule: "!(has(self.asOf) && has(self.snapshot) && self.snapshot != 'latest')",
    message: "must not be set together with a snapshot ID",
    fieldPath: ".asOf"
  })
)

const Status = Schema.Struct({
  observedGeneration: optional(
    Schema.Int.pipe(Field.format("int64")),
    "The metadata.generation of this status; -1 before the first reconcile."
  ),
  phase: optional(
    Schema.Literals(["Pending", "Running", "Complete", "Failed"]),
    "Pending: a prerequisite is missing. Running: the mover runs. Complete or Failed: the result."
  ),
  message: optional(text(2048), "The latest event and, if needed, a fix."),
  job: optional(text(253), "The Job."),
  startTime: time("The start time."),
  completionTime: time("The end time."),
  restored: optional(
    Schema.Struct({
      snapshot: Fields.word("The ID of the snapshot."),
      bytes: Fields.amount("The size of all written files, in bytes."),
      files: Fields.amount("The number of written files and folders."),
      ownership: optional(
        Schema.Literals(["Preserved", "AsMover"]),
        "Preserved: the files have the owners of the snapshot. AsMover: the files belong to the user of the mover, which was not privileged."
      )
    }),
    "The result of the Restore."
  ),
  conditions: optional(Condition.list, "Ready after success. Reconciling before the end. Stalled after a failure.")
})

/** The kind and its CustomResourceDefinition. */
export const Restore = CustomResource.make({
  group: "backup.example.com",
  version: "v1",
  kind: "Restore",
  description: "Writes a snapshot of a Backup to a volume, once.",
  spec: Spec.annotate({ description: "The desired state." }),
  status: Status.annotate({ description: "The observed state, which the controller writes." }),
  columns: [
    { name: "Backup", path: ".spec.backupRef", description: "The Backup" },
    { name: "Target", path: ".spec.targetPVC", description: "The destination" },
    { name: "Snapshot", path: ".status.restored.snapshot", description: "The restored snapshot" },
    { name: "Phase", path: ".status.phase", priority: 1, description: "The phase" }
  ]
})

/** A Restore for `reconcile`, with defaults. */
export type Restore = typeof Restore.Type

/** The treatment of existing files. */
export type Mode = NonNullable<Restore["spec"]["mode"]>

/** The mode of a Restore, from the fields of every version. */
export const modeOf = ({ mode, overwrite }: Pick<Restore["spec"], "mode" | "overwrite">): Mode =>
  mode ?? (overwrite ? "Overlay" : "IntoEmpty")

/** Whether a Restore may write to a volume that running pods use. */
export const allowsUse = ({ inUse, overwrite }: Pick<Restore["spec"], "inUse" | "overwrite">): boolean =>
  (inUse ?? (overwrite ? "Allow" : "Refuse")) === "Allow"

/** The status of a Restore. */
export type RestoreStatus = NonNullable<Restore["status"]>
