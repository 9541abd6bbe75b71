/**
 * Follows the objects that a Backup needs, so that its condition Ready changes with them and not at the next run.
 *
 * The cache follows the claims and workloads: without a request it shows whether one is missing. Secrets are not watched, because a
 * permission to watch them is one to read all of them. The controller reads those of each Backup once an hour.
 */
import * as Cache from "@homeostat/runtime/cache/Cache"
import * as Transform from "@homeostat/runtime/cache/Transform"
import * as Predicate from "@homeostat/runtime/controller/Predicate"
import * as Trigger from "@homeostat/runtime/controller/Trigger"
import { Deployment, PersistentVolumeClaim, StatefulSet } from "@homeostat/runtime/resource/BuiltIn"
import { type KubernetesObject, keyOf, keyString, type ObjectKey } from "@homeostat/runtime/resource/KubernetesObject"
import * as Resource from "@homeostat/runtime/resource/Resource"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Backup } from "../kinds/Backup.ts"
import type * as Destination from "../repository/Destination.ts"
import * as Source from "../volumes/Source.ts"

const kinds = {
  pvc: PersistentVolumeClaim,
  deployment: Resource.metadataOnly(Deployment),
  statefulset: Resource.metadataOnly(StatefulSet)
} as const

/** The caches of claims and workloads keep only what the controllers read. */
export const transforms: ReadonlyArray<Transform.Transform> = [
  Transform.of(PersistentVolumeClaim, ({ metadata, status }) => ({
    metadata: identityOf(metadata),
    ...(status?.phase !== undefined && { status: { phase: status.phase } })
  })),
  ...[kinds.deployment, kinds.statefulset].map((kind) =>
    Transform.of(kind, ({ metadata }) => ({ metadata: identityOf(metadata) }))
  )
]

const identityOf = ({
  creationTimestamp,
  deletionTimestamp,
  name,
  namespace,
  resourceVersion,
  uid
}: KubernetesObject["metadata"]): KubernetesObject["metadata"] => ({
  name,
  ...(namespace !== undefined && { namespace }),
  uid,
  resourceVersion,
  creationTimestamp,
  ...(deletionTimestamp !== undefined && { deletionTimestamp })
})

/** The interval of the checks of a Backup's Secrets, in milliseconds. */
export const checkMillis = 3_600_000

/** The Backups of this process by their needs, and when to check their Secrets. */
export interface Registry {
  /** Replaces the needs of a Backup: names of kinds and objects. */
  readonly follow: (backup: ObjectKey, needs: ReadonlyArray<string>) => void
  /** A Backup is gone. */
  readonly forget: (backup: ObjectKey) => void
  /** The Backups with this need. */
  readonly dependents: (need: string) => ReadonlyArray<ObjectKey>
  /** When to check the Secrets of a Backup, in epoch milliseconds. New Backups are spread over the interval. */
  readonly checkAt: (backup: Backup, now: number) => number
  /** The Secrets were checked. */
  readonly checked: (backup: ObjectKey, now: number) => void
}

/** An empty registry. */
export const make = (): Registry => {
  const needs = new Map<string, ReadonlyArray<string>>()
  const backups = new Map<string, Map<string, ObjectKey>>()
  const checks = new Map<string, number>()
  const drop = (name: string) => {
    for (const need of needs.get(name) ?? []) {
      const dependents = backups.get(need)
      dependents?.delete(name)
      if (dependents?.size === 0) backups.delete(need)
    }
    needs.delete(name)
  }
  return {
    follow: (backup, wanted) => {
      const name = keyString(backup)
      if (needs.get(name)?.join() === wanted.join()) return
      drop(name)
      needs.set(name, wanted)
      for (const need of wanted) backups.set(need, (backups.get(need) ?? new Map()).set(name, backup))
    },
    forget: (backup) => {
      drop(keyString(backup))
      checks.delete(keyString(backup))
    },
    dependents: (need) => [...(backups.get(need)?.values() ?? [])],
    checkAt: ({ metadata }, now) => {
      const name = keyString(metadata)
      const at = checks.get(name)
      // After the clock was set back, the time may be far away.
      if (at !== undefined && at - now <= checkMillis) return at
      const first = now + Math.floor(fraction(metadata.uid) * checkMillis)
      checks.set(name, first)
      return first
    },
    checked: (backup, now) => void checks.set(keyString(backup), now + checkMillis)
  }
}

