/**
 * The way from an object, such as a pod, to the object that a controller here reconciles: from owner to owner, by the ownerReferences.
 *
 * Reads the caches first, and then the API server, with at most one request per step. A ReplicaSet is not read: it has the name of its
 * Deployment and the hash of its pod template, so a manager needs no permission for ReplicaSets.
 */
import * as Effect from "effect/Effect"
import * as BuiltIn from "../../resource/BuiltIn.ts"
import {
  controllerOf,
  type KubernetesObject,
  keyString,
  type ObjectKey,
  type OwnerReference
} from "../../resource/KubernetesObject.ts"
import * as Resource from "../../resource/Resource.ts"
import * as Gather from "./Gather.ts"

/** The owner that a controller reconciles, or why there is none, in one sentence. */
export type Kin =
  | {
      readonly subjects: ReadonlyArray<Gather.Subject>
      readonly key: ObjectKey
      /** The owners between the object and that one: `Deployment shop`. */
      readonly through: ReadonlyArray<string>
    }
  | { readonly reason: string }

/** The longest way: a pod of a Job of a CronJob of an object has three steps. */
const mostSteps = 5

/** The kinds of Kubernetes that may be on the way. */
const builtIn: ReadonlyArray<Resource.Any> = Object.values(BuiltIn)

/** The kinds that the way may begin with, besides those that the controllers reconcile or own. */
export const kinds = (subjects: ReadonlyArray<Gather.Subject>): ReadonlyArray<Resource.Any> => [
  ...subjects.flatMap(({ controller }) => controller.triggers.map(({ resource }) => resource)),
  ...builtIn
]

const groupOf = (apiVersion: string): string => apiVersion.slice(0, Math.max(apiVersion.indexOf("/"), 0))

const isOf = (resource: Resource.Any, { apiVersion, kind }: OwnerReference): boolean =>
  resource.kind === kind && resource.group === groupOf(apiVersion)

const keyOfOwner = (resource: Resource.Any, { name }: OwnerReference, { namespace }: ObjectKey): ObjectKey =>
  resource.namespaced && namespace !== undefined ? { namespace, name } : { name }

const hashLabel = "pod-template-hash"

/** The Deployment of a ReplicaSet, by the name that the Deployment controller gives it. */
const deploymentOf = (replicaSet: string, hash: string | undefined): string | undefined =>
  hash !== undefined && replicaSet.endsWith(`-${hash}`) ? replicaSet.slice(0, -hash.length - 1) : undefined

const cachedIn = (
  subjects: ReadonlyArray<Gather.Subject>,
  resource: Resource.Any,
  key: ObjectKey
): KubernetesObject | undefined => {
  for (const { runner } of subjects) {
    for (const informer of runner.informers) {
      if (Resource.identityOf(informer.resource) !== Resource.identityOf(resource)) continue
      const object = informer.store.get(keyString(key))
      if (object !== undefined) return object
    }
  }
  return undefined
}

/** The cached Deployment of a ReplicaSet, by the name: the last part is the hash. */
const deploymentAbove = (
  subjects: ReadonlyArray<Gather.Subject>,
  resource: Resource.Any,
  { name, namespace }: ObjectKey
): KubernetesObject | undefined =>
  Resource.identityOf(resource) === Resource.identityOf(BuiltIn.ReplicaSet)
    ? cachedIn(subjects, BuiltIn.Deployment, { ...(namespace && { namespace }), name: name.replace(/-[^-]*$/, "") })
    : undefined

/** The owner that a controller of these reconciles. */
export const of = (
  subjects: ReadonlyArray<Gather.Subject>,
  resource: Resource.Any,
  key: ObjectKey
): Effect.Effect<Kin, never, Gather.Needs> =>
  Effect.gen(function* () {
    const through: Array<string> = []
    let at = { resource, key }
    for (let step = 0; step < mostSteps; step++) {
      const what = `${at.resource.kind} ${keyString(at.key)}`
      let object = cachedIn(subjects, at.resource, at.key) ?? deploymentAbove(subjects, at.resource, at.key)
      if (object === undefined) {
        const live = yield* Gather.look(at.resource, at.key)
        if (live._tag === "NotThere") return { reason: `${what} not found` }
        if (live._tag === "Unknown") return { reason: `the owner of ${what} is not known: ${live.reason}` }
        object = live.object
      }
      let reference = controllerOf(object)
      if (reference === undefined) return { reason: `${what} has no controller` }
      const deployment = deploymentOf(reference.name, object.metadata.labels?.[hashLabel])
      if (step === 0 && object.metadata.name !== at.key.name) through.push(`Deployment ${object.metadata.name}`)
      if (isOf(BuiltIn.ReplicaSet, reference) && deployment !== undefined) {
        through.push(`ReplicaSet ${reference.name}`)
        reference = { ...reference, kind: BuiltIn.Deployment.kind, name: deployment }
      }
      const owner = reference
      const those = subjects.filter(({ controller }) => isOf(controller.resource, owner))
      const [first] = those
      if (first !== undefined)
        return { subjects: those, through, key: keyOfOwner(first.controller.resource, owner, at.key) }
      const next = kinds(subjects).find((each) => isOf(each, owner))
      if (next === undefined)
        return { reason: `the controller of ${what} is ${owner.kind} ${owner.name} (${owner.apiVersion})` }
      through.push(`${owner.kind} ${owner.name}`)
      at = { resource: next, key: keyOfOwner(next, owner, at.key) }
    }
    return { reason: `${resource.kind} ${keyString(key)} has more than ${mostSteps} owners above it` }
  })
