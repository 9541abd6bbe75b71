/** Fields that Backups and Restores share, and the fields of their pods. */
import * as Field from "@homeostat/runtime/resource/Field"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

/** An optional field. */
export const optional = <S extends Schema.Top>(schema: S, description: string) =>
  Schema.optionalKey(schema).annotate({ description })

/** Text with a maximum length. */
export const text = (maxLength: number) => Schema.String.check(Schema.isMaxLength(maxLength))

/** The name of an object. */
export const name = (description: string) =>
  text(253)
    .check(Schema.isPattern(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/))
    .annotate({ description })

/** A short text in a status. */
export const word = (description: string) => text(253).annotate({ description })

/** A boolean, by default false. */
export const flag = (description: string) =>
  Schema.Boolean.pipe(Schema.withDecodingDefaultType(Effect.succeed(false))).annotate({ description })

/** A whole number with a default. */
export const whole = (description: string, fallback: number, least: number, most: number) =>
  Schema.Int.check(Schema.isBetween({ minimum: least, maximum: most }))
    .pipe(Schema.withDecodingDefaultType(Effect.succeed(fallback)))
    .annotate({
      description
    })

/** A time in a status. */
export const time = (description: string) => optional(Field.Time, description)

/** A number of bytes or files in a status, which may exceed 32 bits. */
export const amount = (description: string) => Schema.Natural.pipe(Field.format("int64")).annotate({ description })

const Amounts = Schema.Struct({
  cpu: optional(Field.Quantity, "Cores, such as 500m."),
  memory: optional(Field.Quantity, "Bytes, such as 1Gi."),
  "ephemeral-storage": optional(Field.Quantity, "Bytes of local disk, such as 10Gi; the cache is there.")
})

const id = (description: string) =>
  optional(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2_147_483_647 })), description)

const SecurityContext = Schema.Struct({
  runAsUser: id(
    "The user that reads the files. Default: the user of the pod that uses the volume, or 65532 if that user is root or unknown."
  ),
  runAsGroup: id("The group that reads the files."),
  fsGroup: id("The group to which the kubelet assigns the volumes."),
  supplementalGroups: optional(
    Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2_147_483_647 }))).check(
      Schema.isMaxLength(100)
    ),
    "Further groups."
  ),
  seLinuxOptions: optional(
    Schema.Struct({
      level: optional(text(253), "The SELinux level, such as s0:c123,c456."),
      role: optional(text(253), "The SELinux role."),
      type: optional(text(253), "The SELinux type."),
      user: optional(text(253), "The SELinux user.")
    }),
    "The SELinux context of the pod, for nodes that enforce SELinux and volumes with the context of another pod."
  )
})

/** Labels or annotations. */
export const texts = Schema.Record(Schema.String, Schema.String.check(Schema.isMaxLength(1024)))

const Toleration = Schema.Struct({
  key: optional(text(317), "The taint's key. Absent: all keys."),
  operator: optional(Schema.Literals(["Exists", "Equal"]), "Default: Equal."),
  value: optional(text(63), "The taint's value."),
  effect: optional(Schema.Literals(["NoSchedule", "PreferNoSchedule", "NoExecute"]), "Absent: all effects."),
  tolerationSeconds: optional(Schema.Int.pipe(Field.format("int64")), "For how long a NoExecute taint is tolerated.")
})

/** The settings of the mover's pod. */
export const pod = {
  image: optional(
    text(1024).check(Schema.isMinLength(1), Schema.isPattern(/^\S+$/)),
    "The mover's image. Default: the manager's setting."
  ),
  serviceAccountName: optional(
    name("The ServiceAccount of the pod."),
    "The ServiceAccount of the pod, for a cloud identity instead of keys. Its token is not mounted."
  ),
  resources: optional(
    Schema.Struct({
      requests: optional(Amounts, "The resources that the scheduler reserves."),
      limits: optional(Amounts, "The most that the pod may use.")
    }),
    "Compute resources of the pod. restic takes about 1 GiB of memory for each 10 million files."
  ),
  podSecurityContext: optional(SecurityContext, "The user and groups of the pod."),
  privileged: optional(
    Schema.Boolean,
    'Run the mover as root with the capabilities to read all files, and to restore their owners and modes. The namespace needs the annotation backup.example.com/privileged-movers: "true".'
  ),
  podMetadata: optional(
    Schema.Struct({
      labels: optional(texts, "Labels of the pod. The labels of Homeostat cannot be changed."),
      annotations: optional(texts, "Annotations of the pod.")
    }),
    "Metadata of the pod, for example to switch off a sidecar. Istio and Linkerd inject none by default."
  ),
  priorityClassName: optional(name("The PriorityClass."), "The PriorityClass of the pod."),
  nodeSelector: optional(
    Schema.Record(Schema.String, Schema.String.check(Schema.isMaxLength(63))),
    "Labels of the nodes on which the pod may run."
  ),
  tolerations: optional(
    Schema.Array(Toleration).check(Schema.isMaxLength(50)),
    "Taints that the pod tolerates, in addition to those of the pod that uses the volume."
  )
} as const
