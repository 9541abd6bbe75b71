/**
 * Claims that are written to: the target of a Restore, and the claim of a `pvc://` destination. Pure.
 *
 * Both may be without a volume yet: where a StorageClass waits for the first consumer, the mover's pod is meant to be it.
 */
import * as Either from "effect/Either"
import * as Claim from "./Claim.ts"
import * as Placement from "./Placement.ts"
import type * as Source from "./Source.ts"
import * as Usage from "./Usage.ts"

/** What was read in the namespace. */
export type Seen = Pick<Source.Seen, "claims" | "pods">

type Found = Either.Either<Claim.Claim, Claim.Refusal>

/**
 * The claim of a Restore's `spec.targetPVC`.
 *
 * One that a live pod uses is written to only with `overwrite`, even while it is empty: what the pod writes next would be mixed
 * with what is restored, and nobody could tell them apart.
 */
export const ofRestore = (name: string, seen: Seen, options: { readonly overwrite: boolean }): Found => {
  const uses = Usage.of(name, seen.pods)
  return Either.flatMap(find(name, seen, uses, absentTarget), (claim) =>
    uses.length > 0 && !options.overwrite
      ? refuse(
          "VolumeInUse",
          `${Claim.nameOf(name)} is in use by ${Usage.names(uses)}, and what they write would be mixed with what is restored: scale their workload to zero, or create a Restore with spec.overwrite`
        )
      : Either.right(claim)
  )
}

/**
 * As whom a Restore writes to a claim that no pod uses: as who read the files.
 *
 * The root folder of a new volume is mostly root's alone, so the kubelet is asked to give it to a group. It is not where there
 * may be files by now: their group would change, before the mover could see that it must not write there.
 */
export const writer = (claim: Claim.Claim, reader: Placement.Security): Placement.Security =>
  claim.isBound ? reader : Placement.withGroup(reader)

/**
 * The claim of a `pvc://` destination.
 *
 * @param others the claims that are saved, or written to: none of them can hold the repository
 */
export const ofDestination = (name: string, seen: Seen, others: ReadonlyArray<Claim.Claim>): Found =>
  others.some((other) => other.name === name)
    ? refuse(
        "VolumeInUse",
        `${Claim.nameOf(name)} holds the repository of spec.destination, so it cannot be saved to or restored from it: both would be lost together. Delete and create the Backup with another spec.destination`
      )
    : find(name, seen, Usage.of(name, seen.pods), absentDestination)

const absentTarget = {
  reason: "TargetNotFound",
  of: "of spec.targetPVC",
  advice: "create it, large enough for what is restored"
} as const

const absentDestination = {
  // To who reads the condition, a volume to save to that is not there is the same as one that is not bound.
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
    return refuse(absent.reason, `${Claim.nameOf(name)} ${absent.of} not found: ${absent.advice}`)
  }
  if (claim.metadata.deletionTimestamp !== undefined) {
    return refuse(
      absent.reason,
      `${Claim.nameOf(name)} ${absent.of} is being deleted, and no pod can mount it any more. When it is gone, ${absent.advice}`
    )
  }
  const refusal = Claim.unfit(claim, uses)
  return refusal === undefined ? Either.right(Claim.make(claim)) : Either.left(refusal)
}

const refuse = (reason: Claim.Refusal["reason"], message: string) => Either.left<Claim.Refusal>({ reason, message })
