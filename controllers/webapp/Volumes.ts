/** The volumes of a WebApp, each mounted into the container. */
import type { Pod } from "@homeostat/runtime/resource/BuiltIn"
import * as Field from "@homeostat/runtime/resource/Field"
import * as Schema from "effect/Schema"

/** A volume and the place of its mount. */
export const Volume = Schema.Struct({
  name: Schema.String.check(Schema.isMaxLength(63), Schema.isPattern(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/)).annotate({
    description: "The name of the volume in the pod."
  }),
  mountPath: Schema.String.check(Schema.isMaxLength(1024), Schema.isPattern(/^\/[^:]*$/)).annotate({
    description: "The directory in the container, such as /data."
  }),
  subPath: Schema.optionalKey(
    Schema.String.check(Schema.isMaxLength(1024)).pipe(
      Field.rule({
        rule: "!self.startsWith('/') && !self.split('/').exists(part, part == '..')",
        message: "must be a relative path without .."
      })
    )
  ).annotate({ description: "The directory in the volume that is mounted; its root by default." }),
  readOnly: Schema.optionalKey(Schema.Boolean).annotate({
    description: "The container cannot write to the volume."
  }),
  claim: Schema.optionalKey(Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(253))).annotate({
    description: "The name of a PersistentVolumeClaim. All pods share it."
  }),
  emptyDir: Schema.optionalKey(
    Schema.Struct({
      medium: Schema.optionalKey(Schema.Literal("Memory")).annotate({
        description: "The files stay in memory and count towards the memory limit."
      }),
      sizeLimit: Schema.optionalKey(Field.Quantity).annotate({
        description: "The kubelet evicts a pod that uses more, such as 1Gi."
      })
    })
  ).annotate({ description: "An empty directory of each pod, deleted with the pod." })
}).pipe(Field.rule({ rule: "has(self.claim) != has(self.emptyDir)", message: "set exactly one of claim and emptyDir" }))

type Volume = typeof Volume.Type
type PodSpec = NonNullable<Pod["spec"]>

/** The volumes of the pod. */
export const ofPod = (volumes: ReadonlyArray<Volume>): NonNullable<PodSpec["volumes"]> =>
  volumes.map(({ claim, emptyDir, name }) =>
    claim === undefined ? { name, emptyDir: { ...emptyDir } } : { name, persistentVolumeClaim: { claimName: claim } }
  )

/** The mounts of the container. */
export const ofContainer = (
  volumes: ReadonlyArray<Volume>
): NonNullable<PodSpec["containers"][number]["volumeMounts"]> =>
  volumes.map(({ mountPath, name, readOnly, subPath }) => ({
    name,
    mountPath,
    ...(subPath === undefined ? {} : { subPath }),
    // The API server drops false.
    ...(readOnly === true ? { readOnly } : {})
  }))
