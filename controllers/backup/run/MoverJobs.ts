/**
 * The Jobs of movers in the cluster: watches, starts and ends them.
 *
 * A Job starts only if no conflicting mover works on its repository: none in the cache, and none on the server, because another manager
 * may have just created one. A Job that is being deleted works until its pods have stopped.
 *
 * Needs the permissions of {@link access}, and those to watch Jobs and Pods.
 */
import * as Budget from "@homeostat/runtime/cache/Budget"
import * as Cache from "@homeostat/runtime/cache/Cache"
import type * as Index from "@homeostat/runtime/cache/Index"
import * as Pods from "@homeostat/runtime/cache/Pods"
import type * as Transform from "@homeostat/runtime/cache/Transform"
import * as ApiError from "@homeostat/runtime/client/ApiError"
import * as Client from "@homeostat/runtime/client/Client"
import * as Pages from "@homeostat/runtime/client/Pages"
import * as Permission from "@homeostat/runtime/client/Permission"
import * as Access from "@homeostat/runtime/controller/Access"
import * as Trigger from "@homeostat/runtime/controller/Trigger"
import * as FailedCreate from "@homeostat/runtime/events/FailedCreate"
import { Event, Job, Pod } from "@homeostat/runtime/resource/BuiltIn"
import {
  controllerOf,
  type Desired,
  type KubernetesObject,
  keyOf,
  keyString,
  type ObjectKey
} from "@homeostat/runtime/resource/KubernetesObject"
import type * as Resource from "@homeostat/runtime/resource/Resource"
import * as Clock from "effect/Clock"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Names from "../kinds/Names.ts"
import { type Kind, RepositoryQueue } from "../repository/RepositoryQueue.ts"
import { Settings } from "../Settings.ts"
import * as ActiveRestore from "./ActiveRestore.ts"
import * as JobPart from "./JobPart.ts"
import * as JobProgress from "./JobProgress.ts"
import * as MoverJob from "./MoverJob.ts"
import * as MoverSlots from "./MoverSlots.ts"
import * as Policy from "./Policy.ts"
import * as Reservation from "./Reservation.ts"

/** The permissions of the functions here, except for the watches. */
export const access: ReadonlyArray<Access.Access> = [
  Access.of(Job, ["get", "list", "create", "patch", "delete"]),
  Access.list(Pod),
  Access.list(Event)
]

const selected = (labels: { readonly [label: string]: string }): string =>
  Object.entries(labels)
    .map(([label, value]) => `${label}=${value}`)
    .join(",")

const { [Names.nameLabel]: mover, ...managed } = Names.moverLabels

const jobs = `${selected(managed)},${Names.nameLabel} in (${Names.maintenanceName},${mover})`

const byRepository: Index.Definition = {
  name: "backup.repository",
  values: ({ metadata }) => {
    const hash = metadata.labels?.[Names.repositoryLabel]
    return hash === undefined ? [] : [hash]
  }
}

/** The caches of Jobs and pods keep only what the controllers read. */
export const transforms: ReadonlyArray<Transform.Transform> = [JobPart.transform, Pods.progress]

/** The triggers of a kind: its Jobs, their pods and, for waiting objects, the end of any mover. */
export const triggers = <A extends KubernetesObject>(owner: Resource.Resource<A, never>, kind: Kind) => {
  const exists = (key: ObjectKey) =>
    Effect.map(Effect.option(Cache.get(owner, key)), (found) => Option.isSome(Option.flatten(found)))
  const next = (mover: KubernetesObject) =>
    Effect.flatMap(RepositoryQueue, (turns) =>
      turns.next(kind, mover.metadata.labels?.[Names.repositoryLabel] ?? "", exists)
    )
  const nobody: ReadonlyArray<ObjectKey> = []
  return [
    Trigger.on(Job, {
      select: { labels: jobs },
      indexes: [byRepository, MoverSlots.working],
      map: (job) =>
        Effect.gen(function* () {
          const isGone = Option.isNone(yield* Effect.orDie(Cache.get(Job, keyOf(job))))
          const ends = isGone || JobProgress.isOver(job) || job.metadata.deletionTimestamp !== undefined
          return [...own(Trigger.ownerOf(owner, job)), ...(ends ? yield* next(job) : nobody)]
        })
    }),
    Trigger.on(Pod, {
      select: { labels: selected(Names.moverLabels) },
      indexes: [byRepository],
      map: (pod) =>
        Effect.gen(function* () {
          const name = controllerOf(pod)?.name
          const job =
            name === undefined ? Option.none<Job>() : yield* Effect.orDie(Cache.get(Job, { ...keyOf(pod), name }))
          const ends = JobProgress.isPodOver(pod) || pod.metadata.deletionTimestamp !== undefined
          const known = Option.getOrUndefined(job)
          return [...own(known && Trigger.ownerOf(owner, known)), ...(ends ? yield* next(pod) : nobody)]
        })
    })
  ]
}

