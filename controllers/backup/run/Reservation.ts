/**
 * The start of a Job that needs its repository for itself, when several managers share the Backups of a cluster by labels. Each of them
 * can find the repository free at the same moment, and two movers that create it at once destroy it.
 *
 * The manager creates the Job suspended, which reserves the repository. It starts the Job only if no other mover worked on the repository
 * at the resourceVersion of that creation. The later of two managers finds the Job of the earlier one, and deletes its own.
 */

import type * as Cache from "@homeostat/runtime/cache/Cache"
import * as Client from "@homeostat/runtime/client/Client"
import * as Pages from "@homeostat/runtime/client/Pages"
import * as Patch from "@homeostat/runtime/client/Patch"
import { Job } from "@homeostat/runtime/resource/BuiltIn"
import { type Desired, keyOf } from "@homeostat/runtime/resource/KubernetesObject"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Names from "../kinds/Names.ts"
import * as MoverSlots from "./MoverSlots.ts"

/** Whether this manager has only some of the Backups, because of a label selector. */
export const isNeeded = (informers: ReadonlyArray<Cache.Informer>): boolean =>
  informers.some(({ labelSelector, resource }) => MoverSlots.isKind(resource, "Backup") && labelSelector !== undefined)

/**
 * Creates and starts a Job. Failure: the Job of another manager that came first.
 *
 * @param repository the hash of the repository
 * @param blocks whether another unfinished Job keeps this one from starting
 */
export const start = (
  desired: Desired<Job>,
  repository: string,
  informers: ReadonlyArray<Cache.Informer>,
  blocks: (job: Job) => boolean
) =>
  Effect.gen(function* () {
    const reserved = yield* Client.create(Job, {
      ...desired,
      spec: { ...desired.spec, suspend: true } as NonNullable<Job["spec"]>
    })
    const { resourceVersion, uid } = reserved.metadata
    const release = Effect.ignore(Client.delete(Job, keyOf(reserved), { propagation: "Background", uid }))
    const followed = informers.find(({ resource }) => resource.kind === Job.kind && resource.group === Job.group)
    const places = followed === undefined || followed.namespaces.length === 0 ? [undefined] : followed.namespaces
    return yield* Effect.gen(function* () {
      for (const namespace of places) {
        const rival = yield* Pages.find(
          Job,
          {
            namespace,
            labelSelector: `${Names.repositoryLabel}=${repository}`,
            resourceVersion,
            resourceVersionMatch: "Exact"
          },
          (job) => (job.metadata.uid !== uid && MoverSlots.works(job) && blocks(job) ? job : undefined)
        )
        if (rival !== undefined) {
          yield* release
          return Result.fail(rival)
        }
      }
      return Result.succeed(yield* Client.patch(Job, keyOf(reserved), Patch.merge({ spec: { suspend: false } })))
    }).pipe(Effect.onError(() => release))
  })
