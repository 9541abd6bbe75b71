/**
 * Reads the prerequisites of a Backup or Restore in its namespace from the server. So a run starts with current data, and no cache
 * has to hold the Secrets, claims and pods of a cluster.
 *
 * Errors: only `ApiError`; a missing object is a result. Needs the permissions of {@link access}.
 *
 * Secrets are read one by one. Only the names of their keys leave this module, and which keys are empty or have a control character.
 */

import * as ApiError from "@homeostat/runtime/client/ApiError"
import * as Client from "@homeostat/runtime/client/Client"
import type { RequestOptions } from "@homeostat/runtime/client/Options"
import * as Pages from "@homeostat/runtime/client/Pages"
import * as Access from "@homeostat/runtime/controller/Access"
import {
  Deployment,
  Namespace,
  PersistentVolumeClaim,
  Pod,
  Secret,
  StatefulSet
} from "@homeostat/runtime/resource/BuiltIn"
import type { KubernetesObject, ObjectKey } from "@homeostat/runtime/resource/KubernetesObject"
import type { InvalidObject, Resource } from "@homeostat/runtime/resource/Resource"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import type { Backup } from "../kinds/Backup.ts"
import * as Names from "../kinds/Names.ts"
import { modeOf, type Restore } from "../kinds/Restore.ts"
import * as Credentials from "../repository/Credentials.ts"
import type * as Destination from "../repository/Destination.ts"
import * as Placement from "../volumes/Placement.ts"
import * as Source from "../volumes/Source.ts"
import * as Target from "../volumes/Target.ts"
import type * as VolumeClaim from "../volumes/VolumeClaim.ts"

/** The permissions of this module. */
export const access: ReadonlyArray<Access.Access> = [
  Access.get(Deployment),
  Access.get(StatefulSet),
  Access.list(PersistentVolumeClaim),
  Access.list(Pod),
  Access.get(Secret),
  Access.get(Namespace)
]

/** A privileged mover is not allowed. */
export interface PrivilegesRefusal {
  readonly reason: "PrivilegedNotAllowed"
  readonly message: string
}

/** Whether the namespace allows the mover that a spec describes. */
export const privileges = ({
  metadata: { namespace = "" },
  spec
}: Backup | Restore): Found<void, PrivilegesRefusal> => {
  if (spec.privileged !== true) return Effect.succeed(Result.void)
  const refuse = (message: string) => Result.fail<PrivilegesRefusal>({ reason: "PrivilegedNotAllowed", message })
  const allowed = (found: Option.Option<Namespace>) =>
    Option.isSome(found) && found.value.metadata.annotations?.[Names.privilegedAnnotation] === "true"
      ? Result.void
      : refuse(
          `spec.privileged is not allowed in namespace ${namespace}: an administrator sets its annotation ${Names.privilegedAnnotation} to "true"`
        )
  return Effect.map(find(Namespace, { name: namespace }), allowed).pipe(
    Effect.catchTag("Forbidden", ({ message }) =>
      Effect.succeed(refuse(`spec.privileged cannot be checked: ${message}`))
    )
  )
}

/** A Backup of another namespace may not be restored here. */
export interface GrantRefusal {
  readonly reason: "RestoreNotAllowed"
  readonly message: string
}

/** Whether a Restore may use the Backups of `spec.backupNamespace`. The refusal does not reveal whether the namespace exists. */
export const granted = ({
  metadata: { namespace = "" },
  spec: { backupNamespace = namespace }
}: Restore): Found<void, GrantRefusal> => {
  if (backupNamespace === namespace) return Effect.succeed(Result.void)
  const refusal = Result.fail<GrantRefusal>({
    reason: "RestoreNotAllowed",
    message: `spec.backupNamespace is not allowed: "${backupNamespace}" (an administrator adds ${namespace} to the annotation ${Names.restoreAnnotation} of that namespace)`
  })
  return Effect.map(find(Namespace, { name: backupNamespace }), (found) => {
    const names = Option.match(found, {
      onNone: () => "",
      onSome: ({ metadata }) => metadata.annotations?.[Names.restoreAnnotation] ?? ""
    })
    const isListed = names.split(",").some((name) => name.trim() === namespace || name.trim() === "*")
    return isListed ? Result.void : refusal
  }).pipe(Effect.catchTag("Forbidden", () => Effect.succeed(refusal)))
}

