/** The volumes of a WebApp, each mounted into the container. */
import type { Pod } from "@homeostat/runtime/resource/BuiltIn"
import * as Field from "@homeostat/runtime/resource/Field"
import * as Schema from "effect/Schema"

/** A volume and the place of its mount. */
export const Volume = Schema.Struct({
  name: Schema.String.pipe(Schema.maxLength(63), Schema.pattern(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/)).annotations({
    description: "The name of the volume in the pod."
  }),
  mountPath: Schema.String.pipe(Schema.maxLength(1024), Schema.pattern(/^\/[^:]*$/)).annotations({
    description: "The directory in the container, such as /data."
  }),
  subPath: Schema.optionalWith(
    Schema.String.pipe(
      Schema.maxLength(1024),
      Field.rule({
        rule: "!self.startsWith('/') && !self.split('/').exists(part, part == '..')",
        message: "must be a relative path without .."
      })
    ),
    { exact: true }
  ).annotations({ description: "The directory in the volume that is mounted; its root by default." }),
  readOnly: Schema.optionalWith(Schema.Boolean, { exact: true }).annotations({
    description: "The container cannot write to the volume."
  }),
  claim: Schema.optionalWith(Schema.String.pipe(Schema.minLength(1), Schema.maxLength(253)), {
    exact: true
  }).annotations({ description: "The name of a PersistentVolumeClaim. All pods share it." }),
  emptyDir: Schema.optionalWith(
    Schema.Struct({
      medium: Schema.optionalWith(Schema.Literal("Memory"), { exact: true }).annotations({
        description: "The files stay in memory and count towards the memory limit."
      }),
      sizeLimit: Schema.optionalWith(Field.Quantity, { exact: true }).annotations({
        description: "The kubelet evicts a pod that uses more, such as 1Gi."
      })
    }),
    { exact: true }
  ).annotations({ description: "An empty directory of each pod, deleted with the pod." })
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
