/**
 * Restores that write to the volumes of a run: a snapshot of a half-restored volume would replace good ones. The run waits for the end
 * of the Restore. A Restore that waits itself does not write. Two Restores of one volume take turns.
 */

import * as Cache from "@homeostat/runtime/cache/Cache"
import * as Pages from "@homeostat/runtime/client/Pages"
import { Job, Pod } from "@homeostat/runtime/resource/BuiltIn"
import type { KubernetesObject } from "@homeostat/runtime/resource/KubernetesObject"
import * as Effect from "effect/Effect"
import * as Names from "../kinds/Names.ts"
import type { Restore } from "../kinds/Restore.ts"
import * as Usage from "../volumes/Usage.ts"
import * as JobProgress from "./JobProgress.ts"
import * as MoverJob from "./MoverJob.ts"
import * as MoverSlots from "./MoverSlots.ts"

/** A Restore that writes to a volume. */
export interface ActiveRestore {
  /** The hash of its repository, if its Job is known: the end of that Job triggers waiting objects. */
  readonly repository: string | undefined
  readonly claim: string
}

/** The Restore that writes to one of these claims; undefined: none. Sends a request only if a Restore for such a claim waits. */
export const find = (namespace: string | undefined, claims: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    if (claims.length === 0) return undefined
    const written = (job: Job): string | undefined =>
      job.metadata.namespace === namespace && MoverJob.useOf(job) === "restore" && MoverSlots.works(job)
        ? JobProgress.claims(job).find((claim) => claims.includes(claim))
        : undefined
    const restoreOf = (job: Job): ActiveRestore | undefined => {
      const claim = written(job)
      return claim === undefined ? undefined : { repository: job.metadata.labels?.[Names.repositoryLabel], claim }
    }
    const working = yield* Cache.list(Job, { index: { name: MoverSlots.working.name, value: "" } })
    for (const job of working.items) {
      const seen = restoreOf(job)
      if (seen !== undefined) return seen
    }
    const open = targets((yield* Cache.Cache).informers(), namespace).filter(({ spec }) =>
      claims.includes(spec.targetPVC)
    )
    // The Restore has started, or is about to start, and the cache lacks its Job.
    const begun = open.find(({ status }) => status?.phase !== "Pending")
    if (begun !== undefined) return { repository: undefined, claim: begun.spec.targetPVC }
    if (open.length === 0) return undefined
    return yield* Pages.find(Job, { namespace, labelSelector: `${Names.useLabel}=restore` }, restoreOf)
  })

/**
 * Whether another Restore writes to a claim: two at once would mix two snapshots. Its Job may be deleted already, while its pod stops.
 * Sends a request.
 */
export const isBeside = ({ metadata: { namespace = "", uid } }: KubernetesObject, claim: string) =>
  Effect.gen(function* () {
    const isOther = (mover: KubernetesObject): boolean =>
      mover.metadata.labels?.[Names.ownerLabel] !== uid && MoverJob.useOf(mover) === "restore"
    const pods = yield* Cache.list(Pod, { namespace })
    const writes = (pod: Pod): boolean =>
      Usage.claimsOf(pod.metadata.name, pod.spec).some((mounted) => mounted.claim === claim)
    if (pods.items.some((pod) => isOther(pod) && Usage.isLive(pod) && writes(pod))) return true
    const isWriter = (job: Job): boolean =>
      isOther(job) && MoverSlots.works(job) && JobProgress.claims(job).includes(claim)
    const writer = Pages.find(Job, { namespace, labelSelector: `${Names.useLabel}=restore` }, (job) =>
      isWriter(job) ? true : undefined
    )
    return (yield* writer) === true
  })

/** The unfinished Restores of a namespace in the cache, which holds them as the API server serves them. */
const targets = (
  informers: ReadonlyArray<Cache.Informer>,
  namespace: string | undefined
): ReadonlyArray<Pick<Restore, "spec" | "status">> => {
  const restores = informers.find(({ resource }) => MoverSlots.isKind(resource, "Restore"))
  const objects: ReadonlyArray<KubernetesObject> =
    restores?.store.list(namespace === undefined ? {} : { namespace }) ?? []
  return (objects as ReadonlyArray<KubernetesObject & Restore>).filter(
    ({ metadata, status }) =>
      metadata.deletionTimestamp === undefined && status?.phase !== "Complete" && status?.phase !== "Failed"
  )
}