type Found<A, E> = Effect.Effect<Result.Result<A, E>, ApiError.ApiError, Client.Client>

/** The current groups of claims that a Backup saves: one Job for each, in this order. */
export const source = (
  { metadata: { namespace }, spec }: Backup,
  destination: Destination.Destination
): Found<Arr.NonEmptyReadonlyArray<Placement.Group>, VolumeClaim.Refusal> =>
  Effect.map(sourceAt(namespace, spec.source), (seen) =>
    Result.gen(function* () {
      const claims = yield* Source.resolve(Source.parse(spec.source), seen)
      return yield* placed(claims, seen, destination, spec)
    })
  )

/**
 * The current claim that a Restore writes to, with the node and the user of its mover: those of the pods that use it, or else those
 * of the Backup's mover if its source still exists.
 *
 * @param backup the Backup of `spec.backupRef`
 * @param destination the Backup's
 */
export const target = (
  { metadata: { namespace }, spec }: Restore,
  backup: Backup,
  destination: Destination.Destination
): Found<Placement.Group, VolumeClaim.Refusal> =>
  Effect.gen(function* () {
    const origin = yield* sourceAt(backup.metadata.namespace, backup.spec.source)
    const seen = namespace === backup.metadata.namespace ? origin : yield* volumesAt(namespace)
    return Result.gen(function* () {
      const claim = yield* Target.ofRestore(spec, seen)
      const reader = readerOf(backup, origin, spec.volume ?? spec.targetPVC)
      const [group] = yield* placed([claim], seen, destination, spec, {
        fallback: Target.writer(claim, reader, modeOf(spec)),
        keepsGroup: Target.keepsGroup(claim, modeOf(spec))
      })
      return group
    })
  })

/** The user who reads the files of a volume. */
const readerOf = ({ spec }: Backup, seen: Source.Seen, volume: string | undefined): Placement.Security => {
  const groups = Result.flatMap(Source.resolve(Source.parse(spec.source), seen), (claims) =>
    Placement.place({ claims, pods: seen.pods, security: spec.podSecurityContext })
  )
  if (Result.isFailure(groups)) return { ...Placement.unknown, ...spec.podSecurityContext }
  const group = groups.success.find(({ claims }) => claims.some(({ name }) => name === volume)) ?? groups.success[0]
  return group.security
}

/** The node and the user of a mover that works only on the repository: those of the Backup's movers, if known. */
export const repository = (
  backup: Backup,
  destination: Destination.Destination
): Found<Omit<Placement.Group, "claims">, VolumeClaim.Refusal> =>
  Effect.map(sourceAt(backup.metadata.namespace, backup.spec.source), (seen) =>
    Result.gen(function* () {
      const security = readerOf(backup, seen, undefined)
      if (destination._tag !== "Pvc") return { node: undefined, tolerations: [], security }
      const claim = yield* Target.ofDestination(destination.claim, seen, [])
      return Placement.alone(claim, { pods: seen.pods, security, wanted: backup.spec.podSecurityContext })
    })
  )

/** The Secret values for a mover of this Backup, or of a Restore from it. */
export const credentials = (
  { metadata: { name, namespace: own }, spec }: Backup,
  destination: Destination.Destination,
  /** The namespace and the ServiceAccount of the pod. */
  {
    namespace = own,
    serviceAccountName = spec.serviceAccountName
  }: { readonly namespace?: string | undefined; readonly serviceAccountName?: string | undefined } = {}
): Found<Credentials.Mounts, Credentials.Refusal> =>
  Effect.gen(function* () {
    const references = Credentials.references(name, spec.repository)
    const found = yield* Effect.forEach(
      Credentials.secrets(references, destination),
      ([secret, secretKeys]) =>
        Effect.map(find(Secret, { namespace, name: secret }, { secretKeys }), (object) =>
          Option.map(object, (there) => [secret, there] as const)
        ),
      { concurrency: "unbounded" }
    )
    const secrets = new Map(Arr.getSomes(found))
    return Credentials.mounts({
      destination,
      references,
      secrets: new Map(Array.from(secrets, ([name, secret]) => [name, keysOf(secret)])),
      isUnprintable: (name, key) => Credentials.hasControl(secrets.get(name)?.data?.[key] ?? ""),
      ownIdentity: serviceAccountName !== undefined,
      region: spec.repository?.region
    })
  })

