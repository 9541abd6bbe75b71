/**
 * One leader among the replicas of a program, by a Lease: client-go's protocol and fields, so that tools understand it.
 *
 * Flow: a standby watches the Lease. It takes it when its holder gave it back, which the watch tells within milliseconds, or
 * when the holder did not renew it for as long as it promised, by the standby's own clock. A leader renews every retry period.
 * Its leadership ends a renew deadline after the last successful renewal was **sent**: by then its fence is closed, and its
 * reconciles are interrupted; that is sooner than anybody else may take the Lease. It then stands by again: no exit, and its
 * caches stay warm. Stopped in order, it drains first, renewing all the while, and then gives the Lease back.
 *
 * Guarantees: of two processes at most one may write as the leader at any time, as long as their clocks run about equally fast
 * (what they show does not matter) and the Lease's record is not tampered with. A leadership ends when either the monotonic clock or
 * the wall clock has run out, since the monotonic clock of some machines stands still while they are suspended. So a machine whose
 * time is set forward loses its leadership, and takes it again at once.
 *
 * Errors: none. Whatever goes wrong is told in the log, once, and tried again. A watch that is refused or breaks is replaced by
 * looking every retry period.
 *
 * Where several wait for one Lease, all try to take it at once, and the server's guard decides: that is one small request each,
 * and a delay to spread them would be paid at every hand-over. Only what is repeated is spread at random.
 *
 * Needs the rights of `LeaseLock`, and those to create and patch Events in the Lease's namespace.
 */
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import type { ApiError } from "../client/ApiError.ts"
import { Client } from "../client/Client.ts"
import type * as Fence from "../client/Fence.ts"
import * as Right from "../client/Right.ts"
import * as EventRecorder from "../events/EventRecorder.ts"
import * as Metric from "../telemetry/Metric.ts"
import * as Metrics from "../telemetry/Metrics.ts"
import * as Leadership from "./Leadership.ts"
import * as LeaseLock from "./LeaseLock.ts"
import * as LeaseScope from "./LeaseScope.ts"
import * as Standby from "./Standby.ts"

/** Which Lease, and how often. The defaults are client-go's. */
export interface Settings {
  /** Where the Lease is. */
  readonly namespace: string
  /** The name of the Lease: the same for all replicas. */
  readonly name: string
  /** Unique per process, also among those of one pod: see {@link identityOf}. */
  readonly identity: string
  /** How long others wait for a holder that renews no more. Default 15 seconds. In the Lease, rounded up to whole seconds. */
  readonly leaseDuration?: Duration.DurationInput | undefined
  /** How long a leader leads on without a successful renewal. Default 10 seconds. */
  readonly renewDeadline?: Duration.DurationInput | undefined
  /** How often a leader renews. Default 2 seconds. */
  readonly retryPeriod?: Duration.DurationInput | undefined
  /**
   * The scope of the leader's work, which the Lease carries. A candidate never takes a Lease whose last holder worked on nothing that
   * the candidate works on. Default: any Lease is taken.
   */
  readonly scope?: LeaseScope.LeaseScope | undefined
}

/** These durations could give two leaders, or none for long. */
export class InvalidSettings extends Data.TaggedError("InvalidSettings")<{ readonly message: string }> {}

/** An identity that no other process has: who runs it, and something random. */
export const identityOf = (instance: string): string => `${instance}_${crypto.randomUUID()}`

/** How an election stands. */
export interface State {
  readonly leading: boolean
  /** Who holds the Lease, as far as is known. */
  readonly holder: string | undefined
  /** Why the Lease is never taken, in one sentence; undefined if it may be. */
  readonly refused?: string | undefined
}

/** An election. */
export interface LeaderElection {
  /** Of this process. */
  readonly identity: string
  readonly lease: { readonly namespace: string; readonly name: string }
  readonly state: () => State
  /**
   * Takes part until `stop`. Runs `lead` whenever the Lease is ours and interrupts it when that ends. After `stop`, `lead` is to
   * end by itself, with true if nothing runs any more: only then is the Lease given back. To be run once.
   */
  readonly run: <R>(
    lead: (permit: Fence.Permit) => Effect.Effect<boolean, never, R>,
    stop: Deferred.Deferred<void>
  ) => Effect.Effect<void, never, R | Client | EventRecorder.EventRecorder>
}

