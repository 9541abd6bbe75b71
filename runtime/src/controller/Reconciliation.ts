/**
 * The reconcile in progress, for the code that runs in it.
 *
 * @internal
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as EventRecorder from "../events/EventRecorder.ts"
import { type KubernetesObject, parseKey } from "../resource/KubernetesObject.ts"
import type * as Resource from "../resource/Resource.ts"
import type { Change } from "./HotLoop.ts"
import type { Memory } from "./Memory.ts"

/** A correction of a child. */
export interface Correction {
  /** The kind of the child. */
  readonly kind: string
  /** The child, as `namespace/name`. */
  readonly key: string
  /** Why: the child was `created`, the intent is new, or another manager had changed the child. */
  readonly reason: "created" | "intent" | "drift"
  /** The paths of the fields that differed, such as `spec.template.spec.containers[app].image`, without values. */
  readonly fields: ReadonlyArray<string>
}

/** Records one Event for all children that an attempt has created, since each Event is a request; `undefined` if there are none. */
export const announce = (
  owner: KubernetesObject,
  corrections: ReadonlyArray<Correction>
): Effect.Effect<void, never, EventRecorder.EventRecorder> | undefined => {
  const created = corrections.filter(({ reason }) => reason === "created")
  const [first] = created
  if (first === undefined) return undefined
  const names = created.map(({ key, kind }) => `${kind} ${parseKey(key).name}`)
  return EventRecorder.record({
    regarding: owner,
    type: "Normal",
    reason: created.length === 1 ? `${first.kind}Created` : "ChildrenCreated",
    note: `Created ${names.join(", ")}`
  })
}

/**
 * The worker provides it to `reconcile` and `cleanup`. `Owned`, `Status` and `Finalizer` take the kind, the field manager and the memory
 * from it.
 */
export class Reconciliation extends Context.Tag("@homeostat/runtime/Reconciliation")<
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
    /** Enters a correction in the attempt's record. */
    readonly corrected: (correction: Correction) => void
    /** Enters a write in the attempt's record. */
    readonly changed: (change: Change) => void
  }
>() {}