const own = (key: ObjectKey | undefined): ReadonlyArray<ObjectKey> => (key === undefined ? [] : [key])

type Failure = ApiError.ApiError | Resource.InvalidObject

/** The Jobs of a Backup or Restore, the oldest first. */
export const of = (owner: KubernetesObject): Effect.Effect<ReadonlyArray<Job>, never, Cache.Cache> =>
  Effect.map(Cache.byOwner(Job, owner), ({ items }) =>
    items
      .filter((job) => controllerOf(job)?.uid === owner.metadata.uid)
      .sort(
        (one, other) =>
          JobProgress.madeAt(one) - JobProgress.madeAt(other) || one.metadata.name.localeCompare(other.metadata.name)
      )
  )

/**
 * The progress of a Job. A finished Job is read from the server with its pods, because the cache may not have their ends yet. So is a
 * Job without a pod long after its creation: its pod was deleted, and only the server knows when.
 */
export const progress = (job: Job): Effect.Effect<JobProgress.Progress, Failure, Client.Client | Cache.Cache> =>
  Effect.flatMap(read(job), (progress) =>
    Effect.map(Clock.currentTimeMillis, (now) => JobProgress.settled(progress, now))
  )

const read = (job: Job): Effect.Effect<JobProgress.Progress, Failure, Client.Client | Cache.Cache> =>
  Effect.gen(function* () {
    if (JobProgress.isOver(job)) return JobProgress.read(job, yield* podsLive(job))
    const { items: pods } = yield* Cache.byOwner(Pod, job)
    const age = (yield* Clock.currentTimeMillis) - JobProgress.madeAt(job)
    if (pods.length > 0 || age < FailedCreate.knownAfter) return JobProgress.read(job, pods)
    if (age < MoverSlots.podlessMillis) return yield* explained(job, JobProgress.read(job, pods))
    const live = Option.filter(yield* find(keyOf(job)), ({ metadata: { uid } }) => uid === job.metadata.uid)
    if (Option.isNone(live)) return JobProgress.read(job, pods)
    const livePods = yield* podsLive(live.value)
    const progress = JobProgress.read(live.value, livePods)
    return livePods.length > 0 ? progress : yield* explained(job, progress)
  })

/** Adds the Job controller's reason for a missing pod, such as an exceeded quota. */
const explained = (job: Job, progress: JobProgress.Progress) =>
  progress._tag !== "Starting"
    ? Effect.succeed(progress)
    : Effect.map(
        FailedCreate.noteOf(job),
        (note): JobProgress.Progress =>
          note === undefined ? progress : { ...progress, message: `${progress.message}: ${note}` }
      )

/** A mover has few pods. A tenant may create many large ones that look like them. */
const mostPods = 20

/** The bytes that the part of a pod may take: a termination message of 4 KiB, and sidecars. */
const mostPodBytes = 64 * 1024

