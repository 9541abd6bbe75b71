/** A volume that a mover mounts, and what makes it unfit for that. Pure. */
import type { PersistentVolumeClaim } from "@homeostat/runtime/resource/BuiltIn"
import * as Usage from "./Usage.ts"

/** A claim that is to be mounted by a mover. */
export interface Claim {
  readonly name: string
  readonly accessModes: ReadonlyArray<string>
  /** It has a volume. Without one, there cannot be anything in it. */
  readonly isBound: boolean
  /**
   * Claims with the same value are mounted by one pod of their workload, so another pod can mount them together too; those of
   * different values may be in different zones. Undefined: any pod of the workload mounts it.
   */
  readonly together: string | undefined
  /** A pod as the workload would make it, which says who writes while none is there. Undefined: no workload was asked for. */
  readonly template: Usage.User | undefined
}

/** Why a volume cannot be worked on: a reason of the condition Ready, and what to do about it. */
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

/** The claim, of no workload unless that is said. */
export const make = (
  { metadata, spec, status }: PersistentVolumeClaim,
  of: Partial<Pick<Claim, "together" | "template">> = {}
): Claim => ({
  name: metadata.name,
  accessModes: spec?.accessModes ?? [],
  isBound: status?.phase === "Bound",
  together: of.together,
  template: of.template
})

/** Any number of nodes can have it at once. One that can be written by one node only is where its user is, whatever else it can. */
export const isShared = ({ accessModes }: Pick<Claim, "accessModes">): boolean =>
  accessModes.includes("ReadWriteMany") ||
  (accessModes.length > 0 && accessModes.every((mode) => mode === "ReadOnlyMany"))

/** What no mover can have, whatever it would do with it. */
export const unfit = (claim: PersistentVolumeClaim, uses: ReadonlyArray<Usage.Use>): Refusal | undefined => {
  const { metadata, spec, status } = claim
  const name = nameOf(metadata.name)
  if (spec?.volumeMode === "Block") {
    return {
      reason: "UnsupportedVolumeMode",
      message: `${name} has volumeMode Block, and restic works on files: use a claim with volumeMode Filesystem`
    }
  }
  if (status?.phase === "Lost") {
    return {
      reason: "VolumeNotBound",
      message: `${name} has lost its volume: bring back PersistentVolume ${spec?.volumeName ?? ""}, or delete and create the claim`
    }
  }
  if (spec?.accessModes?.includes("ReadWriteOncePod") === true && uses.length > 0) {
    return {
      reason: "VolumeInUse",
      message: `${name} has access mode ReadWriteOncePod and is in use by ${Usage.names(uses)}, so no other pod can mount it: stop the pod meanwhile, or use a claim with ReadWriteOnce`
    }
  }
  return undefined
}

/** For messages. */
export const nameOf = (name: string): string => `PersistentVolumeClaim ${name}`
