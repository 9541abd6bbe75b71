/**
 * The parts of objects that the caches of a program keep, by kind. A declared transform comes first. Kinds that controllers reconcile
 * or watch are kept whole. For other owned kinds the cache keeps whole objects only if a controller of the program owns or once applied
 * them. For other objects it keeps only their existence, so that they cost little memory.
 */
import * as Transform from "../cache/Transform.ts"
import type { Controller } from "../controller/Controller.ts"
import { intentAnnotation } from "../controller/Intent.ts"
import type { KubernetesObject } from "../resource/KubernetesObject.ts"
import * as Resource from "../resource/Resource.ts"

type Declared = Pick<Controller<never>, "name" | "resource" | "transforms"> & {
  readonly triggers: ReadonlyArray<{ readonly relation: "owned" | "watch"; readonly resource: Resource.Any }>
}

/**
 * The transform of a kind; `undefined` if objects are kept whole. Throws if two controllers have different transforms for a kind,
 * because they share its cache.
 */
export const of = (
  controllers: ReadonlyArray<Declared>
): ((resource: Resource.Any) => Transform.Transform | undefined) => {
  const chosen = new Map<string, Transform.Transform>()
  for (const { name, transforms } of controllers) {
    for (const transform of transforms) {
      const identity = Resource.identityOf(transform.resource)
      const other = chosen.get(identity)
      if (other !== undefined && other !== transform) {
        throw new Error(
          `controller ${name} has another transform for ${Resource.nameOf(transform.resource)} than a controller before it: they share a cache, so give both the same value`
        )
      }
      chosen.set(identity, transform)
    }
  }
  const owners = controllers.map(({ resource }) => resource)
  // Another manager on the same cache shares the informer if it has the same kinds of owners.
  const name = `owned by ${[...new Set(owners.map(Resource.nameOf))].sort().join(", ")}`
  const whole = new Set(
    [
      ...owners,
      ...controllers.flatMap(({ triggers }) =>
        triggers.flatMap(({ relation, resource }) => (relation === "watch" ? [resource] : []))
      )
    ].map(Resource.identityOf)
  )
  return (resource) => {
    const identity = Resource.identityOf(resource)
    const own = chosen.get(identity)
    if (own !== undefined || whole.has(identity) || resource.projection === "metadata") return own
    return {
      resource,
      name,
      apply: (object) => (isOwned(owners, object) ? object : Transform.existence(object))
    }
  }
}

/** Whether an object has an owner of one of these kinds, or was applied for one. */
const isOwned = (owners: ReadonlyArray<Resource.Any>, { metadata }: KubernetesObject): boolean =>
  metadata.annotations?.[intentAnnotation] !== undefined ||
  (metadata.ownerReferences ?? []).some(({ apiVersion, kind }) =>
    owners.some(
      (owner) => owner.kind === kind && apiVersion.slice(0, Math.max(apiVersion.indexOf("/"), 0)) === owner.group
    )
  )