/** The pods of a Job from the server, without those that take too much memory. */
const podsLive = (job: Job): Effect.Effect<ReadonlyArray<Pod>, Failure, Client.Client> =>
  Effect.suspend(() => {
    let kept = 0
    const labelSelector = `batch.kubernetes.io/controller-uid=${job.metadata.uid}`
    return Pages.all(Pod, { ...placeOf(job), labelSelector }, (pod) => {
      if (kept >= mostPods || controllerOf(pod)?.uid !== job.metadata.uid) return undefined
      const part = Pods.partOf(pod)
      if (Budget.exceeds(part, mostPodBytes)) return undefined
      kept++
      return part
    })
  })

const placeOf = ({ metadata: { namespace } }: KubernetesObject) => (namespace === undefined ? {} : { namespace })

/** A Job by its name, from the server. The name comes from a status, so an invalid name counts as not found. */
export const find = (key: ObjectKey): Effect.Effect<Option.Option<Job>, Failure, Client.Client> =>
  names.test(key.name)
    ? Client.get(Job, key).pipe(
        Effect.asSome,
        Effect.catchTag("NotFound", () => Effect.succeedNone)
      )
    : Effect.succeedNone

const names = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/

/** The settings of the program do not allow the mover. */
export class NotAllowed extends Data.TaggedError("NotAllowed")<{ readonly message: string }> {}

/** A Job with this name belongs to another owner. */
export class NameTaken extends Data.TaggedError("NameTaken")<{ readonly message: string }> {}

/**
 * Starts a Job, if it is its turn.
 *
 * @param replaced a Job of the same owner that cannot run, whose place the new Job takes
 * @returns Failure: the reason to wait. The end of a mover triggers the waiting object. An existing Job of the same owner and name
 * counts as started, because an earlier attempt created it
 */
export const begin = (
  work: MoverJob.Work,
  kind: Kind,
  replaced?: Job
): Effect.Effect<Result.Result<Job, string>, Failure | NameTaken | NotAllowed, Client.Client | Cache.Cache> =>
  Effect.gen(function* () {
    const turns = yield* RepositoryQueue
    const key = keyOf(work.owner)
    const settings = yield* Settings
    const refused = Policy.refusal(work.spec, settings)
    if (refused !== undefined) {
      // Other objects must not wait for one that cannot run.
      yield* turns.leave(kind, key)
      return yield* new NotAllowed({ message: refused })
    }
    const begun = yield* turns.alone([`namespace ${key.namespace}`, work.repository.hash])(
      Effect.gen(function* () {
        const made = yield* find({ ...key, name: work.name })
        if (Option.isSome(made)) {
          const { deletionTimestamp } = made.value.metadata
          if (controllerOf(made.value)?.uid !== work.owner.metadata.uid) return yield* taken(work)
          if (deletionTimestamp === undefined) return Result.succeed(made.value)
          return Result.fail<Busy>({ what: work.repository.hash, message: `Job ${work.name} is being deleted` })
        }
        const { owner, repository, use } = work
        const claim: Claim = { owner, use, repository: repository.hash, replaced: replaced?.metadata.uid }
        const busy = (yield* occupied(claim)) ?? (yield* occupiedUnseen(claim)) ?? (yield* restoring(work))
        if (busy !== undefined) return Result.fail(busy)
        const desired = MoverJob.desired({ ...work, spec: Policy.bounded(work.spec, settings) }, settings)
        const informers = (yield* Cache.Cache).informers()
        // Again, because other namespaces start movers meanwhile.
        const started = yield* turns.starting(kind, key, occupied(claim), create(claim, desired, informers))
        return Result.flatMap(started, (made) => made)
      })
    )
    yield* Result.isFailure(begun) ? turns.wait(kind, key, begun.failure.what) : turns.leave(kind, key)
    return Result.mapError(begun, ({ message }) => message)
  })

const create = (claim: Claim, desired: Desired<Job>, informers: ReadonlyArray<Cache.Informer>) =>
  Effect.gen(function* () {
    const { repository, use } = claim
    // restic's locks are enough for two movers that do not change the repository itself.
    if (use !== "exclusive" || !Reservation.isNeeded(informers)) {
      return Result.succeed(yield* Client.create(Job, desired))
    }
    const started = yield* Reservation.start(desired, repository, informers, yield* blockers(claim))
    return Result.mapError(started, (job) => busyWith("Job", job, claim))
  })

