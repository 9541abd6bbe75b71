/**
 * The reconcile in progress, for the code that runs in it.
 *
 * @internal
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as EventRecorder from "../events/EventRecorder.ts"
import { type KubernetesObject, parseKey } from "../resource/KubernetesObject.ts"
import type * as Resource from "../resource/Resource.ts"
import type { Change, Fight } from "./HotLoop.ts"
import type { Memory } from "./Memory.ts"

/** A correction of a child. */
export interface Correction {
  /** The kind of the child. */
  readonly kind: string
  /** The child, as `namespace/name`. */
  readonly key: string
  /** Why: the child was `created` or `removed`, the intent is new, or another manager had changed the child. */
  readonly reason: "created" | "intent" | "drift" | "removed"
  /** The paths of the fields that differed, such as `spec.template.spec.containers[app].image`, without values. */
  readonly fields: ReadonlyArray<string>
  /** The other manager that had changed one of the fields, if the last event of the child names it. */
  readonly manager?: string | undefined
}

/**
 * Records the corrections of an attempt as Events; `undefined` if there are none. Children that were created share one Event, also with
 * those that were updated or removed in the same attempt, because each Event is a request. Removed children share one, too.
 */
export const announce = (
  owner: KubernetesObject,
  corrections: ReadonlyArray<Correction>
): Effect.Effect<void, never, EventRecorder.EventRecorder> | undefined => {
  const [first, second] = corrections
  if (first === undefined) return undefined
  const record = (reason: string, note: string) =>
    EventRecorder.record({ regarding: owner, type: "Normal", reason, note })
  const created = corrections.filter(({ reason }) => reason === "created")
  const removed = corrections.filter(({ reason }) => reason === "removed")
  const updated = corrections.filter(({ reason }) => reason !== "created" && reason !== "removed")
  const removal = `emoved ${removed.map(nameOf).join(", ")}`
  if (created.length === 0) {
    const [one, another] = removed
    const removals = one === undefined ? [] : [another === undefined ? `${one.kind}Removed` : "ChildrenRemoved"]
    return Effect.andThen(
      Effect.forEach(updated, (each) => record(`${each.kind}Updated`, `Updated ${shown(each)}`), { discard: true }),
      Effect.forEach(removals, (reason) => record(reason, `R${removal}`), { discard: true })
    )
  }
  const note = [
    `Created ${created.map(nameOf).join(", ")}`,
    ...(updated.length > 0 ? [`updated ${updated.map(shown).join(", ")}`] : []),
    ...(removed.length > 0 ? [`r${removal}`] : [])
  ].join("; ")
  if (created.length < corrections.length) return record("ChildrenApplied", note)
  return record(second === undefined ? `${first.kind}Created` : "ChildrenCreated", note)
}

const nameOf = ({ key, kind }: Correction): string => `${kind} ${parseKey(key).name}`

/** Names the fields of metadata only where nothing else was changed: many are records of the controller. */
const shown = (correction: Correction): string => {
  const others = correction.fields.filter((field) => !field.startsWith("metadata."))
  const fields = others.length > 0 ? others : correction.fields
  const by = correction.manager === undefined ? "" : `, which ${correction.manager} had changed`
  return `${nameOf(correction)} (${fields.join(", ") || "metadata"})${by}`
}

/**
 * The worker provides it to `reconcile` and `cleanup`. `Owned`, `Status` and `Finalizer` take the kind, the field manager and the memory
 * from it.
 */
export class Reconciliation extends Context.Service<
  Reconciliation,
  {
    /** Unique per attempt. Every log line of the attempt has it. */
    readonly id: string
    readonly controller: string
    readonly fieldManager: string
    /** The reconciled kind. It decodes nothing, so status and finalizers are written even for an invalid spec. */
    readonly resource: Resource.Any
    /** The cached object when the attempt began, in its wire form. */
    readonly object: KubernetesObject
    readonly memory: Memory
    /** Whether the reconcile has written `Ready`, `Reconciling` or `Stalled` in this attempt: then the runtime writes none. */
    hasConditions: boolean
    /** The kinds that the controller declares to apply, such as `deployments.apps`. */
    readonly applied: ReadonlySet<string>
    /** The kinds that the controller declares to delete, such as `ingresses.networking.k8s.io`. */
    readonly deleted: ReadonlySet<string>
    /** The label selectors of owned kinds, by the name of the kind: the cache lacks children that they do not select. */
    readonly selectors: ReadonlyMap<string, string>
    /** The kinds that the controller owns. */
    readonly owns: ReadonlyArray<Resource.Any>
    /** Whether all attempts of the last ten seconds failed. */
    readonly lasts: boolean
    /** The fight with another manager that lasts: the object is not Ready meanwhile. */
    readonly fight: Fight | undefined
    /** When the runtime retries the attempt if it fails with this error, in ms of the Clock; undefined if the retries end. */
    readonly retryAt: (error: unknown) => Effect.Effect<number | undefined>
    /** Enters a correction in the attempt's record. */
    readonly corrected: (correction: Correction) => void
    /** Enters a write in the attempt's record. */
    readonly changed: (change: Change) => void
  }
>()("@homeostat/runtime/Reconciliation") {}
