/**
 * The plan for the jobs of a WebApp: the Job that must run next, whether the Deployment keeps its pod template until then, and the Jobs that
 * are no longer needed. Pure.
 *
 * The Deployment records its complete jobs in an annotation, which the controller writes together with the pod template. So a job does not
 * run again when a user deletes its Job later. The controller removes the Jobs of other revisions before the template changes. So they run
 * again if the WebApp returns to their revision.
 */
import * as Owned from "@homeostat/runtime/controller/Owned"
import type { Pod } from "@homeostat/runtime/resource/BuiltIn"
import { Deployment, Job } from "@homeostat/runtime/resource/BuiltIn"
import { controllerOf, type Desired } from "@homeostat/runtime/resource/KubernetesObject"
import * as Readiness from "@homeostat/runtime/resource/Readiness"
import type { Child, Finding } from "./Finding.ts"
import * as HeldTemplate from "./HeldTemplate.ts"
import { type Entry, isBefore } from "./Jobs.ts"
import * as JobTemplate from "./JobTemplate.ts"
import { podTrouble } from "./status.ts"
import type { WebApp } from "./WebApp.ts"

/** The annotation of the Deployment with the names of its complete Jobs. */
export const annotation = "apps.kubedojo.io/complete-jobs"

/** A job in the spec and its Job. */
interface Run {
  readonly entry: Entry
  readonly name: string
  /** The existing Job. */
  readonly job: Job | undefined
  readonly isComplete: boolean
}

/** The next Job, the Jobs to keep and to remove, and their effect on the Deployment. */
export interface JobPlan {
  /** The jobs of the spec, in its order. */
  readonly runs: ReadonlyArray<Run>
  /** The Job that must be complete next. It may exist already. */
  readonly next: Run | undefined
  /** A Job of another revision that has not finished. The next Job waits for its end. */
  readonly waitsFor: Job | undefined
  /** The Jobs of other revisions to remove. */
  readonly superseded: ReadonlyArray<Job>
  /** The Jobs to keep: those of the present revision, and those of others whose containers run. */
  readonly kept: ReadonlyArray<Job>
  /** Whether the WebApp controls its Deployment or may adopt it. Otherwise no job runs. */
  readonly isClaimable: boolean
  /** Whether the Deployment must keep its pod template, or must not be created. */
  readonly isHeld: boolean
  /** Whether the Deployment has another pod template than the desired one. */
  readonly isBehind: boolean
  /** Whether no job starts because the pods miss their configuration. */
  readonly isPaused: boolean
}

/**
 * Whether the WebApp controls the Deployment, or may adopt it: an orphan of its own, or one that a user gives away.
 *
 * @param isGivenAway whether the Deployment has the adopt annotation, and can be adopted
 */
export const isClaimable = (app: WebApp, deployment: Deployment, isGivenAway: boolean): boolean => {
  const holder = controllerOf(deployment)
  if (holder?.uid === app.metadata.uid) return true
  const isApplied = deployment.metadata.annotations?.[Owned.intentAnnotation] !== undefined
  const isNamesake = holder?.kind === "WebApp" && holder.name === app.metadata.name
  return holder === undefined ? isApplied || isGivenAway : isApplied && isNamesake
}

/** Whether a WebApp has jobs in its spec, a Deployment that records some, or Jobs in the cluster. */
export const isUsed = ({ spec }: WebApp, existing: Deployment | undefined, { length }: ReadonlyArray<Job>): boolean =>
  (spec.jobs ?? []).length > 0 || existing?.metadata.annotations?.[annotation] !== undefined || length > 0

/**
 * The plan for a WebApp and its desired Deployment.
 *
 * @param deployment the desired Deployment
 * @param existing the existing Deployment, if any
 * @param jobs the Jobs that the WebApp controls
 * @param isGivenAway whether the existing Deployment has the adopt annotation, and can be adopted
 */