/**
 * Why the Job cannot be created until a user acts: its name exists, or the API server rejects it because of a field of the spec, a quota
 * or a policy. Undefined if a retry may succeed, and for a missing permission of the manager, which the runtime reports.
 */
export const refusalOf = (
  error: Failure | NameTaken | NotAllowed
): { readonly reason: string; readonly message: string } | undefined => {
  switch (error._tag) {
    case "NotAllowed":
      return { reason: "NotAllowed", message: error.message }
    case "NameTaken":
      return { reason: "NameConflict", message: error.message }
    case "Invalid":
    case "BadRequest":
      return jobRefused(error)
    case "Forbidden":
      return Permission.missing(error) === undefined && !ApiError.isNamespaceTerminating(error)
        ? jobRefused(error)
        : undefined
    default:
      return undefined
  }
}

const jobRefused = ({ message }: ApiError.ApiError) => ({
  reason: "JobRefused",
  message: `The API server refuses the mover's Job: ${message}`
})

const taken = ({ name, owner }: MoverJob.Work) =>
  Effect.fail(
    new NameTaken({
      message: `Job ${name} already exists and does not belong to ${owner.kind} ${owner.metadata.name}: delete the Job, or rename the ${owner.kind}`
    })
  )

/**
 * Whether an object has to wait for its turn, by the cache, and for what. The end of a mover triggers the waiting object. Sends no
 * request.
 */
export const wait = (owner: KubernetesObject, kind: Kind, use: MoverJob.Use, repository: string) =>
  Effect.gen(function* () {
    const turns = yield* RepositoryQueue
    const busy = yield* occupied({ owner, use, repository, replaced: undefined })
    if (busy !== undefined) yield* turns.wait(kind, keyOf(owner), busy.what)
    return busy?.message
  })

/** The reason to wait, also in words. */
interface Busy {
  /** See `RepositoryQueue.Registry`. */
  readonly what: string
  readonly message: string
}

/** A mover that is about to start. */
interface Claim {
  readonly owner: KubernetesObject
  readonly use: MoverJob.Use
  /** The repository's hash. */
  readonly repository: string
  /** The UID of a Job that does not count. */
  readonly replaced: string | undefined
}

/** The reason why a mover has to wait. */
const occupied = (claim: Claim): Effect.Effect<Busy | undefined, never, Cache.Cache> =>
  Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    const informers = (yield* Cache.Cache).informers()
    const { owner, repository, use } = claim
    const { namespace } = owner.metadata
    const blocks = yield* blockers(claim)
    const index = { name: byRepository.name, value: repository }
    const job = (yield* Cache.list(Job, { index })).items.find((job) => MoverSlots.works(job) && blocks(job))
    if (job !== undefined) return busyWith("Job", job, claim)
    const pod = (yield* Cache.list(Pod, { index })).items.find((pod) => !JobProgress.isPodOver(pod) && blocks(pod))
    if (pod !== undefined) return busyWith("Pod", pod, claim)
    const isPatient = yield* hasPatience(claim, now)
    const counts = (other: ObjectKey): boolean => isPatient || other.namespace === namespace
    const turns = yield* RepositoryQueue
    const isAhead = (key: ObjectKey): boolean => counts(key) && isCached(informers, "Restore", key)
    if (use !== "restore" && turns.someWaits("Restore", repository, isAhead)) {
      return { what: repository, message: "a Restore waits for the repository, and Restores come first" }
    }
    return yield* MoverSlots.full(claim, MoverSlots.ownership(informers), now)
  })

/** Whether the movers of other namespaces count, which they do not after a long wait. */
const hasPatience = ({ owner, repository, use }: Claim, now: number) =>
  Effect.map(RepositoryQueue, (turns) => {
    const since = turns.since(use === "restore" ? "Restore" : "Backup", keyOf(owner), repository)
    return since === undefined || now < since + MoverSlots.longestTurn
  })

