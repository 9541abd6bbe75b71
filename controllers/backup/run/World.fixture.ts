/**
 * A simulated world for the decisions of a Backup: an API server's Backup and Jobs, two clocks, and a manager that may crash between
 * any two writes. The manager makes the same decisions as BackupController; the test controls the Jobs.
 */
import type { Job } from "@homeostat/runtime/resource/BuiltIn"
import * as Time from "@homeostat/runtime/resource/Time"
import * as Duration from "effect/Duration"
import type { Backup } from "../kinds/Backup.ts"
import * as Settings from "../Settings.ts"
import { accepted, backup, exited, group, understood } from "./Backups.fixture.ts"
import * as JobProgress from "./JobProgress.ts"
import * as MoverJob from "./MoverJob.ts"
import * as NextAction from "./NextAction.ts"
import type * as Outcome from "./Outcome.ts"
import * as RunPlan from "./RunPlan.ts"
import * as RunState from "./RunState.ts"
import * as Status from "./RunStatus.ts"
import * as Summary from "./Summary.ts"

/** Where the manager crashes: before the write of a Job, before that of the status, or after it. */
export type Crash = "never" | "before the Job" | "before the status" | "after the status"

/** The history of a world. */
export interface History {
  /** The first Jobs of runs, in order. */
  readonly begun: ReadonlyArray<{
    /** The uid of the Job. */
    readonly job: string
    readonly tick: number | undefined
    readonly trigger: string
    /** How often the clock had been set back. */
    readonly epoch: number
  }>
  /** The runs that the status reported as ended, by the UID of their last Job. */
  readonly reported: ReadonlyArray<string>
  readonly events: ReadonlyArray<string>
}