const keysOf = ({ data = {} }: Secret): ReadonlyArray<string> => Object.keys(data).filter((key) => data[key] !== "")

const placed = (
  claims: Arr.NonEmptyReadonlyArray<VolumeClaim.VolumeClaim>,
  seen: Target.Seen,
  destination: Destination.Destination,
  { podSecurityContext }: Pick<Backup["spec"], "podSecurityContext">,
  options?: Pick<Placement.Options, "fallback" | "keepsGroup">
) =>
  Result.gen(function* () {
    return yield* Placement.place({
      claims,
      pods: seen.pods,
      destination:
        destination._tag === "Pvc" ? yield* Target.ofDestination(destination.claim, seen, claims) : undefined,
      security: podSecurityContext,
      ...options
    })
  })

const sourceAt = (
  namespace: string | undefined,
  source: string
): Effect.Effect<Source.Seen, ApiError.ApiError, Client.Client> => {
  const { kind, name } = Source.parse(source)
  const key = { namespace, name }
  return Effect.all(
    {
      volumes: volumesAt(namespace),
      deployment: kind === "pvc" ? Effect.succeedNone : find(Deployment, key),
      statefulSet: kind === "pvc" ? Effect.succeedNone : find(StatefulSet, key)
    },
    { concurrency: "unbounded" }
  ).pipe(
    Effect.map(({ deployment, statefulSet, volumes }) => ({
      ...volumes,
      deployment: Option.getOrUndefined(deployment),
      statefulSet: Option.getOrUndefined(statefulSet)
    }))
  )
}

/** The claims of a namespace, and the pods that may use them. */
const volumesAt = (namespace: string | undefined): Effect.Effect<Target.Seen, ApiError.ApiError, Client.Client> =>
  Effect.all(
    {
      claims: asServed(Pages.all(PersistentVolumeClaim, { namespace }, claimPart)),
      pods: asServed(Pages.all(Pod, { namespace }, podPart))
    },
    { concurrency: "unbounded" }
  )

const metadataPart = ({ annotations: _, managedFields: __, ...metadata }: KubernetesObject["metadata"]) => metadata

/** The fields of a claim that the search for sources reads, without annotations and managedFields. */
const claimPart = ({ metadata, spec, status }: PersistentVolumeClaim): PersistentVolumeClaim => ({
  metadata: metadataPart(metadata),
  ...(spec !== undefined && { spec }),
  ...(status !== undefined && { status })
})

type Container = NonNullable<Pod["spec"]>["containers"][number]

/** The mounts of a container, and its user. Its variables and commands may be a megabyte. */
const containerPart = ({ name, securityContext, volumeMounts }: Container): Container => ({
  name,
  ...(securityContext !== undefined && { securityContext }),
  ...(volumeMounts !== undefined && { volumeMounts })
})

/** The fields of a pod that the search for sources reads; undefined for a finished pod, which uses no volume. */
const podPart = ({ metadata, spec, status }: Pod): Pod | undefined => {
  if (status?.phase === "Succeeded" || status?.phase === "Failed") return undefined
  return {
    metadata: metadataPart(metadata),
    ...(spec !== undefined && {
      spec: {
        ...spec,
        containers: spec.containers.map(containerPart),
        ...(spec.initContainers !== undefined && { initContainers: spec.initContainers.map(containerPart) })
      }
    }),
    ...(status?.phase !== undefined && { status: { phase: status.phase } })
  }
}

const find = <A extends KubernetesObject>(kind: Resource<A, never>, key: ObjectKey, options?: RequestOptions) =>
  asServed(Client.get(kind, key, options)).pipe(
    Effect.asSome,
    Effect.catchIf(ApiError.isNotFound, () => Effect.succeedNone)
  )

/** Built-in kinds are not decoded, so no object is invalid. */
const asServed = <A, R>(
  read: Effect.Effect<A, ApiError.ApiError | InvalidObject, R>
): Effect.Effect<A, ApiError.ApiError, R> => Effect.catchTag(read, "InvalidObject", Effect.die)
