/**
 * Leader election among the replicas of a program with a Lease. The protocol and the fields are those of client-go.
 *
 * A standby watches the Lease. It acquires the Lease when the holder has released it, which the watch reports within milliseconds. It
 * also acquires the Lease when the holder has not renewed it for the lease duration, by the clock of the standby. A leader renews the
 * Lease every retry period. Its leadership ends one renew deadline after it **sent** the last successful renewal: its fence closes
 * and its reconciles are interrupted before another candidate may acquire the Lease. Then it is a standby again. The process keeps
 * running and its caches stay warm. On shutdown it drains first, still renewing the Lease, and then releases the Lease.
 *
 * At most one process writes as the leader at any time. That holds if all clocks run at about the same rate and no user edits the
 * Lease. The time of day does not matter. A leadership ends when either the monotonic or the wall clock reaches the deadline, because
 * some monotonic clocks stop while the machine is suspended. A machine whose time is set forward loses its leadership and acquires it
 * again.
 *
 * It never fails: it logs each problem once and retries. If the watch is forbidden or breaks, it polls every retry period.
 *
 * All waiting candidates try to acquire a free Lease at once, and the resourceVersion decides. A random delay would slow every change
 * of the leader, so only repeated requests are spread at random.
 *
 * Needs the permissions of `LeaseLock`, and those to create and patch Events in the namespace of the Lease.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schedule from "effect/Schedule"
import type { ApiError } from "../client/ApiError.ts"
import { Client } from "../client/Client.ts"
import type * as Fence from "../client/Fence.ts"
import * as Permission from "../client/Permission.ts"
import * as WriteSwitch from "../client/WriteSwitch.ts"
import * as EventRecorder from "../events/EventRecorder.ts"
import * as Metric from "../telemetry/Metric.ts"
import * as Metrics from "../telemetry/Metrics.ts"
import * as Leadership from "./Leadership.ts"
import * as LeaseLock from "./LeaseLock.ts"
import * as LeaseScope from "./LeaseScope.ts"
import * as LeaseStop from "./LeaseStop.ts"
import * as Overlap from "./Overlap.ts"
import * as Standby from "./Standby.ts"

/** The Lease and the durations. The defaults are client-go's. */
export interface Settings {
  /** The namespace of the Lease. */
  readonly namespace: string
  /** The name of the Lease: the same for all replicas. */
  readonly name: string
  /** Unique per process, also within one pod: see {@link identityOf}. */
  readonly identity: string
  /** How long others wait for a holder that does not renew. Default 15 seconds. The Lease has it in whole seconds, rounded up. */
  readonly leaseDuration?: Duration.Input | undefined
  /** How long a leader continues without a successful renewal. Default 10 seconds. */
  readonly renewDeadline?: Duration.Input | undefined
  /** The interval between renewals. Default 2 seconds. */
  readonly retryPeriod?: Duration.Input | undefined
  /**
   * The scope of the leader's work, which the Lease records. A candidate never acquires a Lease whose last holder had no objects in
   * common with the candidate. Default: any Lease.
   */
  readonly scope?: LeaseScope.LeaseScope | undefined
}

/** With these durations two leaders would be possible, or a long time without a leader. */
export class InvalidSettings extends Data.TaggedError("InvalidSettings")<{ readonly message: string }> {}

/**
 * An identity that is unique per process: the instance and a random part.
 *
 * @example
 * ```ts
 * const election = LeaderElection.make({ namespace: "sites", name: "sites", identity: LeaderElection.identityOf("sites-0") })
 * ```
 */
export const identityOf = (instance: string): string => `${instance}_${crypto.randomUUID()}`

/** The state of an election. */
export interface State {
  readonly leading: boolean
  /** The holder of the Lease, if known. */
  readonly holder: string | undefined
  /** The stop of all writes that holds now. */
  readonly stop?: WriteSwitch.Stop | undefined
  /** The other managers that share objects with this leader, in one line. */
  readonly overlap?: string | undefined
  /** Why the candidate never acquires the Lease, in one sentence; undefined if it may. */
  readonly refused?: string | undefined
}

