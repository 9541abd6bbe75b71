/**
 * Claims that a mover writes to: the target of a Restore, and the claim of a `pvc://` destination. Pure.
 *
 * Both may be unbound: with a StorageClass that waits for the first consumer, the mover's pod is that consumer.
 */
import type { PersistentVolumeClaim } from "@homeostat/runtime/resource/BuiltIn"
import type { Desired } from "@homeostat/runtime/resource/KubernetesObject"
import * as Result from "effect/Result"
import { allowsUse, type Mode, type Restore } from "../kinds/Restore.ts"
import * as Placement from "./Placement.ts"
import type * as Source from "./Source.ts"
import * as Usage from "./Usage.ts"
import * as VolumeClaim from "./VolumeClaim.ts"

/** The objects of the namespace. */
export type Seen = Pick<Source.Seen, "claims" | "pods">

type Found = Result.Result<VolumeClaim.VolumeClaim, VolumeClaim.Refusal>

/** The fields of a Restore that choose its claim. */
export type Spec = Pick<Restore["spec"], "targetPVC" | "volumeClaimTemplate" | "inUse" | "overwrite">

type Template = NonNullable<Restore["spec"]["volumeClaimTemplate"]>

const accessModesOf = ({ spec }: Template) => spec.accessModes ?? ["ReadWriteOnce"]

/** The claim that `spec.volumeClaimTemplate` describes. It has no owner, because the files outlive the Restore. */
export const claimOf = (restore: Restore, template: Template): Desired<PersistentVolumeClaim> => ({
  metadata: {
    ...template.metadata,
    name: restore.spec.targetPVC,
    ...(restore.metadata.namespace !== undefined && { namespace: restore.metadata.namespace })
  },
  spec: { ...template.spec, accessModes: [...accessModesOf(template)] }
})

/**
 * The claim of a Restore's `spec.targetPVC`. With `spec.volumeClaimTemplate` it may be one that the Restore still has to create.
 *
 * A claim that a running pod uses is written only with the consent of the spec, even if it is empty: new files of the pod would mix
 * with the restored ones.
 */
export const ofRestore = (spec: Spec, seen: Seen): Found => {
  const { targetPVC: name, volumeClaimTemplate } = spec
  const exists = seen.claims.some(({ metadata }) => metadata.name === name)
  if (volumeClaimTemplate !== undefined && !exists) {
    const accessModes = accessModesOf(volumeClaimTemplate)
    return Result.succeed({ name, accessModes, isBound: false, isNew: true, together: undefined, template: undefined })
  }
  const uses = Usage.of(name, seen.pods)
  return Result.flatMap(find(name, seen, uses, absentTarget), (claim) =>
    uses.length > 0 && !allowsUse(spec)
      ? refuse(
          "VolumeInUse",
          `${VolumeClaim.nameOf(name)} is in use by ${Usage.names(uses)} (scale the workload to zero, or create a Restore with spec.inUse Allow)`
        )
      : Result.succeed(claim)
  )
}

/**
 * The user of a Restore's mover for an unused claim: the user who read the files.
 *
 * The root folder of a new volume usually belongs to root, so the kubelet assigns it to a group. Not for a volume that may have
 * files, because their group would change. With the mode IntoEmpty, the mover refuses a volume with files.
 */
export const writer = (claim: VolumeClaim.VolumeClaim, reader: Placement.Security, mode: Mode): Placement.Security =>
  keepsGroup(claim, mode) ? reader : Placement.withGroup(reader)

/** Whether the kubelet must not change the group of a volume. */
export const keepsGroup = (claim: VolumeClaim.VolumeClaim, mode: Mode): boolean => claim.isBound && mode !== "IntoEmpty"

/**
 * The claim of a `pvc://` destination.
 *
 * @param others the claims that are saved or written: none of them can contain the repository
 */
export const ofDestination = (name: string, seen: Seen, others: ReadonlyArray<VolumeClaim.VolumeClaim>): Found =>
  others.some((other) => other.name === name)
    ? refuse(
        "VolumeInUse",
        `${VolumeClaim.nameOf(name)} holds the repository of spec.destination, so a Backup cannot save it there (recreate the Backup with another spec.destination)`
      )
    : find(name, seen, Usage.of(name, seen.pods), absentDestination)

const absentTarget = {
  reason: "TargetNotFound",
  of: "of spec.targetPVC",
  advice: "create it, large enough for what is restored, or set spec.volumeClaimTemplate in a new Restore"
} as const

const absentDestination = {
  // In the condition, a missing volume for the destination is the same as an unbound one.
  reason: "VolumeNotBound",
  of: "of spec.destination",
  advice: "create it"
} as const

const find = (
  name: string,
  { claims }: Seen,
  uses: ReadonlyArray<Usage.Use>,
  absent: typeof absentTarget | typeof absentDestination
): Found => {
  const claim = claims.find(({ metadata }) => metadata.name === name)
  if (claim === undefined) {
    return refuse(absent.reason, `PersistentVolumeClaim ${absent.of} not found: ${name} (${absent.advice})`)
  }
  if (claim.metadata.deletionTimestamp !== undefined) {
    return refuse(
      absent.reason,
      `${VolumeClaim.nameOf(name)} ${absent.of} is being deleted (when it is gone, ${absent.advice})`
    )
  }
  const refusal = VolumeClaim.unfit(claim, uses)
  return refusal === undefined ? Result.succeed(VolumeClaim.make(claim)) : Result.fail(refusal)
}

const refuse = (reason: VolumeClaim.Refusal["reason"], message: string) =>
  Result.fail<VolumeClaim.Refusal>({ reason, message })