export const of = (
  app: WebApp,
  deployment: Desired<Deployment>,
  existing: Deployment | undefined,
  jobs: ReadonlyArray<Job>,
  isGivenAway: boolean
): JobPlan => {
  if (!isUsed(app, existing, jobs)) return none
  const recorded = new Set(existing?.metadata.annotations?.[annotation]?.split(","))
  const byName = new Map(jobs.map((job) => [job.metadata.name, job]))
  const runs = (app.spec.jobs ?? []).map((entry): Run => {
    const name = JobTemplate.nameOf(app, entry, deployment)
    const job = byName.get(name)
    return { entry, name, job, isComplete: recorded.has(name) || (job !== undefined && stateOf(job) === "Current") }
  })
  const wanted = new Set(runs.map(({ name }) => name))
  const others = jobs.filter(({ metadata }) => !wanted.has(metadata.name))
  const before = runs.find(({ entry, isComplete }) => isBefore(entry) && !isComplete)
  const isBehind = existing === undefined || !HeldTemplate.isCurrent(deployment, existing)
  const isRolledOut = !isBehind && Readiness.of(Deployment, existing).state === "Current"
  const after = runs.find(({ entry, isComplete, job }) => !isBefore(entry) && !isComplete && (isRolledOut || job))
  const claimable = existing === undefined || isClaimable(app, existing, isGivenAway)
  return {
    runs,
    next: claimable ? (before ?? after) : undefined,
    waitsFor: others.find(isUnfinished),
    superseded: others.filter((job) => !isWorking(job)),
    kept: jobs.filter((job) => wanted.has(job.metadata.name) || isWorking(job)),
    isClaimable: claimable,
    isHeld: claimable && before !== undefined,
    isBehind,
    isPaused: false
  }
}

/** The plan of a WebApp without jobs: see {@link isUsed}. */
export const none: JobPlan = {
  runs: [],
  next: undefined,
  waitsFor: undefined,
  superseded: [],
  kept: [],
  isClaimable: true,
  isHeld: false,
  isBehind: false,
  isPaused: false
}

const stateOf = (job: Job) => Readiness.of(Job, job).state

/** A Job that is being deleted may still have a pod. */
const isUnfinished = (job: Job): boolean => !["Current", "Failed"].includes(stateOf(job))

/** Whether a container of the Job runs. The end of a migration half-way could do harm, so nothing stops it. */
const isWorking = (job: Job): boolean => stateOf(job) === "InProgress" && (job.status?.ready ?? 0) > 0

/** The plan while the pods miss their configuration: no job starts, and no Job is removed. The names of the next Jobs depend on it. */
export const paused = ({ spec }: WebApp, jobs: ReadonlyArray<Job>): JobPlan => ({
  ...none,
  runs: (spec.jobs ?? []).map((entry) => ({ entry, name: entry.name, job: undefined, isComplete: false })),
  kept: jobs,
  isPaused: true
})

/** The plan while the Deployment has the template of `kubectl rollout undo`, which restores the names of complete Jobs, too. */
export const undone = ({ runs }: JobPlan, jobs: ReadonlyArray<Job>): JobPlan => ({ ...none, runs, kept: jobs })

/**
 * The Deployment with the names of its complete Jobs, and with its template as text if the controller may have to hold that later.
 *
 * @param options `isHeld`: whether the Deployment keeps the template and the names that it has. `isRecorded`: the template is recorded
 * without jobs, too
 */
export const recorded = (
  plan: JobPlan,
  desired: Desired<Deployment>,
  existing: Deployment | undefined,
  { isHeld, isRecorded }: { readonly isHeld: boolean; readonly isRecorded: boolean }
): Desired<Deployment> => {
  const isActive = plan.runs.length > 0 || plan.kept.length > 0
  if (!isActive && !isRecorded && !isHeld) return desired
  const complete = plan.runs.filter(({ isComplete }) => isComplete).map(({ name }) => name)
  const names = isHeld ? existing?.metadata.annotations?.[annotation] : isActive ? complete.join(",") : undefined
  const isUnrecorded = isHeld && (existing === undefined || HeldTemplate.of(existing) === undefined)
  const { metadata, ...rest } = isUnrecorded ? desired : HeldTemplate.keep(desired)
  if (names === undefined) return { metadata, ...rest }
  return { ...rest, metadata: { ...metadata, annotations: { ...metadata.annotations, [annotation]: names } } }
}

