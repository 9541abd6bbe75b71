/**
 * The slots of movers in the cluster, and the owners of Jobs. Any user who may create Jobs can copy all labels of a mover, so labels
 * alone prove nothing.
 */
import * as Cache from "@homeostat/runtime/cache/Cache"
import type * as Index from "@homeostat/runtime/cache/Index"
import { Job } from "@homeostat/runtime/resource/BuiltIn"
import { controllerOf, type KubernetesObject, keyOf, keyString } from "@homeostat/runtime/resource/KubernetesObject"
import type * as Resource from "@homeostat/runtime/resource/Resource"
import * as Effect from "effect/Effect"
import * as Names from "../kinds/Names.ts"
import { type Kind, place, RepositoryQueue } from "../repository/RepositoryQueue.ts"
import { Settings } from "../Settings.ts"
import * as JobProgress from "./JobProgress.ts"
import * as MoverJob from "./MoverJob.ts"

/** The working Jobs, under one value, because finished Jobs are many more. */
export const working: Index.Definition = {
  name: "backup.working",
  // Built-in kinds are not decoded.
  values: (wire) => (works(wire as Job) ? [""] : [])
}

/** A Job that is being deleted works until it has finished or is gone. A finished Job has no running pod. */
export const works = (job: Job): boolean => !JobProgress.isOver(job)

/** After this time the Job controller has created a pod, if it can. */
export const podlessMillis = 60_000

/** Whether an informer is for this kind. */
export const isKind = ({ group, kind }: Resource.Any, wanted: Kind): boolean =>
  kind === wanted && group === "backup.example.com"

/**
 * Whether the owner of a Job or pod is a Backup or Restore in its namespace. Any user who may create Jobs can label them as a mover. A
 * manager that does not see all owners trusts the labels.
 */
export const ownership = (informers: ReadonlyArray<Cache.Informer>) => {
  const of = (kind: Kind) => informers.find(({ resource }) => isKind(resource, kind))
  const owners = { Backup: of("Backup"), Restore: of("Restore") }
  return (object: KubernetesObject): boolean => {
    const kind: Kind = MoverJob.useOf(object) === "restore" ? "Restore" : "Backup"
    const owner = owners[kind]
    if (owner === undefined || owner.labelSelector !== undefined) return true
    const { labels, namespace = "" } = object.metadata
    const isOwner = ({ metadata }: KubernetesObject): boolean => metadata.uid === labels?.[Names.ownerLabel]
    const { kind: controller, name } = controllerOf(object) ?? {}
    if (controller !== kind || name === undefined) return owner.store.list({ namespace }).some(isOwner)
    const named = owner.store.get(keyString({ namespace, name }))
    return named !== undefined && isOwner(named)
  }
}

/**
 * After this wait, other namespaces count less: any tenant can name the repository of another one, and run movers that do not end. The
 * locks of restic still protect the data.
 */
export const longestTurn = 60 * 60_000

/**
 * The reason why all slots are taken. Restores have as many slots of their own. A namespace gets at most half of the slots while others
 * wait. If it has more, those do not count for an object that has waited for {@link longestTurn}.
 */
export const full = (
  { owner, use }: { readonly owner: KubernetesObject; readonly use: MoverJob.Use },
  isOurs: (job: Job) => boolean,
  now: number
) =>
  Effect.gen(function* () {
    const { maxJobs } = yield* Settings
    const turns = yield* RepositoryQueue
    const kind: Kind = use === "restore" ? "Restore" : "Backup"
    const share = Math.ceil(maxJobs / 2)
    const since = turns.since(kind, keyOf(owner), place)
    const most = since !== undefined && now >= since + longestTurn ? share : Number.POSITIVE_INFINITY
    const { items } = yield* Cache.list(Job, { index: { name: working.name, value: "" } })
    const taken = new Map<string | undefined, number>()
    for (const job of items) {
      if ((MoverJob.useOf(job) === "restore") !== (use === "restore") || !holdsSlot(job, now) || !isOurs(job)) continue
      taken.set(job.metadata.namespace, (taken.get(job.metadata.namespace) ?? 0) + 1)
    }
    for (const { name, namespace } of turns.starts(kind)) {
      // The cache has the Job of a start that is about to end.
      const isCounted = items.some((job) => job.metadata.namespace === namespace && controllerOf(job)?.name === name)
      if (!isCounted) taken.set(namespace, (taken.get(namespace) ?? 0) + 1)
    }
    const own = taken.get(owner.metadata.namespace) ?? 0
    taken.delete(owner.metadata.namespace)
    if (Array.from(taken.values()).reduce((sum, count) => sum + Math.min(count, most), own) >= maxJobs) {
      return { what: place, message: `as many movers run as HOMEOSTAT_BACKUP_MAX_JOBS allows, ${maxJobs}` }
    }
    const { namespace } = owner.metadata
    if (own >= share && turns.someWaits(kind, place, (key) => key.namespace !== namespace)) {
      return { what: place, message: `${own} movers of this namespace run, and other namespaces wait` }
    }
    return undefined
  })

/** A pod or Job that does not end for so long has a node that is down, or a volume that hangs. */
const patience = 5 * 60_000

/** Whether an object has been deleted for so long that its node may be down. */
export const isStuck = ({ metadata: { deletionTimestamp } }: KubernetesObject, now: number): boolean =>
  deletionTimestamp !== undefined && now > Date.parse(deletionTimestamp) + patience

/** Whether a Job holds a slot: it has a running pod, or is so new that its pod may be missing. */
const holdsSlot = (job: Job, now: number): boolean => {
  if (job.metadata.deletionTimestamp !== undefined) return !isStuck(job, now)
  return (job.status?.active ?? 0) > 0 || now < JobProgress.madeAt(job) + podlessMillis
}