/** A world with a new Backup. */
export const make = (
  spec: { readonly [field: string]: unknown },
  options: {
    /** Epoch milliseconds. */
    readonly start: number
    /** The number of nodes with volumes. */
    readonly nodes: number
    /** The API server's clock changes with the manager's, as on one machine. */
    readonly oneClock: boolean
  }
) => {
  let object: Backup = backup(spec, { creationTimestamp: Time.seconds(options.start) })
  let jobs: ReadonlyArray<Job> = []
  let now = options.start
  let serverAhead = 0
  let made = 0
  const endings = new Map<string, { readonly ending: Outcome.Ending; readonly at: number }>()
  const late = new Set<string>()
  let begun: ReadonlyArray<History["begun"][number]> = []
  let epoch = 0
  const reported: Array<string> = []
  const events: Array<string> = []
  const known = understood(object)
  const groups = Array.from({ length: options.nodes }, (_, index) => group(`data-${index}`))
  const settings = Settings.of({})
  const server = () => now + serverAhead

  const open = () => jobs.filter((job) => !JobProgress.isOver(job))

  const sorted = () =>
    [...jobs].sort(
      (one, other) =>
        JobProgress.madeAt(one) - JobProgress.madeAt(other) || one.metadata.name.localeCompare(other.metadata.name)
    )

  const progressOf = (job: Job): JobProgress.Progress => {
    if (JobProgress.isOver(job)) {
      return {
        _tag: "Ended",
        ...(endings.get(job.metadata.uid) ?? { ending: { _tag: "Lost", succeeded: true }, at: 0 })
      }
    }
    return late.has(job.metadata.uid)
      ? {
          _tag: "Starting",
          since: now - Duration.toMillis(settings.startTimeout),
          obstacle: undefined,
          message: "no node"
        }
      : { _tag: "Running", message: "" }
  }

  /** Decides only from the API server's objects, like a manager that has just started. */
  const decide = () => {
    const of: Backup = JSON.parse(JSON.stringify(object))
    const found = RunPlan.current(of.status ?? {}, sorted())
    const { draft, job, remaining } = RunState.of(of, found && { job: found, progress: progressOf(found) }, {
      now,
      startTimeout: settings.startTimeout
    })
    const decision = NextAction.make(of, known, draft, { jobs: sorted(), isBetweenJobs: remaining !== undefined, now })
    return { of, remaining, job, decision }
  }

  const reconcile = (crash: Crash = "never"): void => {
    const { decision, job: before, of, remaining } = decide()
    const { request } = decision
    let { draft } = decision
    let waiting: string | undefined
    if (request !== undefined || remaining !== undefined) {
      const part = RunPlan.part(groups, remaining?.claims)
      if (part === undefined) throw new Error("there is nothing to save")
      const work = RunPlan.work(of, draft.status, known, {
        part,
        request,
        before,
        credentials: { env: [], volumes: [], volumeMounts: [] }
      })
      const there = jobs.find(({ metadata }) => metadata.name === work.name)
      const busy = open().length > 0 || there?.metadata.deletionTimestamp !== undefined
      if (there === undefined && !busy) {
        if (crash === "before the Job") return
        const desired = MoverJob.desired(work, Settings.defaults)
        made += 1
        const uid = `job-${made}`
        const metadata = {
          ...desired.metadata,
          uid,
          resourceVersion: "1",
          creationTimestamp: Time.seconds(server())
        }
        // The fields that a server adds to a new Job.
        jobs = [...jobs, { ...desired, metadata, status: {} } as Job]
        if (request !== undefined) {
          begun = [...begun, { job: uid, tick: request.tick, trigger: request.trigger, epoch }]
        }
      }
      const job = jobs.find(({ metadata }) => metadata.name === work.name)
      if (job === undefined || job.metadata.deletionTimestamp !== undefined) waiting = "it waits"
      else {
        const active = remaining === undefined ? RunPlan.activeOf(job) : RunPlan.continued(remaining.active, job)
        draft = Status.started(draft, active, request?.tick, request?.missed)
      }
    }
    if (crash === "before the status") return
    const whole = Summary.of(of, draft, {
      understood: known,
      obstacle: undefined,
      course: undefined,
      waiting,
      sharing: undefined,
      next: decision.next,
      now
    })
    const { lastRun } = whole.status
    const isNews = JSON.stringify(lastRun) !== JSON.stringify(object.status?.lastRun)
    if (lastRun !== undefined && isNews) reported.push(lastRun.uid ?? lastRun.job)
    object = { ...object, status: accepted(whole.status) }
    events.push(...whole.events.map(({ reason }) => reason))
    if (crash === "after the status") return
    for (const { metadata } of RunPlan.abandoned(whole.status, jobs)) remove(metadata.name)
    const names = new Set(RunPlan.superfluous(of, whole.status, sorted()).map(({ metadata }) => metadata.name))
    jobs = jobs.filter(({ metadata }) => !names.has(metadata.name))
  }

  /** Deletes a Job: it is gone when its pods are. */
  const remove = (name: string): void => {
    jobs = jobs.map((job) =>
      job.metadata.name === name
        ? { ...job, metadata: { ...job.metadata, deletionTimestamp: Time.seconds(server()) } }
        : job
    )
  }

  return {
    reconcile,
    decide,
    history: (): History => ({ begun, reported, events }),
    status: () => object.status ?? {},
    now: () => now,
    open,
    /** Passes time on all clocks. */
    pass: (millis: number) => {
      now += millis
      jobs = jobs.filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    },
    /** Sets the manager's clock. */
    set: (millis: number) => {
      if (millis < 0) epoch += 1
      now += millis
      if (!options.oneClock) serverAhead -= millis
    },
    /** Ends the active Job with this exit code. */
    finish: (exitCode: number) => {
      const snapshot = { pvc: "data", id: "0".repeat(64), bytes: 1, added: 1, files: 1 }
      const result = exitCode === 0 ? { repository: "ab".repeat(32), snapshots: [snapshot] } : {}
      if (exited(exitCode, result).reason === "ResultLost") throw new Error("the result has no words")
      for (const job of open()) {
        const text = JSON.stringify({ reason: "x", message: "", ...result })
        endings.set(job.metadata.uid, { ending: { _tag: "Exited", exitCode, text }, at: server() })
        const type = exitCode === 0 ? "Complete" : "Failed"
        jobs = jobs.map((other) =>
          other === job ? { ...job, status: { conditions: [{ type, status: "True" }] } } : other
        )
      }
    },
    /** Deletes the active Job as a user. If no status has it, the run is lost. */
    vanish: () => {
      const known = object.status?.active?.uid
      const unknown = new Set(
        open().flatMap(({ metadata: { uid } }) => (uid === known || reported.includes(uid) ? [] : [uid]))
      )
      begun = begun.filter(({ job }) => !unknown.has(job))
      jobs = jobs.filter((job) => JobProgress.isOver(job))
    },
    /** Its pod is not scheduled within the timeout. */
    stick: () => {
      for (const { metadata } of open()) late.add(metadata.uid)
    },
    annotate: (name: string, value: string) => {
      object = {
        ...object,
        metadata: { ...object.metadata, annotations: { ...object.metadata.annotations, [name]: value } }
      }
    },
    edit: (spec: Partial<Backup["spec"]>) => {
      object = { ...object, spec: { ...object.spec, ...spec } }
    },
    spec: () => object.spec
  }
}

/** A world. */
export type World = ReturnType<typeof make>