/** How long a leader tries to give its Lease back. Others get it without, some seconds later. */
const releaseTimeout = Duration.seconds(3)

/** The same for who never led but may have taken it: no answer came to the claim. */
const retreatTimeout = Duration.millis(500)

/** A renewal is due this many times at least before a leadership ends; as in client-go. */
const jitter = 1.2

/** Durations that go together. */
export interface Times {
  readonly leaseDurationMillis: number
  readonly renewDeadlineMillis: number
  readonly retryPeriodMillis: number
}

/** The durations of an election, if they go together; the refusal names the two flags that do not. */
export const timesOf = (
  settings: Pick<Settings, "leaseDuration" | "renewDeadline" | "retryPeriod">
): Either.Either<Times, InvalidSettings> => {
  const lease = Duration.decode(settings.leaseDuration ?? "15 seconds")
  const renew = Duration.decode(settings.renewDeadline ?? "10 seconds")
  const retry = Duration.decode(settings.retryPeriod ?? "2 seconds")
  const is = (flag: string, duration: Duration.Duration) => `--${flag} (${Duration.format(duration)})`
  const wrong = (message: string) => Either.left(new InvalidSettings({ message }))
  if (Duration.toMillis(retry) <= 0) return wrong(`${is("retry-period", retry)} must be longer than 0`)
  if (Duration.lessThanOrEqualTo(renew, Duration.times(retry, jitter))) {
    return wrong(
      `${is("renew-deadline", renew)} must be longer than ${jitter} times ${is("retry-period", retry)}, or one late renewal ends a leadership`
    )
  }
  if (Duration.lessThanOrEqualTo(lease, renew)) {
    return wrong(
      `${is("lease-duration", lease)} must be longer than ${is("renew-deadline", renew)}, or a second leader could start before the first has stopped`
    )
  }
  return Either.right({
    leaseDurationMillis: Duration.toMillis(lease),
    renewDeadlineMillis: Duration.toMillis(renew),
    retryPeriodMillis: Duration.toMillis(retry)
  })
}

/** An election for these settings. Nothing is asked of the server before it runs. */
export const make = (settings: Settings): Either.Either<LeaderElection, InvalidSettings> =>
  Either.map(timesOf(settings), (times) => elect(settings, times))

