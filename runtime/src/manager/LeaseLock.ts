/**
 * The requests of an election. Each request is sent once, without a retry, because an election keeps its own time. Its timeout is
 * half the renew deadline, so that two requests fit, but at least a second.
 *
 * Needs the permissions to get, create, update and watch `leases` of `coordination.k8s.io` in the namespace of the Lease.
 */
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as ApiError from "../client/ApiError.ts"
import type { Client } from "../client/Client.ts"
import type * as Watch from "../client/Watch.ts"
import * as WriteSwitch from "../client/WriteSwitch.ts"
import { Lease } from "../resource/BuiltIn.ts"
import type { InvalidObject } from "../resource/Resource.ts"
import * as Time from "../resource/Time.ts"
import * as LeaseRecord from "./LeaseRecord.ts"
import * as LeaseScope from "./LeaseScope.ts"

/** Why the watch of the Lease ended. */
export type Broken = ApiError.ApiError | Watch.Ended | Watch.Idle

/** The Lease of managers with another scope. */
export interface Different {
  readonly theirs: LeaseScope.LeaseScope
  readonly ours: LeaseScope.LeaseScope
  /** Whether both scopes have no object in common. */
  readonly disjoint: boolean
}

/** One Lease for one candidate. */
export interface LeaseLock {
  /** The monotonic clock, in ms. All times of this module use it, unless they say otherwise. */
  readonly now: () => number
  /** The wall clock, in ms since 1970. */
  readonly wall: () => number
  /** When the last claim was sent, by the wall clock. */
  readonly claimedAtWall: () => number
  /** The last observation of the Lease. */
  readonly observed: () => LeaseRecord.Observation
  /** From when the candidate may acquire it; never if the scopes have no object in common. */
  readonly freeAt: () => number
  /** The scope of the Lease, if it differs from the candidate's. */
  readonly different: () => Different | undefined
  /** Whether the candidate may hold it: it did, or a claim got no answer. */
  readonly mayBeOurs: () => boolean
  /** Reads the Lease. */
  readonly look: Effect.Effect<void, ApiError.ApiError>
  /**
   * Acquires or renews the Lease in the version that was last observed. Returns when the request was sent, or undefined if another
   * client changed the Lease meanwhile: look again.
   */
  readonly claim: Effect.Effect<number | undefined, ApiError.ApiError>
  /** Releases the Lease if the candidate holds it. `changed` if another client changed it meanwhile: try again. */
  readonly release: Effect.Effect<"released" | "foreign" | "changed", ApiError.ApiError>
  /** Watches the Lease from the last observation, and calls `onChange` at every change. Fails with the reason when the watch ends. */
  readonly follow: (onChange: () => void) => Effect.Effect<never, Broken>
}

/** Another client was faster. NotFound of a create means a missing namespace, and another read would not help. */
const isStale = (error: ApiError.ApiError): boolean =>
  error._tag === "Conflict" ||
  error._tag === "AlreadyExists" ||
  (ApiError.isNotFound(error) && error.request.method !== "POST")

/** Whether a write certainly had no effect. An unreadable answer has the status of a success. */
const isWithoutEffect = (error: ApiError.ApiError): boolean =>
  error._tag === "Transport"
    ? error.outcome === "unsent"
    : ApiError.isAnswer(error) && error.code >= 400 && error.code < 500 && error._tag !== "Timeout"

/**
 * A lock on the Lease of a candidate.
 *
 * @param saw called with each version of the Lease
 */
export const make = (
  client: Client["Service"],
  candidate: LeaseRecord.Candidate & { readonly renewDeadlineMillis: number; readonly retryPeriodMillis: number },
  clock: Clock.Clock,
  saw: (lease: Lease | undefined) => void = () => {}
): LeaseLock => {
  const { identity, name, namespace } = candidate
  const timeoutMillis = Math.max(candidate.renewDeadlineMillis / 2, 1000)
  const request = { retry: false, timeoutMillis }
  const key = { namespace, name }
  const now = () => Time.monotonic(clock)
  const wall = () => clock.currentTimeMillisUnsafe()
  let observed = LeaseRecord.nothing
  let mayBeOurs = false
  let claimedAt = 0

  const different = (): Different | undefined => {
    const ours = candidate.scope
    const theirs = LeaseRecord.scopeOf(observed.lease)
    if (ours === undefined || theirs === undefined) return undefined
    const overlap = LeaseScope.overlap(ours, theirs)
    return overlap === "all" ? undefined : { ours, theirs, disjoint: overlap === "none" }
  }

  const see = (lease: Lease | undefined): void => {
    observed = LeaseRecord.observe(observed, lease, now(), candidate)
    mayBeOurs = observed.holder === identity
    saw(lease)
  }

  /** A request whose response is the Lease. True if it succeeded, false if another client was faster. */
  const seen = (
    send: Effect.Effect<Lease, ApiError.ApiError | InvalidObject>
  ): Effect.Effect<boolean, ApiError.ApiError> =>
    WriteSwitch.exempt(send).pipe(
      // The API server returns only valid objects of built-in kinds.
      Effect.catchTag("InvalidObject", Effect.die),
      Effect.map((lease) => {
        see(lease)
        return true
      }),
      Effect.catchIf(isStale, () => {
        mayBeOurs = observed.holder === identity
        return Effect.succeed(false)
      })
    )

  const look = Effect.map(seen(client.get(Lease, key, request)), (there) => {
    if (!there) see(undefined)
  })

  const claim = Effect.suspend(() => {
    const { lease } = observed
    const sentAt = now()
    claimedAt = wall()
    const wanted = LeaseRecord.claimed(lease, candidate, claimedAt)
    const before = mayBeOurs
    mayBeOurs = true
    const write = lease === undefined ? client.create(Lease, wanted, request) : client.replace(Lease, wanted, request)
    return seen(write).pipe(
      Effect.map((taken) => (taken ? sentAt : undefined)),
      Effect.tapError((error) =>
        Effect.sync(() => {
          if (isWithoutEffect(error)) mayBeOurs = before
        })
      )
    )
  })

  const release = Effect.gen(function* () {
    if (observed.holder !== identity) yield* look
    const { holder, lease } = observed
    if (holder !== identity || lease === undefined) return "foreign"
    const given = LeaseRecord.released(lease, wall())
    const done = yield* seen(client.replace(Lease, given, request))
    if (!done) yield* look
    return done ? "released" : "changed"
  })

  const follow: LeaseLock["follow"] = (onChange) =>
    Effect.gen(function* () {
      const connection = yield* client.watch(Lease, {
        namespace,
        fieldSelector: `metadata.name=${name}`,
        resourceVersion: observed.lease?.metadata.resourceVersion,
        timeoutMillis
      })
      while (true) {
        for (const event of yield* connection.next) {
          if (event.type === "BOOKMARK") continue
          if (event.type === "ERROR") return yield* event.error
          see(event.type === "DELETED" ? undefined : Result.getOrUndefined(Lease.decode(event.object)))
          onChange()
        }
      }
    }).pipe(Effect.scoped)

  return {
    now,
    wall,
    claimedAtWall: () => claimedAt,
    observed: () => observed,
    freeAt: () => (different()?.disjoint === true ? Number.POSITIVE_INFINITY : LeaseRecord.freeAt(observed, identity)),
    different,
    mayBeOurs: () => mayBeOurs,
    look,
    claim,
    release,
    follow
  }
}