/** The Jobs as children: that to create now, if any, and those to keep. */
export const childrenOf = (
  { kept, next, waitsFor }: JobPlan,
  app: WebApp,
  deployment: Desired<Deployment>,
  container: string
) => {
  const isNew = next !== undefined && next.job === undefined && waitsFor === undefined
  return {
    job: isNew
      ? Owned.child(Job, JobTemplate.desired(app, next.entry, deployment, container), { replaces: [] })
      : undefined,
    ...(kept.length > 0 && Object.fromEntries(kept.map((job) => [`Job ${job.metadata.name}`, Owned.keep(Job, job)])))
  }
}

/**
 * The Deployment for the status. While it is held, it does not run the present spec.
 *
 * @param deployment undefined if it does not exist and must not be created yet
 */
export const waiting = (
  { isBehind, isHeld, next }: JobPlan,
  deployment: Child<Deployment> | undefined
): Child<Deployment> => {
  if (deployment !== undefined && (deployment.problem !== undefined || !isHeld || !isBehind)) return deployment
  const what = deployment === undefined ? "is created when" : "keeps its pod template until"
  const message = `the Deployment ${what} Job ${next?.name} is complete`
  return { object: deployment?.object, problem: { reason: "Waiting", message } }
}

/** The next Job in the cluster. */
export interface Seen {
  /** The Job; absent if it does not exist. */
  readonly job: Job | undefined
  /** Why it could not be created. */
  readonly problem: { readonly reason: string; readonly message: string } | undefined
  readonly pods: ReadonlyArray<Pod>
  /** Why the Job has no pod, if that is known. */
  readonly podless?: string | undefined
  /** The name of the container with the image. */
  readonly container: string
  /** Milliseconds since 1970. */
  readonly now: number
}

/** The condition JobsComplete. Undefined for a WebApp without jobs. */
export const finding = (plan: JobPlan, seen: Seen): Finding | undefined => {
  const { isClaimable, isPaused, next, runs, waitsFor } = plan
  if (runs.length === 0) return undefined
  if (isPaused) {
    const message = "no job starts before the ConfigMaps, Secrets and keys of the pods exist"
    return { status: "False", reason: "Waiting", message }
  }
  if (!isClaimable) {
    return {
      status: "False",
      reason: "DeploymentNotOwned",
      message: "no job starts before the WebApp owns its Deployment"
    }
  }
  if (next === undefined) {
    const left = runs.find(({ isComplete }) => !isComplete)
    return left === undefined
      ? { status: "True", reason: "AllJobsComplete", message: `${runs.length} of ${runs.length} jobs are complete` }
      : {
          status: "False",
          reason: "RolloutInProgress",
          message: `job ${left.entry.name} starts when all pods run the present spec`
        }
  }
  if (next.job === undefined && waitsFor !== undefined) {
    const message = `job ${next.entry.name} waits for the end of Job ${waitsFor.metadata.name}, which belongs to another revision (delete that Job to stop it)`
    return { status: "False", reason: "WaitingForJob", message }
  }
  if (seen.problem !== undefined) return { status: "False", ...seen.problem, stalled: true }
  return progress(next.name, seen)
}

const progress = (name: string, { container, job, now, podless, pods }: Seen): Finding => {
  if (job === undefined) return { status: "False", reason: "JobRunning", message: `Job ${name} does not exist yet` }
  const { message, state } = Readiness.of(Job, job)
  switch (state) {
    case "Failed":
      return {
        status: "False",
        reason: "JobFailed",
        message: `Job ${name} failed: ${message} (see kubectl logs job/${name}; change the spec, or delete the Job to run it again)`,
        stalled: true
      }
    case "Terminating":
      return { status: "False", reason: "JobRunning", message: `Job ${name} is being deleted, and then runs again` }
    default: {
      if (podless !== undefined) {
        return { status: "False", reason: "FailedCreate", message: `Job ${name} has no pod yet: ${podless}` }
      }
      const trouble = podTrouble(pods, container, now)
      return {
        status: "False",
        reason: trouble?.reason ?? "JobRunning",
        message: `Job ${name}: ${trouble?.message ?? message}`
      }
    }
  }
}