const elect = ({ identity, name, namespace, scope }: Settings, times: Times): LeaderElection => {
  const lease = `${namespace}/${name}`
  let state: State = { leading: false, holder: undefined }

  const run: LeaderElection["run"] = (lead, stop) =>
    Effect.gen(function* () {
      const recorder = yield* EventRecorder.EventRecorder
      const registry = yield* Metrics.Metrics
      const status = registry.gauge(Metric.leaderElectionMasterStatus, { name })
      const slowPaths = registry.counter(Metric.leaderElectionSlowpath, { name })
      const renewals = registry.histogram(Metric.leaseRenewDuration, { name })
      const lock = LeaseLock.make(yield* Client, { identity, name, namespace, scope, ...times }, yield* Effect.clock)

      /** What is in the way, each thing once until it is mended. */
      const problems = new Map<string, string>()
      const complain = (verb: Verb, error: ApiError) =>
        Effect.suspend(() => {
          const line = describe(lease, verb, error)
          if (problems.get(verb) === line) return Effect.void
          problems.set(verb, line)
          return Effect.logWarning(line)
        })
      const mended = (verb: Verb) =>
        Effect.suspend(() =>
          problems.delete(verb) ? Effect.logInfo(`Can ${verb} the Lease ${lease} again`) : Effect.void
        )

      const move = (leading: boolean) =>
        Effect.suspend(() => {
          if (state.leading === leading) return Effect.void
          const { holder, lease: regarding } = lock.observed()
          state = { leading, holder }
          status.set(leading ? 1 : 0)
          if (regarding === undefined) return Effect.void
          const note = `${identity} ${leading ? "became leader" : "stopped leading"}`
          return recorder.record({
            regarding,
            type: "Normal",
            reason: "LeaderElection",
            action: "LeaderElection",
            note
          })
        })

      const acquire = Standby.acquire(lock, times, {
        holder: (holder) =>
          Effect.suspend(() => {
            const different = lock.different()
            const refused = different?.disjoint === true ? refusal(lease, different) : undefined
            if (state.holder === holder && state.refused === refused) return Effect.void
            state = { leading: false, holder, refused }
            if (refused !== undefined) return Effect.logError(refused)
            if (holder === undefined || holder === identity) return Effect.void
            const line = `Standing by: ${holder} holds the Lease ${lease}`
            return different === undefined
              ? Effect.logInfo(line)
              : Effect.logWarning(
                  `${line} for ${LeaseScope.describe(different.theirs)}, and this manager runs ${LeaseScope.describe(different.ours)}: ${advice}, unless this is a rolling update`
                )
          }),
        failed: complain,
        succeeded: mended
      })

      /** One leadership. Whether everything has ended that ran in it, or nothing if it was lost. */
      const reign = (sentAt: number) =>
        Effect.gen(function* () {
          const leadership = Leadership.make(lock, { lease, identity, ...times }, sentAt, {
            renewed: (millis) => {
              renewals.observe(millis / 1000)
              return mended("renew")
            },
            failed: (error) => complain("renew", error),
            surprised: Effect.sync(() => slowPaths.add())
          })
          yield* Effect.logInfo(`Leading, with the Lease ${lease}, as ${identity}`)
          yield* move(true)
          const lost = Effect.tap(leadership.lost, (reason) =>
            Effect.zipRight(Effect.logWarning(`No longer leading: ${reason}. Standing by`), move(false))
          )
          const drained = yield* Effect.raceFirst(
            Effect.asSome(lead(leadership.permit)),
            Effect.as(lost, Option.none())
          )
          yield* leadership.end
          return drained
        })

      // Nothing else runs that could mind.
      let patience: Duration.Duration | undefined = retreatTimeout
      while (true) {
        const sentAt = yield* Effect.raceFirst(acquire, Effect.as(Deferred.await(stop), undefined))
        // Both may have come true at once: who is to stop starts nothing any more.
        if (sentAt === undefined || (yield* Deferred.isDone(stop))) break
        const drained = yield* reign(sentAt)
        patience = Option.getOrElse(drained, () => false) ? releaseTimeout : undefined
        if (Option.isSome(drained)) break
      }
      if (patience !== undefined) yield* release(lock, lease, patience)
      yield* move(false)
    })

  return { identity, lease: { namespace, name }, state: () => state, run }
}

const advice = "managers that work side by side each need a --leader-elect-lease-name of their own"

/** Why a Lease is not waited for. */
const refusal = (lease: string, { ours, theirs }: LeaseLock.Different): string =>
  `The Lease ${lease} is for ${LeaseScope.describe(theirs)}, and this manager runs ${LeaseScope.describe(ours)}: ${advice}; delete the Lease if no other manager uses it`

/** Gives the Lease back, so that others need not wait for its end. */
const release = (lock: LeaseLock.LeaseLock, lease: string, patience: Duration.Duration): Effect.Effect<void> =>
  Effect.suspend(() =>
    lock.mayBeOurs()
      ? lock.release.pipe(
          Effect.tapError((error) => Effect.logDebug(`Could not release the Lease ${lease}: ${error.message}`)),
          Effect.orElseSucceed(() => "changed" as const),
          Effect.tap((release) =>
            release === "released" ? Effect.logInfo(`Released the Lease ${lease}`) : Effect.void
          ),
          Effect.repeat({ until: (release) => release !== "changed", schedule: Schedule.spaced("100 millis") }),
          Effect.timeoutOption(patience),
          Effect.flatMap((ended) =>
            Option.isNone(ended)
              ? Effect.logWarning(`The Lease ${lease} could not be released: others wait until it expires`)
              : Effect.void
          )
        )
      : Effect.void
  )

type Verb = "get" | "watch" | "take" | "renew"

/** One line that names what fails and, if that is it, the missing right. */
const describe = (lease: string, verb: Verb, error: ApiError): string => {
  const right = error._tag === "Forbidden" ? Right.wanting(error) : undefined
  return right !== undefined
    ? `cannot ${verb} the Lease ${lease}: ${Right.describe(right)}; ${error.message}`
    : `cannot ${verb} the Lease ${lease}, trying again: ${error.message}`
}