/** The Jobs and pods of the repository that a mover waits for. */
const blockers = (claim: Claim) =>
  Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    const isPatient = yield* hasPatience(claim, now)
    const isOurs = MoverSlots.ownership((yield* Cache.Cache).informers())
    const { namespace } = claim.owner.metadata
    return (other: KubernetesObject): boolean =>
      conflicts(claim, other, now) && (other.metadata.namespace === namespace || (isPatient && isOurs(other)))
  })

/** Whether the cache has an object of this key. */
const isCached = (informers: ReadonlyArray<Cache.Informer>, kind: Kind, key: ObjectKey): boolean =>
  informers.some(({ resource, store }) => MoverSlots.isKind(resource, kind) && store.get(keyString(key)) !== undefined)

/** The same, from the server. */
const occupiedUnseen = (claim: Claim) =>
  Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    const labelSelector = `${Names.repositoryLabel}=${claim.repository}`
    // Only in its own namespace, because a manager may lack the permission for others. For those the cache must be enough.
    const [unseen] = yield* Pages.all(Job, { ...placeOf(claim.owner), labelSelector }, (job) =>
      MoverSlots.works(job) && conflicts(claim, job, now) ? { metadata: job.metadata } : undefined
    )
    return unseen === undefined ? undefined : busyWith("Job", unseen, claim)
  })

/** The reason why a mover cannot use its volumes: a Restore writes to one of them. */
const restoring = ({ claims, owner, repository, use }: MoverJob.Work) =>
  Effect.gen(function* () {
    const names = claims.map(({ name }) => name)
    if (use === "restore") {
      for (const name of names) {
        if (!(yield* ActiveRestore.isBeside(owner, name))) continue
        // Not its repository: no run waits for a Restore that waits for another one.
        const busy: Busy = { what: `claim ${name}`, message: `another Restore writes to PersistentVolumeClaim ${name}` }
        return busy
      }
      return undefined
    }
    const active = yield* ActiveRestore.find(owner.metadata.namespace, names)
    if (active === undefined) return undefined
    const busy: Busy = {
      what: active.repository ?? repository.hash,
      message: `a Restore writes to PersistentVolumeClaim ${active.claim}`
    }
    return busy
  })

/** Whether a mover and another one cannot work on the repository at the same time. */
const conflicts = ({ replaced, use }: Claim, other: KubernetesObject, now: number): boolean =>
  (replaced === undefined || (other.metadata.uid !== replaced && controllerOf(other)?.uid !== replaced)) &&
  !MoverJob.agree(use, MoverJob.useOf(other)) &&
  (use === "exclusive" || !MoverSlots.isStuck(other, now))

/** Names only objects of the owner's namespace. */
const busyWith = (
  kind: string,
  { metadata: { name, namespace } }: KubernetesObject,
  { owner, repository }: Claim
): Busy => ({
  what: repository,
  message:
    namespace === owner.metadata.namespace
      ? `${kind} ${namespace}/${name} works on the repository`
      : "a mover of another namespace works on the repository"
})

/** Ends a Job: its pods terminate, and then it is gone. */
export const end = (job: Job): Effect.Effect<void, Failure, Client.Client> => remove(job, "Foreground")

/** Ends a Job that works on the server. The cache may not have its end yet, and a finished Job keeps the logs of its pods. */
export const endWorking = (job: Job): Effect.Effect<void, Failure, Client.Client> =>
  Effect.flatMap(find(keyOf(job)), (live) =>
    Option.exists(live, ({ metadata: { uid } }) => uid === job.metadata.uid) && Option.exists(live, JobProgress.isOver)
      ? Effect.void
      : end(job)
  )

/** Deletes a finished Job with its pods. */
export const discard = (job: Job): Effect.Effect<void, Failure, Client.Client> => remove(job, "Background")

const remove = (job: Job, propagation: "Foreground" | "Background") =>
  job.metadata.deletionTimestamp !== undefined
    ? Effect.void
    : Client.delete(Job, keyOf(job), { propagation, uid: job.metadata.uid }).pipe(
        Effect.asVoid,
        Effect.catchTag("NotFound", () => Effect.void)
      )