/** A number from 0 to 1 for a UID, which is random. */
const fraction = (uid: string): number =>
  Number.parseInt(uid.replaceAll(/[^0-9a-f]/g, "").slice(0, 8) || "0", 16) / 2 ** 32

/** The registry of a process. */
export const Needs = Context.Reference("@homeostat/backup/run/Needs", { defaultValue: make })

const need = (kind: string, namespace: string | undefined, name: string): string => `${kind} ${namespace}/${name}`

/** The kinds and names of the objects that a Backup needs. */
const parts = ({ spec, status }: Backup, destination: Destination.Destination | undefined) => {
  const { kind, name } = Source.parse(spec.source)
  const sources = kind === undefined ? (["pvc", "deployment", "statefulset"] as const) : ([kind] as const)
  const saved = status?.lastRun?.snapshots?.map(({ pvc }) => pvc) ?? []
  return {
    name,
    sources,
    /** The claims of the workload. */
    claims: saved.filter((claim) => claim !== name),
    repository: destination?._tag === "Pvc" ? destination.claim : undefined
  }
}

/** Follows the needs of a Backup. Returns whether the cache lacks one of them, which the API server may have. */
export const areMissing = (backup: Backup, destination: Destination.Destination) =>
  Effect.gen(function* () {
    const { claims, name, repository, sources } = parts(backup, destination)
    const { namespace } = backup.metadata
    const registry = yield* Needs
    registry.follow(keyOf(backup), [
      ...sources.map((source) => need(kinds[source].kind, namespace, name)),
      ...claims.map((claim) => need(PersistentVolumeClaim.kind, namespace, claim)),
      ...(repository === undefined ? [] : [need(PersistentVolumeClaim.kind, namespace, repository)])
    ])
    const claimOf = (claim: string) => Effect.orDie(Cache.get(PersistentVolumeClaim, { namespace, name: claim }))
    let found = 0
    for (const source of sources) {
      if (source === "pvc") {
        const claim = Option.getOrUndefined(yield* claimOf(name))
        if (claim !== undefined && !isUsable(claim)) return true
        if (claim !== undefined) found++
      } else if (Option.isSome(yield* Effect.orDie(Cache.get(kinds[source], { namespace, name })))) found++
    }
    // Several are ambiguous.
    if (found !== 1) return true
    for (const claim of claims) if (!Option.exists(yield* claimOf(claim), isUsable)) return true
    return repository !== undefined && !Option.exists(yield* claimOf(repository), isPresent)
  })

const isPresent = ({ metadata }: KubernetesObject): boolean => metadata.deletionTimestamp === undefined

const isUsable = (claim: PersistentVolumeClaim): boolean => isPresent(claim) && claim.status?.phase === "Bound"

/** Passes what makes an object usable or not. A term begins with all Backups, so existing objects trigger none. */
const comesOrGoes = Predicate.named(
  "comesOrGoes: it is as usable as before",
  ({ initial, object, previous }) => !initial && (previous === undefined || stateOf(previous) !== stateOf(object))
)

const stateOf = (object: KubernetesObject & { readonly status?: { readonly phase?: string } }): string =>
  `${object.metadata.uid} ${object.metadata.deletionTimestamp} ${object.status?.phase}`

/** The triggers: claims and workloads that Backups need. */
export const triggers = Object.values(kinds).map((kind) =>
  Trigger.on<KubernetesObject, never>(kind, {
    predicate: comesOrGoes,
    map: ({ metadata: { name, namespace } }) =>
      Effect.map(Needs, (registry) => registry.dependents(need(kind.kind, namespace, name)))
  })
)
