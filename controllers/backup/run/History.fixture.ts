/**
 * A Backup with a model of its volume and its repository: the manager's decisions are the product's, and the mover does what the real
 * one does. Faults come from the test.
 */
import type { Job } from "@homeostat/runtime/resource/BuiltIn"
import * as Time from "@homeostat/runtime/resource/Time"
import type { Backup, BackupStatus } from "../kinds/Backup.ts"
import * as Hold from "../mover/Hold.ts"
import type * as MoverReport from "../mover/MoverReport.ts"
import * as Snapshots from "../mover/Snapshots.ts"
import * as Settings from "../Settings.ts"
import { accepted, backup, group, understood } from "./Backups.fixture.ts"
import * as JobProgress from "./JobProgress.ts"
import * as Maintenance from "./Maintenance.ts"
import * as MoverJob from "./MoverJob.ts"
import * as NextAction from "./NextAction.ts"
import * as Outcome from "./Outcome.ts"
import * as RunPlan from "./RunPlan.ts"
import * as RunState from "./RunState.ts"
import * as Status from "./RunStatus.ts"
import * as Summary from "./Summary.ts"

/** What goes wrong in one attempt of a mover. */
export type Fault =
  | "none"
  /** The pod is terminated after its first change. */
  | "killed"
  /** The last operation fails. */
  | "fails"
  /** The pod is gone before its result is read. */
  | "lost"

/** The number of files of a healthy volume. */
export const full = 100

/** The size of a healthy file, in bytes. */
const fileSize = 2 ** 20

