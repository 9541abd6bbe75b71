/**
 * The requests of an election, and what they tell of the Lease. Every request is sent once and has a deadline of its own, since
 * an election keeps time itself: half of the renew deadline, so that two fit in, but at least a second.
 *
 * Needs the rights to get, create, update and watch `leases` of `coordination.k8s.io` in the Lease's namespace.
 */
import type * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as ApiError from "../client/ApiError.ts"
import type { Client } from "../client/Client.ts"
import type * as Watch from "../client/Watch.ts"
import { Lease } from "../resource/BuiltIn.ts"
import type { InvalidObject } from "../resource/Resource.ts"
import * as Time from "../resource/Time.ts"
import * as LeaseRecord from "./LeaseRecord.ts"
import * as LeaseScope from "./LeaseScope.ts"

/** Why the Lease is followed no more. */
export type Broken = ApiError.ApiError | Watch.Ended | Watch.Idle

/** A Lease of managers that work on something else. */
export interface Different {
  readonly theirs: LeaseScope.LeaseScope
  readonly ours: LeaseScope.LeaseScope
  /** Whether the candidate works on none of it. */
  readonly disjoint: boolean
}

/** One Lease, as one candidate sees it. */
export interface LeaseLock {
  /** The monotonic clock, in ms: what all times here are of. */
  readonly now: () => number
  /** The wall clock, in ms since 1970. */
  readonly wall: () => number
  /** When the last claim was sent, by the wall clock. */
  readonly claimedAtWall: () => number
  /** What is known of the Lease. */
  readonly observed: () => LeaseRecord.Observation
  /** From when on the candidate may take it: never, if it is for what the candidate does not work on. */
  readonly freeAt: () => number
  /** The scope of the Lease, if the candidate has another one. */
  readonly different: () => Different | undefined
  /** Whether it may be the candidate's: it was, or the answer to a claim is not known. */
  readonly mayBeOurs: () => boolean
  /** Looks. */
  readonly look: Effect.Effect<void, ApiError.ApiError>
  /**
   * Takes the Lease, or renews it: the one that was last seen and no other. Gives when the request was sent, or nothing if
   * somebody else was there meanwhile: look again.
   */
  readonly claim: Effect.Effect<number | undefined, ApiError.ApiError>
  /** Gives it back, if it turns out to be the candidate's. `changed` if somebody else was there meanwhile: try again. */
  readonly release: Effect.Effect<"released" | "foreign" | "changed", ApiError.ApiError>
  /** Follows the Lease from what was last seen, calling `told` for every change. Ends with why that is over. */
  readonly follow: (told: () => void) => Effect.Effect<never, Broken>
}

/** Somebody else was faster. What a Lease can't be created for want of is its namespace, which no second look would find. */
const isStale = (error: ApiError.ApiError): boolean =>
  error._tag === "Conflict" ||
  error._tag === "AlreadyExists" ||
  (ApiError.isNotFound(error) && error.request.method !== "POST")

/** Whether a write did nothing for certain. */
const isWithoutEffect = (error: ApiError.ApiError): boolean =>
  error._tag === "Transport"
    ? error.outcome === "unsent"
    : ApiError.isAnswer(error) && error.code < 500 && error._tag !== "Timeout"

/** A lock on the Lease of a candidate. */
export const make = (
  client: Context.Tag.Service<Client>,
  candidate: LeaseRecord.Candidate & { readonly renewDeadlineMillis: number },
  clock: Clock.Clock
): LeaseLock => {
  const { identity, leaseDurationMillis, name, namespace } = candidate
  const timeoutMillis = Math.max(candidate.renewDeadlineMillis / 2, 1000)
  const request = { retry: false, timeoutMillis }
  const key = { namespace, name }
  const now = () => Time.monotonic(clock)
  const wall = () => clock.unsafeCurrentTimeMillis()
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
    observed = LeaseRecord.observe(observed, lease, now(), leaseDurationMillis)
    mayBeOurs = observed.holder === identity
  }

  /** A request whose answer is the Lease. True if it is, false if somebody else was there meanwhile. */
  const seen = (
    send: Effect.Effect<Lease, ApiError.ApiError | InvalidObject>
  ): Effect.Effect<boolean, ApiError.ApiError> =>
    send.pipe(
      // What the server has of a built-in kind is one.
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

  const follow: LeaseLock["follow"] = (told) =>
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
          see(event.type === "DELETED" ? undefined : Either.getOrUndefined(Lease.decode(event.object)))
          told()
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