/** An election. */
export interface LeaderElection {
  /** The identity of this process. */
  readonly identity: string
  readonly lease: { readonly namespace: string; readonly name: string }
  readonly state: () => State
  /**
   * Takes part until `stop`. Runs `lead` while this process holds the Lease, and interrupts it when the leadership ends. After
   * `stop`, `lead` must end by itself and return true if all its work has ended: only then is the Lease released. Run it once.
   */
  readonly run: <R>(
    lead: (permit: Fence.Permit) => Effect.Effect<boolean, never, R>,
    stop: Deferred.Deferred<void>
  ) => Effect.Effect<void, never, R | Client | EventRecorder.EventRecorder>
}

/** How long a leader tries to release its Lease. If it fails, others wait until the Lease expires. */
const releaseTimeout = Duration.seconds(3)

/** The same for a process that never led but may hold the Lease, because a claim got no answer. */
const retreatTimeout = Duration.millis(500)

/** A leadership lasts at least this many retry periods, as in client-go. */
const jitter = 1.2

/** The durations of an election. */
export interface Times {
  readonly leaseDurationMillis: number
  readonly renewDeadlineMillis: number
  readonly retryPeriodMillis: number
}

/**
 * The durations of an election. The error names the two flags that contradict each other.
 *
 * @internal
 */
export const timesOf = (
  settings: Pick<Settings, "leaseDuration" | "renewDeadline" | "retryPeriod">
): Result.Result<Times, InvalidSettings> => {
  const lease = Duration.fromInputUnsafe(settings.leaseDuration ?? "15 seconds")
  const renew = Duration.fromInputUnsafe(settings.renewDeadline ?? "10 seconds")
  const retry = Duration.fromInputUnsafe(settings.retryPeriod ?? "2 seconds")
  const is = (flag: string, duration: Duration.Duration) => `--${flag} (${Duration.format(duration)})`
  const wrong = (message: string) => Result.fail(new InvalidSettings({ message }))
  if (Duration.toMillis(retry) <= 0) return wrong(`${is("leader-elect-retry-period", retry)} must be longer than 0`)
  if (Duration.isLessThanOrEqualTo(renew, Duration.times(retry, jitter))) {
    return wrong(
      `${is("leader-elect-renew-deadline", renew)} must be longer than ${jitter} times ${is("leader-elect-retry-period", retry)}, or one late renewal ends a leadership`
    )
  }
  if (Duration.isLessThanOrEqualTo(lease, renew)) {
    return wrong(
      `${is("leader-elect-lease-duration", lease)} must be longer than ${is("leader-elect-renew-deadline", renew)}, or a second leader could start before the first has stopped`
    )
  }
  return Result.succeed({
    leaseDurationMillis: Duration.toMillis(lease),
    renewDeadlineMillis: Duration.toMillis(renew),
    retryPeriodMillis: Duration.toMillis(retry)
  })
}

/**
 * An election with these settings. It sends no request before `run`.
 *
 * @example
 * ```ts
 * const election = LeaderElection.make({ namespace: "sites", name: "sites", identity: "sites-0" })
 * const manager = Effect.flatMap(Effect.fromResult(election), (leaderElection) => Manager.launch([controller], { leaderElection }))
 * ```
 */
export const make = (settings: Settings): Result.Result<LeaderElection, InvalidSettings> =>
  Result.map(timesOf(settings), (times) => elect(settings, times))

