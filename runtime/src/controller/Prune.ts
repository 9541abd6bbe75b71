/** Deletes the children that an owner no longer wants. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Cache from "../cache/Cache.ts"
import { Undeclared } from "../cache/Undeclared.ts"
import type * as Client from "../client/Client.ts"
import { type KubernetesObject, keyOf } from "../resource/KubernetesObject.ts"
import * as Resource from "../resource/Resource.ts"
import * as Child from "./Child.ts"
import * as Intent from "./Intent.ts"
import * as OwnedKind from "./OwnedKind.ts"
import * as Ownership from "./Ownership.ts"
import { Reconciliation } from "./Reconciliation.ts"
import * as Removal from "./Removal.ts"

/** A child that the owner no longer wants. */
export interface Removed {
  readonly child: string
  /** Whether it is gone, or still being deleted. */
  readonly isGone: boolean
  /** The children that are deleted before: `Deployment shop`. */
  readonly waitsFor: ReadonlyArray<string>
}

/** A child to delete. */
interface Superfluous {
  readonly kind: Resource.Any
  readonly object: KubernetesObject
  readonly place: string
  /** The places of the children that it needs. */
  readonly needs: ReadonlyArray<string>
}

/**
 * Deletes the children at other places. A child that another one needs is deleted after that. Returns the result for the removed ones.
 *
 * @param kept the names of the kinds whose children stay, with the children that these need
 */
export const prune = <B>(
  owner: KubernetesObject,
  desired: ReadonlyMap<string, Child.Child>,
  kept: ReadonlySet<string>,
  resultOf: (removed: ReadonlyArray<Removed>) => B
): Effect.Effect<B, Removal.Failure, Reconciliation | Client.Client | Cache.Cache> =>
  Effect.withFiber((fiber) => {
    const services = fiber.context as Context.Context<Reconciliation | Cache.Cache>
    const { memory, owns } = Context.get(services, Reconciliation)
    return Effect.flatMap(Context.get(services, Cache.Cache).dependents(owner, owns, fiber), (dependents) => {
      const found: Array<Superfluous> = []
      for (const { object, resource: kind } of dependents) {
        const { annotations = {}, uid } = object.metadata
        const place = Child.placeOf(kind, keyOf(object))
        if (desired.has(place) || annotations[Intent.intentAnnotation] === undefined) continue
        if (!Removal.isControlled(owner, object) || memory.isForeign(owner.metadata.uid, uid)) continue
        const needs = annotations[Child.afterAnnotation]?.split(",") ?? []
        found.push({ kind, object, place, needs })
      }
      const superfluous = kept.size === 0 ? found : without(found, kept)
      return superfluous.length === 0
        ? Effect.succeed(resultOf([]))
        : Effect.map(removeInOrder(owner, superfluous), resultOf)
    })
  })

/** The children of other kinds that no child of these kinds needs. */
const without = (children: ReadonlyArray<Superfluous>, kinds: ReadonlySet<string>): Array<Superfluous> => {
  const needed = new Set<string>()
  const isKept = ({ kind, place }: Superfluous) => kinds.has(Resource.nameOf(kind)) || needed.has(place)
  for (let size = -1; size < needed.size; ) {
    size = needed.size
    for (const { needs } of children.filter(isKept)) for (const place of needs) needed.add(place)
  }
  return children.filter((child) => !isKept(child))
}

/** Deletes these children, each after those that need it. */
const removeInOrder = (
  owner: KubernetesObject,
  found: Array<Superfluous>
): Effect.Effect<ReadonlyArray<Removed>, Removal.Failure, Reconciliation | Client.Client | Cache.Cache> =>
  Effect.gen(function* () {
    const { controller, deleted, fieldManager, memory } = yield* Reconciliation
    const { uid } = owner.metadata
    for (const child of found.filter(({ kind }) => !deleted.has(Resource.nameOf(kind)))) {
      const { kind, object } = child
      const isOurs = Ownership.wasOurs(kind, object, fieldManager)
      if (yield* Effect.catchTag(isOurs, "NotFound", () => Effect.succeed(false))) {
        return yield* Effect.die(new Undeclared({ message: OwnedKind.undeclared(controller, kind) }))
      }
      memory.addForeign(uid, object.metadata.uid)
      found.splice(found.indexOf(child), 1)
    }

    if (found.some(({ object }) => object.metadata.deletionTimestamp === undefined)) yield* Removal.confirmIntent(owner)

    // The last kinds first, as a list names dependencies first.
    const left = new Set(found.sort((one, other) => (one.place < other.place ? -1 : 1)).reverse())
    const asked = new Set<Superfluous>()
    const removed: Array<Superfluous> = []
    const neededBy = ({ place }: Superfluous) => [...left].filter(({ needs }) => needs.includes(place))
    for (;;) {
      const waiting = [...left].filter((child) => !asked.has(child))
      // Annotations that name each other, as after an edit, do not keep the children permanently.
      const next = waiting.find((child) => neededBy(child).length === 0) ?? (asked.size === 0 ? waiting[0] : undefined)
      if (next === undefined) break
      asked.add(next)
      const propagation = next.needs.length > 0 ? "Foreground" : "Background"
      const rest = yield* Removal.discard(owner, next.kind, next.object, { propagation }, ({ metadata }) => {
        const isOurs = Ownership.isAppliedBy(metadata, fieldManager)
        if (!isOurs) memory.addForeign(uid, next.object.metadata.uid)
        return isOurs
      })
      if (Option.isSome(rest)) continue
      left.delete(next)
      if (!memory.isForeign(uid, next.object.metadata.uid)) removed.push(next)
    }
    const reported = (child: Superfluous): Removed => ({
      child: `${child.kind.kind} ${child.object.metadata.name}`,
      isGone: !left.has(child),
      waitsFor: left.has(child) ? neededBy(child).map(({ kind, object }) => `${kind.kind} ${object.metadata.name}`) : []
    })
    const now = [...left].filter((child) => asked.has(child))
    const later = [...left].filter((child) => !asked.has(child))
    return [...removed, ...now, ...later].map(reported)
  })