/** A world with a new Backup. */
export const make = (spec: { readonly [field: string]: unknown }, start: number) => {
  let now = start
  let object: Backup = backup({ source: "pvc/data", ...spec }, { creationTimestamp: Time.seconds(start) })
  let jobs: ReadonlyArray<Job> = []
  let made = 0
  let repository = { id: "a".repeat(64), exists: false, isDamaged: false }
  let snapshots: ReadonlyArray<Snapshots.Snapshot> = []
  let files = full
  let bytes = full * fileSize
  let faults: ReadonlyArray<Fault> = []
  const endings = new Map<string, Outcome.Ending>()
  /** The UIDs of Jobs by the IDs of their snapshots. */
  const savedBy = new Map<string, string>()
  const violations: Array<string> = []
  const settings = Settings.of({})
  const counts = { runs: 0, forgotten: 0, held: 0, refused: 0 }

  const newestGood = () => snapshots.findLast((one) => one.files === full && one.bytes === full * fileSize)

  /** One attempt. Returns its exit code and result. */
  const attempt = (job: Job): { readonly code: number; readonly result: object } => {
    const [container] = job.spec?.template.spec?.containers ?? []
    const env = Object.fromEntries((container?.env ?? []).map(({ name, value }) => [name, value]))
    const [fault = "none", ...rest] = faults
    faults = rest
    let changed = false
    const result: { [field: string]: unknown } = {}
    const killed = () => fault === "killed" && changed
    const operations = container?.args ?? []
    for (const operation of operations) {
      if (killed()) return { code: 143, result }
      if (fault === "fails" && operation === operations.at(-1)) return { code: 44, result: { ...result, operation } }
      switch (operation) {
        case "preflight":
          if (!repository.exists) {
            if (env.INIT !== "1") return { code: 40, result: { operation } }
            repository = { ...repository, exists: true }
          }
          result.repository = repository.id
          if (env.REPOSITORY_ID !== undefined && env.REPOSITORY_ID !== repository.id) {
            return { code: 49, result: { operation } }
          }
          break
        case "backup": {
          if (repository.isDamaged) return { code: 48, result: { operation } }
          const own = snapshots.find(({ tags }) => tags.includes(env.RUN_TAG ?? ""))
          const newest = snapshots.findLast((one) => one !== own)
          const before = newest && {
            before: { id: newest.id, bytes: newest.bytes ?? 0, files: newest.files ?? 0 }
          }
          if (own === undefined && files === 0) {
            result.snapshots = [{ pvc: "data", empty: true, ...before }]
            return { code: 50, result: { ...result, operation } }
          }
          made += own === undefined ? 1 : 0
          const saved = own ?? {
            id: String(made).padStart(8, "0"),
            time: Time.seconds(now),
            moment: { seconds: now / 1000, nanos: made },
            host: "shop/data",
            tags: [env.RUN_TAG ?? ""],
            files,
            bytes,
            added: 1
          }
          if (own === undefined) snapshots = [...snapshots, saved]
          const by = savedBy.get(saved.id)
          if (by !== undefined && by !== job.metadata.uid) violations.push(`snapshot ${saved.id} counts for two runs`)
          savedBy.set(saved.id, job.metadata.uid)
          changed = true
          result.snapshots = [
            { pvc: "data", id: saved.id, bytes: saved.bytes, added: 1, files: saved.files, ...before }
          ]
          break
        }
        case "check":
          if (repository.isDamaged) return { code: 48, result: { ...result, operation } }
          result.checked = true
          break
        case "forget": {
          if (Status.isDamaged(object.status ?? {}))
            violations.push("forget ran in a repository that is known to be damaged")
          const planned = keep(snapshots, env.FORGET_ARGS ?? "")
          const held = Hold.of(
            {
              createdAt: Snapshots.momentOf(env.CREATED_AT ?? ""),
              hold: env.HOLD as MoverReport.Hold | undefined,
              isAllowed: env.ALLOW_FORGET === "1"
            },
            planned,
            now
          )
          Object.assign(result, { kept: planned.kept.length, removed: planned.removed.length, held })
          if (held !== undefined) {
            counts.held += 1
            break
          }
          const good = newestGood()
          snapshots = planned.kept
          counts.forgotten += planned.removed.length
          changed = true
          if (good !== undefined && !snapshots.includes(good))
            violations.push(`the newest good snapshot ${good.id} is gone`)
          break
        }
        case "prune":
          if (repository.isDamaged) return { code: 48, result: { ...result, operation } }
          result.pruned = true
      }
    }
    return killed() ? { code: 143, result } : fault === "lost" ? { code: -1, result } : { code: 0, result }
  }

  /** Runs all attempts of the open Jobs. */
  const execute = () => {
    for (const job of jobs.filter((one) => !JobProgress.isOver(one))) {
      let ended = attempt(job)
      for (let tries = job.spec?.backoffLimit ?? 0; tries > 0; tries -= 1) {
        if (ended.code <= 0 || Outcome.futile.includes(ended.code)) break
        ended = attempt(job)
      }
      const { code, result } = ended
      const succeeded = code <= 0
      const text = JSON.stringify({ reason: "x", message: "", ...result })
      endings.set(job.metadata.uid, code < 0 ? { _tag: "Lost", succeeded } : { _tag: "Exited", exitCode: code, text })
      const condition = { type: succeeded ? "Complete" : "Failed", status: "True" }
      jobs = jobs.map((one) => (one === job ? { ...job, status: { conditions: [condition] } } : one))
    }
  }

  const add = (work: MoverJob.Work): Job => {
    const there = jobs.find(({ metadata }) => metadata.name === work.name)
    if (there !== undefined) return there
    const desired = MoverJob.desired(work, Settings.defaults)
    made += 1
    const metadata = {
      ...desired.metadata,
      uid: `job-${made}`,
      resourceVersion: "1",
      creationTimestamp: Time.seconds(now)
    }
    const job = { ...desired, metadata, status: {} } as Job
    jobs = [...jobs, job]
    return job
  }

  const progressOf = (job: Job): JobProgress.Progress => {
    const ending = endings.get(job.metadata.uid)
    return ending === undefined ? { _tag: "Running", message: "" } : { _tag: "Ended", ending, at: now }
  }

  const known = understood(object)

  const reconcile = (): void => {
    const before: BackupStatus = object.status ?? {}
    const runs = jobs.filter((job) => !Maintenance.isMaintenance(job))
    const maintaining = jobs.filter(Maintenance.isMaintenance)
    const options = { now, startTimeout: settings.startTimeout }
    const current = RunPlan.current(before, runs)
    const standing = RunState.of(object, current && { job: current, progress: progressOf(current) }, options)
    let draft = Maintenance.afterRun(before, standing.draft, known.longestPause)
    const kept = Maintenance.current(draft.status, maintaining)
    const progress = kept && progressOf(kept)
    if (kept !== undefined && progress?._tag === "Ended") {
      const outcome = Outcome.judge(progress.ending, { purpose: "maintenance" })
      const begun = draft.status.maintenance?.active === undefined ? Maintenance.started(draft, kept) : draft
      draft = Maintenance.ended(object, begun, kept, outcome, now)
    }
    const isMaintained = draft.status.maintenance?.active !== undefined
    const decision = NextAction.make(object, known, draft, { jobs: runs, isBetweenJobs: false, now })
    draft = decision.draft
    const credentials = { env: [], volumes: [], volumeMounts: [] }
    const isOpen = jobs.some((job) => !JobProgress.isOver(job))
    if (decision.request !== undefined && !isOpen) {
      const { request } = decision
      const part = { group: group("data"), later: [] }
      const job = add(RunPlan.work(object, draft.status, known, { part, request, before: undefined, credentials }))
      draft = Status.started(draft, RunPlan.activeOf(job), request.tick, request.missed)
    } else if (decision.request === undefined && draft.status.active === undefined && !isMaintained && !isOpen) {
      const { operations } = Maintenance.due(object, draft.status, known, now)
      if (operations.length > 0) {
        const placement = group("data")
        draft = Maintenance.started(
          draft,
          add(Maintenance.work(object, draft.status, known, { operations, placement, credentials }))
        )
      }
    }
    const whole = Summary.of(object, draft, {
      understood: known,
      obstacle: undefined,
      course: undefined,
      waiting: undefined,
      sharing: undefined,
      next: decision.next,
      now
    })
    const { lastRun } = whole.status
    if (lastRun !== undefined && lastRun.uid !== before.lastRun?.uid) {
      counts.runs += 1
      const job = jobs.find(({ metadata }) => metadata.uid === lastRun.uid)
      const env = job?.spec?.template.spec?.containers[0]?.env ?? []
      const tag = env.find(({ name }) => name === "RUN_TAG")?.value
      const isSaved = snapshots.some(({ tags }) => tags.includes(tag ?? ""))
      if (whole.status.phase === "Completed" && !isSaved) violations.push(`run ${lastRun.job} saved nothing`)
      if (whole.status.phase === "Failed") counts.refused += 1
    }
    object = { ...object, status: whole.status }
    const names = new Set(RunPlan.superfluous(object, whole.status, runs, now).map(({ metadata }) => metadata.name))
    jobs = jobs.filter(({ metadata }) => !names.has(metadata.name))
  }

  return {
    /** Reconciles and runs movers until nothing is left to do. */
    settle: () => {
      for (let before = "", rounds = 0; before !== JSON.stringify([object.status, jobs.length]); rounds += 1) {
        if (rounds > 50) throw new Error(`the Backup never rests: ${before}`)
        before = JSON.stringify([object.status, jobs.length])
        reconcile()
        execute()
      }
      accepted(object.status ?? {})
    },
    pass: (millis: number) => {
      now += millis
    },
    fill: (count: number) => {
      files = count
      bytes = count * fileSize
    },
    /** All files become empty, such as those of a failed dump. */
    truncate: () => {
      bytes = 0
    },
    faults: (next: ReadonlyArray<Fault>) => {
      faults = next
    },
    damage: (isDamaged: boolean) => {
      repository = { ...repository, isDamaged }
    },
    exchange: () => {
      repository = { id: `${made}`.padStart(64, "b"), exists: true, isDamaged: false }
      snapshots = []
    },
    /** The Backup is created again with its name, as by GitOps in a new cluster. */
    recreate: () => {
      made += 1
      object = backup({ source: "pvc/data", ...spec }, { creationTimestamp: Time.seconds(now), uid: `backup-${made}` })
      jobs = []
    },
    violations,
    counts,
    status: () => object.status ?? {},
    snapshots: () => snapshots
  }
}

/** The snapshots that restic would keep and remove, for `--keep-last` and `--keep-within` in hours. */
const keep = (snapshots: ReadonlyArray<Snapshots.Snapshot>, text: string): Snapshots.Forgotten => {
  const value = (flag: string): number => Number(new RegExp(`${flag} (\\d+)`).exec(text)?.[1] ?? 0)
  const sorted = [...snapshots].sort((one, other) => Snapshots.compare(one.moment, other.moment))
  const newest = sorted.at(-1)?.moment.seconds ?? 0
  const last = new Set(sorted.slice(-value("--keep-last")))
  const tag = /--keep-tag (\S+)/.exec(text)?.[1] ?? ""
  const isKept = (one: Snapshots.Snapshot): boolean =>
    last.has(one) || one.tags.includes(tag) || newest - one.moment.seconds <= value("--keep-within") * 3600
  return { kept: sorted.filter(isKept), removed: sorted.filter((one) => !isKept(one)) }
}
