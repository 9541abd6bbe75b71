/** Decodes the objects of a list. Some may not match their schema. */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { KubernetesObject } from "./KubernetesObject.ts"
import type { InvalidObject, Resource } from "./Resource.ts"

/** The objects of a list. */
export interface Decoded<A> {
  readonly items: ReadonlyArray<A>
  /** One error per object that does not match its schema. A warning in the log reports each version once. */
  readonly invalid: ReadonlyArray<InvalidObject>
}

/** The logged versions of invalid objects, by UID. */
const logged = new Map<string, string | undefined>()
const mostLogged = 1024

/** The logged objects. A cache returns the same ones in each list, and may have more of them than {@link mostLogged}. */
const cached = new WeakSet<KubernetesObject>()

const isNew = (object: KubernetesObject): boolean => {
  if (cached.has(object)) return false
  cached.add(object)
  const { resourceVersion, uid } = object.metadata
  if (logged.has(uid) && logged.get(uid) === resourceVersion) return false
  if (logged.size >= mostLogged) logged.clear()
  logged.set(uid, resourceVersion)
  return true
}

const nothing: Effect.Effect<Decoded<never>> = Effect.succeed({ items: [], invalid: [] })

/** Decodes each object. Logs a warning for each invalid one, once per version. */
export const all = <A extends KubernetesObject>(
  resource: Resource<A, never>,
  objects: ReadonlyArray<KubernetesObject>
): Effect.Effect<Decoded<A>> => {
  if (objects.length === 0) return nothing
  const items: Array<A> = []
  const invalid: Array<InvalidObject> = []
  const warnings: Array<string> = []
  for (const object of objects) {
    const result = resource.decode(object)
    if (Result.isSuccess(result)) {
      items.push(result.success)
      continue
    }
    invalid.push(result.failure)
    if (isNew(object)) warnings.push(`left an object out of a list: ${result.failure.message}`)
  }
  const decoded = Effect.succeed({ items, invalid })
  return warnings.length === 0
    ? decoded
    : Effect.andThen(
        Effect.forEach(warnings, (warning) => Effect.logWarning(warning), { discard: true }),
        decoded
      )
}
