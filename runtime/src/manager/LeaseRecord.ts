/**
 * The record of a Lease: what a candidate observes and writes. Pure functions.
 *
 * A Lease is held until it has not changed for its lease duration, **by the clock of the observer** that saw this version. The times in
 * the Lease are only for people, because the clocks of other processes differ and jump. A user or another program may have written any
 * duration, so an observer waits at most for its own.
 */
import type { Lease } from "../resource/BuiltIn.ts"
import type { DesiredMeta } from "../resource/KubernetesObject.ts"
import * as Time from "../resource/Time.ts"
import * as LeaseScope from "./LeaseScope.ts"

/** A candidate and its lease duration. */
export interface Candidate {
  readonly namespace: string
  readonly name: string
  /** Unique per process. A process that finds its identity as the holder holds the Lease. */
  readonly identity: string
  readonly leaseDurationMillis: number
  /** The scope of the candidate's work; undefined: the candidate acquires any Lease. */
  readonly scope?: LeaseScope.LeaseScope | undefined
}

/** An observation of a Lease. */
export interface Observation {
  /** The last version; undefined if it does not exist. */
  readonly lease: Lease | undefined
  /** The holder; undefined if the Lease is free. For a deleted Lease, its last holder. */
  readonly holder: string | undefined
  /** When the claim of the holder expires, in ms of the monotonic clock. */
  readonly heldUntil: number
  /** Changes with each renewal. */
  readonly version: string
}

/** Before the first read. */
export const nothing: Observation = { lease: undefined, holder: undefined, heldUntil: 0, version: "" }

/** How many retry periods a holder has to create its deleted Lease again. Its next renewal does that. */
const renewals = 1.5

/**
 * The observation after a read.
 *
 * A deleted Lease does not end the holder's claim at once: a holder that still leads creates the Lease again with its next renewal. A
 * candidate that saw no holder may acquire it at once.
 *
 * @param now ms of the monotonic clock
 * @param own the durations of the observer
 */
export const observe = (
  before: Observation,
  lease: Lease | undefined,
  now: number,
  own: { readonly leaseDurationMillis: number; readonly retryPeriodMillis: number }
): Observation => {
  if (lease === undefined) {
    if (before.lease === undefined) return before
    const heldUntil = Math.min(before.heldUntil, now + renewals * own.retryPeriodMillis)
    return { ...before, lease: undefined, heldUntil, version: "" }
  }
  // Without metadata, because a new label is not a renewal.
  const version = JSON.stringify(lease.spec ?? {})
  if (version === before.version) return { ...before, lease }
  const holder = lease.spec?.holderIdentity
  const seconds = lease.spec?.leaseDurationSeconds
  const claimed = seconds !== undefined && seconds > 0 ? seconds * 1000 : own.leaseDurationMillis
  const promised = Math.min(claimed, own.leaseDurationMillis)
  return holder === undefined || holder === ""
    ? { lease, holder: undefined, heldUntil: now, version }
    : { lease, holder, heldUntil: now + promised, version }
}

/** From when `identity` may acquire the Lease, in ms of the monotonic clock. */
export const freeAt = ({ heldUntil, holder }: Observation, identity: string): number =>
  holder === undefined || holder === identity ? 0 : heldUntil

/** A Lease to send. Its resourceVersion protects the writes of other clients. */
type LeaseWrite = Pick<Lease, "spec"> & { readonly metadata: DesiredMeta }

// A Lease has whole seconds. Rounded up, others wait a little longer than needed.
const seconds = (millis: number): number => Math.ceil(millis / 1000)

/**
 * The Lease after it was acquired or renewed.
 *
 * @param at ms since 1970
 */
export const claimed = (lease: Lease | undefined, candidate: Candidate, at: number): LeaseWrite => {
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

/** The scope of the last holder; undefined if the Lease does not have it. */
export const scopeOf = (lease: Lease | undefined): LeaseScope.LeaseScope | undefined =>
  LeaseScope.decode(lease?.metadata.annotations?.[LeaseScope.annotation])

/** The released Lease. */
export const released = ({ metadata, spec = {} }: Lease, at: number): LeaseWrite => ({
  metadata,
  spec: { ...spec, holderIdentity: "", leaseDurationSeconds: 1, renewTime: Time.micros(at) }
})
