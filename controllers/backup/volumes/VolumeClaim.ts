/** A volume that a mover mounts, and the reasons why it cannot. Pure. */
import type { PersistentVolumeClaim } from "@homeostat/runtime/resource/BuiltIn"
import * as Usage from "./Usage.ts"

/** A claim that a mover mounts. */
export interface VolumeClaim {
  readonly name: string
  readonly accessModes: ReadonlyArray<string>
  /** Whether it is bound to a volume. An unbound claim contains no data. */
  readonly isBound: boolean
  /**
   * One pod of the workload mounts all claims with the same value, so another pod can mount them together too. Claims with different
   * values may be in different zones. Undefined: any pod of the workload mounts it.
   */
  readonly together: string | undefined
  /** The claim does not exist: the Restore creates it. */
  readonly isNew: boolean
  /** A pod from the template of the workload, which determines the user if no pod exists. Undefined without a workload. */
  readonly template: Usage.User | undefined
}

/** Why a mover cannot use a volume: a reason of the condition Ready, and a fix. */
export interface Refusal {
  readonly reason:
    | "SourceNotFound"
    | "SourceAmbiguous"
    | "SourceHasNoVolumes"
    | "TargetNotFound"
    | "VolumeNotBound"
    | "UnsupportedVolumeMode"
    | "VolumeInUse"
  readonly message: string
}

/** The claim; by default without a workload. */
export const make = (
  { metadata, spec, status }: PersistentVolumeClaim,
  of: Partial<Pick<VolumeClaim, "together" | "template">> = {}
): VolumeClaim => ({
  name: metadata.name,
  accessModes: spec?.accessModes ?? [],
  isBound: status?.phase === "Bound",
  isNew: false,
  together: of.together,
  template: of.template
})

/**
 * Whether several nodes can mount it at once. A claim that only one node can write stays on that node, with any other access modes.
 */
export const isShared = ({ accessModes }: Pick<VolumeClaim, "accessModes">): boolean =>
  accessModes.includes("ReadWriteMany") ||
  (accessModes.length > 0 && accessModes.every((mode) => mode === "ReadOnlyMany"))

/** Why no mover can mount the claim; undefined if it can. */
export const unfit = (claim: PersistentVolumeClaim, uses: ReadonlyArray<Usage.Use>): Refusal | undefined => {
  const { metadata, spec, status } = claim
  const name = nameOf(metadata.name)
  if (spec?.volumeMode === "Block") {
    return {
      reason: "UnsupportedVolumeMode",
      message: `${name} has volumeMode Block (must be Filesystem, because restic saves files)`
    }
  }
  if (status?.phase === "Lost") {
    return {
      reason: "VolumeNotBound",
      message: `${name} lost its PersistentVolume: ${spec?.volumeName ?? ""} (restore that volume, or recreate the claim)`
    }
  }
  if (spec?.accessModes?.includes("ReadWriteOncePod") === true && uses.length > 0) {
    return {
      reason: "VolumeInUse",
      message: `${name} has access mode ReadWriteOncePod and is in use by ${Usage.names(uses)} (stop that pod during the run, or use a claim with ReadWriteOnce)`
    }
  }
  return undefined
}

/** The name in messages. */
export const nameOf = (name: string): string => `PersistentVolumeClaim ${name}`
