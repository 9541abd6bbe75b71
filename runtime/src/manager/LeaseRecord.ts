/**
 * What a Lease says, what is believed of it, and what is written into it: plain functions.
 *
 * A Lease is held until it has not changed for as long as its holder promised to renew it, **by the clock of who looks**: from
 * when that one first saw it so. The times in it are the holder's, for people to read; clocks differ and jump, so nothing is
 * decided by them.
 */
import type { Lease } from "../resource/BuiltIn.ts"
import type { DesiredMeta } from "../resource/KubernetesObject.ts"
import * as Time from "../resource/Time.ts"
import * as LeaseScope from "./LeaseScope.ts"

/** Who wants it, and for how long at a time. */
export interface Candidate {
  readonly namespace: string
  readonly name: string
  /** Unique per process: who finds it as the holder is the holder. */
  readonly identity: string
  readonly leaseDurationMillis: number
  /** The scope of the candidate's work; undefined: the candidate takes any Lease. */
  readonly scope?: LeaseScope.LeaseScope | undefined
}

/** What is known of a Lease. */
export interface Observation {
  /** As it was last seen; undefined when it is not there. */
  readonly lease: Lease | undefined
  /** Who holds it; undefined for nobody. Of a Lease that was deleted, who did. */
  readonly holder: string | undefined
  /** Until when the holder is to be believed, in ms of the monotonic clock. */
  readonly heldUntil: number
  /** Tells one renewal from the next. */
  readonly version: string
}

/** Before anything was seen. */
export const nothing: Observation = { lease: undefined, holder: undefined, heldUntil: 0, version: "" }

/**
 * What is known after a look.
 *
 * A Lease that is deleted does not end its holder's claim: the holder leads on and makes it anew with its next renewal. Only
 * who never saw one takes its absence for freedom.
 *
 * @param now ms of the monotonic clock
 * @param durationMillis how long a holder is believed that does not say
 */
export const observe = (
  before: Observation,
  lease: Lease | undefined,
  now: number,
  durationMillis: number
): Observation => {
  if (lease === undefined) return { ...before, lease: undefined }
  // Metadata is left out: who labels a Lease does not renew it.
  const version = JSON.stringify(lease.spec ?? {})
  if (version === before.version) return { ...before, lease }
  const holder = lease.spec?.holderIdentity
  const seconds = lease.spec?.leaseDurationSeconds
  const promised = seconds !== undefined && seconds > 0 ? seconds * 1000 : durationMillis
  return holder === undefined || holder === ""
    ? { lease, holder: undefined, heldUntil: now, version }
    : { lease, holder, heldUntil: now + promised, version }
}

/** From when on the Lease may be taken by `identity`, in ms of the monotonic clock. */
export const freeAt = ({ heldUntil, holder }: Observation, identity: string): number =>
  holder === undefined || holder === identity ? 0 : heldUntil

/** A Lease as it is sent. Its resourceVersion guards it: what somebody else wrote meanwhile stays. */
type Written = Pick<Lease, "spec"> & { readonly metadata: DesiredMeta }

// A Lease knows whole seconds; rounded up, others wait a little longer than needed.
const seconds = (millis: number): number => Math.ceil(millis / 1000)

/**
 * The Lease, taken or renewed.
 *
 * @param at ms since 1970
 */
export const claimed = (lease: Lease | undefined, candidate: Candidate, at: number): Written => {
  const { identity, leaseDurationMillis, name, namespace, scope } = candidate
  const now = Time.micros(at)
  const mine = { holderIdentity: identity, leaseDurationSeconds: seconds(leaseDurationMillis), renewTime: now }
  const { spec = {} } = lease ?? {}
  const before: DesiredMeta = lease?.metadata ?? { namespace, name }
  const metadata =
    scope === undefined
      ? before
      : { ...before, annotations: { ...before.annotations, [LeaseScope.annotation]: LeaseScope.encode(scope) } }
  if (lease === undefined) return { metadata, spec: { ...mine, acquireTime: now, leaseTransitions: 0 } }
  return spec.holderIdentity === identity
    ? { metadata, spec: { ...spec, ...mine } }
    : { metadata, spec: { ...spec, ...mine, acquireTime: now, leaseTransitions: (spec.leaseTransitions ?? 0) + 1 } }
}

/** The scope of who held the Lease last; undefined if it does not say. */
export const scopeOf = (lease: Lease | undefined): LeaseScope.LeaseScope | undefined =>
  LeaseScope.decode(lease?.metadata.annotations?.[LeaseScope.annotation])

/** The Lease, free to be taken. */
export const released = ({ metadata, spec = {} }: Lease, at: number): Written => ({
  metadata,
  spec: { ...spec, holderIdentity: "", leaseDurationSeconds: 1, renewTime: Time.micros(at) }
})
