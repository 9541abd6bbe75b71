/** The differences between the intent of a child and the object that the API server stores. */
import * as Effect from "effect/Effect"
import * as EventRecorder from "../events/EventRecorder.ts"
import type { KubernetesObject } from "../resource/KubernetesObject.ts"
import * as Resource from "../resource/Resource.ts"
import * as Drift from "./Drift.ts"
import * as Equivalence from "./Equivalence.ts"
import type * as HotLoop from "./HotLoop.ts"
import * as Intent from "./Intent.ts"
import type { Memory } from "./Memory.ts"
import { Reconciliation } from "./Reconciliation.ts"

/** The changes that the API server made to an intent, from the response to a write. */
export interface ServerChanges {
  /** The paths that the server stores with another value, or drops. */
  readonly unmet: ReadonlySet<string>
  readonly altered?: HotLoop.Altered | undefined
}

/** No change. */
export const none: ServerChanges = { unmet: new Set() }

/**
 * Returns the differences that are drift, without other notations of applied values and without empty values that the API server is
 * known to drop.
 *
 * @param differences all differences of the child from the intent
 */
export const unmet = (
  kind: Resource.Any,
  intent: Intent.Intended,
  child: KubernetesObject,
  memory: Memory,
  differences: ReadonlyArray<Drift.Difference> = missing(intent, child)
): ReadonlyArray<Drift.Difference> => {
  if (differences.length === 0) return differences
  const isApplied = Intent.hashOf(child) === Intent.hashOf(intent)
  return differences.filter(
    (each) =>
      !(isApplied && Equivalence.isStored(each)) &&
      !(isEmptied(each) && memory.isDropped(Resource.identityOf(kind), each.path))
  )
}

const missing = (intent: object, child: object) => Drift.missing(Drift.json(intent), Drift.json(child))

const isEmptied = ({ have, want }: Drift.Difference): boolean => have === undefined && Drift.isEmpty(want)

/** Compares the stored object with the intent, and records the differences in the memory. Reports dropped fields once per kind. */
export const record = (
  owner: KubernetesObject,
  kind: Resource.Any,
  place: string,
  intent: Intent.Intended,
  child: KubernetesObject
): Effect.Effect<ServerChanges, never, Reconciliation | EventRecorder.EventRecorder> =>
  Effect.flatMap(Reconciliation, ({ memory }) => {
    const answer = missing(intent, child)
    for (const each of answer) if (isEmptied(each)) memory.drop(Resource.identityOf(kind), each.path)
    const left = unmet(kind, intent, child, memory, answer)
    const isKnown = memory.accepted(owner.metadata.uid, place, left)
    memory.accept(owner.metadata.uid, place, left)
    const dropped = answer.filter((each) => each.have === undefined && !isEmptied(each)).map(({ path }) => path)
    const line = `The API server drops ${dropped.join(", ")} of a ${kind.kind}: its schema does not know them`
    const reported =
      dropped.length > 0 && memory.isNews(line)
        ? Effect.andThen(
            Effect.logWarning(line),
            EventRecorder.record({ regarding: owner, type: "Warning", reason: "FieldDropped", note: line })
          )
        : Effect.void
    // The API server stores a default for `null`, as for an absent field.
    const fields = answer
      .filter(({ have, want }) => want !== null && have !== undefined && !Equivalence.isSame(want, have))
      .map(({ path }) => path)
    // It holds for every object of the kind.
    const isNews = fields.length > 0 && memory.isNews(`altered ${kind.kind} ${fields.join()}`)
    return Effect.as(reported, {
      unmet: new Set(left.map(({ path }) => path)),
      altered: isKnown || fields.length === 0 ? undefined : { fields, answer: child, isNews }
    })
  })