const elect = ({ identity, name, namespace, scope }: Settings, times: Times): LeaderElection => {
  const lease = `${namespace}/${name}`
  let state: State = { leading: false, holder: undefined }
  let writes: WriteSwitch.WriteSwitch | undefined
  let overlap: string | undefined

  const run: LeaderElection["run"] = (lead, stop) =>
    Effect.gen(function* () {
      const recorder = yield* EventRecorder.EventRecorder
      const registry = yield* Metrics.Metrics
      const status = registry.gauge(Metric.leaderElectionMasterStatus, { name })
      const slowPaths = registry.counter(Metric.leaderElectionSlowpath, { name })
      const renewals = registry.histogram(Metric.leaseRenewDuration, { name })
      const clock = yield* Clock.Clock
      writes = yield* WriteSwitch.WriteSwitch
      const stops = writes === undefined ? undefined : LeaseStop.follower(writes, clock)
      const candidate = { identity, name, namespace, scope, ...times }
      const lock = LeaseLock.make(yield* Client, candidate, clock, stops?.see)
      if (writes !== undefined && stops !== undefined) {
        const reported = LeaseStop.reported(writes, stops, {
          name: lease,
          lease: () => lock.observed().lease,
          isLeading: () => state.leading,
          recorder,
          stopped: registry.gauge(Metric.writesStopped, { name })
        })
        yield* Effect.forkChild(reported)
      }

      /** The current problems; each is logged once until it is fixed. */
      const problems = new Map<string, string>()
      const complain = (verb: Verb, error: ApiError) =>
        Effect.suspend(() => {
          const line = describe(lease, verb, error)
          if (problems.get(verb) === line) return Effect.void
          problems.set(verb, line)
          return Effect.logWarning(line)
        })
      const resolved = (verb: Verb) =>
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
        succeeded: resolved
      })

      /** Looks for other managers with objects of this one while it leads. */
      const alone = <A, E, R>(leading: Effect.Effect<A, E, R>) => {
        if (scope === undefined) return leading
        const shared = registry.gauge(Metric.overlappingManagers, { name })
        const looking = Overlap.watch({ namespace, name, scope }, (count, line) => {
          shared.set(count)
          overlap = line
        })
        return Effect.raceFirst(
          leading,
          Effect.catchDefect(looking, (defect) =>
            Effect.andThen(
              Effect.logError("The look for other managers failed unexpectedly", Cause.die(defect)),
              Effect.never
            )
          )
        )
      }

      /** One leadership. Returns whether all its work has ended, or undefined if the leadership was lost. */
      const leadUntilEnd = (sentAt: number) =>
        Effect.gen(function* () {
          const leadership = Leadership.make(lock, { lease, identity, ...times }, sentAt, {
            renewed: (millis) => {
              renewals.observe(millis / 1000)
              return resolved("renew")
            },
            failed: (error) => complain("renew", error),
            surprised: Effect.sync(() => slowPaths.add())
          })
          yield* Effect.logInfo(`Leading, with the Lease ${lease}, as ${identity}`)
          yield* move(true)
          const lost = Effect.tap(leadership.lost, (reason) =>
            Effect.andThen(Effect.logWarning(`No longer leading: ${reason}. Standing by`), move(false))
          )
          const drained = yield* Effect.raceFirst(
            Effect.asSome(alone(lead(leadership.permit))),
            Effect.as(lost, Option.none())
          )
          yield* leadership.end
          return drained
        })

      // No work of the leader runs.
      let patience: Duration.Duration | undefined = retreatTimeout
      while (true) {
        const sentAt = yield* Effect.raceFirst(acquire, Effect.as(Deferred.await(stop), undefined))
        // Both may have happened at once: after `stop` no leadership starts.
        if (sentAt === undefined || (yield* Deferred.isDone(stop))) break
        const drained = yield* leadUntilEnd(sentAt)
        patience = Option.getOrElse(drained, () => false) ? releaseTimeout : undefined
        if (Option.isSome(drained)) break
      }
      if (patience !== undefined) yield* release(lock, lease, patience)
      yield* move(false)
    })

  return {
    identity,
    lease: { namespace, name },
    state: () => {
      const stop = writes?.stop()
      return stop === undefined && overlap === undefined ? state : { ...state, stop, overlap }
    },
    run
  }
}

const advice = "managers that work side by side each need a --leader-elect-resource-name of their own"

/** Why the candidate does not wait for a Lease. */
const refusal = (lease: string, { ours, theirs }: LeaseLock.Different): string =>
  `The Lease ${lease} is for ${LeaseScope.describe(theirs)}, and this manager runs ${LeaseScope.describe(ours)}: ${advice}; delete the Lease if no other manager uses it`

/** Releases the Lease, so that others do not wait until it expires. */
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

/** One line that names the failed request and, for Forbidden, the missing permission. */
const describe = (lease: string, verb: Verb, error: ApiError): string => {
  const permission = error._tag === "Forbidden" ? Permission.missing(error) : undefined
  return permission !== undefined
    ? `cannot ${verb} the Lease ${lease}: ${Permission.describe(permission)}; ${error.message}`
    : `cannot ${verb} the Lease ${lease}, trying again: ${error.message}`
}
