/** The facts about an object that `why` explains, and functions to read them. `WhyGather` gathers them. */

import type { Stop } from "../../client/WriteSwitch.ts"
import type { LastLoop } from "../../controller/HotLoop.ts"
import type { TriggerEvent } from "../../controller/Trigger.ts"
import type { Position } from "../../queue/WorkQueue.ts"
import type { Condition } from "../../resource/Condition.ts"
import { type KubernetesObject, keyString, type ObjectKey } from "../../resource/KubernetesObject.ts"
import type { State } from "../../resource/ObjectState.ts"
import type * as Admissions from "./Admissions.ts"
import type { Ignored, ObjectHistory } from "./Journal.ts"

/** The current metadata of the object on the API server. */
export type Live =
  | { readonly _tag: "There"; readonly object: KubernetesObject }
  | { readonly _tag: "NotThere" }
  | { readonly _tag: "Unknown"; readonly reason: string }

/** A child of the object, with its metadata on the API server. */
export interface ChildFact {
  readonly kind: string
  readonly key: string
  readonly live: Live
}

/** The facts about an object and the controller that reconciles it. Times are milliseconds of the Clock. */
export interface Facts {
  readonly now: number
  readonly kind: string
  /** `webapps.apps.kubedojo.io` */
  readonly resource: string
  readonly key: ObjectKey
  readonly controller: {
    readonly name: string
    readonly fieldManager: string
    readonly finalizers: ReadonlyArray<string>
    readonly workers: number
  }
  /** When this process started to follow the object's kind. */
  readonly since: number
  /** Undefined without leader election: every process reconciles. */
  readonly election:
    | {
        readonly leading: boolean
        readonly holder: string | undefined
        readonly identity: string
        readonly lease: ObjectKey
        /** The stop of all writes that holds now. */
        readonly stop?: Stop | undefined
        /** The other managers that share objects with this leader, in one line. */
        readonly overlap?: string | undefined
      }
    | undefined
  /** Whether the API server answers the controllers. */
  readonly reachable: boolean
  /** Why no object of the kind is reconciled: the CRD of the cluster lacks fields. */
  readonly narrowed?: string | undefined
  /** The caches of the controller. `problem`: why a cache is not usable or not current. */
  readonly caches: ReadonlyArray<{
    readonly resource: string
    readonly synced: boolean
    readonly problem: string | undefined
    /** True if the kind is optional, and the API server does not serve it. */
    readonly absent?: boolean | undefined
  }>
  /** The namespaces that the manager follows; empty for all. */
  readonly namespaces: ReadonlyArray<string>
  /** The labels of `--selector`. */
  readonly labelSelector: string | undefined
  /** Why the controller does not select the object; absent if it does, or if that is not known. */
  readonly unselected?: string | undefined
  readonly cached: KubernetesObject | undefined
  /** The state of the cached object; Unknown without one. */
  readonly state: State
  /** The last hot loop of the object, as long as the process keeps it. */
  readonly loop?: LastLoop | undefined
  readonly live: Live
  /** Namespaces with an object of the same name. */
  readonly elsewhere: ReadonlyArray<string>
  readonly entry: ObjectHistory | undefined
  /**
   * Changes that a predicate ignored, of the object and of others that map to it. `own`: the change was a write of the controller.
   */
  readonly ignored: ReadonlyArray<Ignored & { readonly own: boolean }>
  /** Answers of the admission webhooks about the object, oldest first. */
  readonly admissions: ReadonlyArray<Admissions.Entry>
  /** The position in the work queue; undefined while the controller does not run. */
  readonly queue:
    | {
        readonly position: Position
        readonly triggers: ReadonlyArray<TriggerEvent>
        readonly dropped: number
        readonly busy: number
        /** The CPU time of the attempts of its namespace lately, in ms, if that is over the share. */
        readonly overShareMillis?: number | undefined
        /** The workers with objects of its namespace, if those are at least half of all, and objects of others wait. */
        readonly heldWorkers?: number | undefined
      }
    | undefined
  readonly children: ReadonlyArray<ChildFact>
  /** The trace ID of the recording of an attempt, by its `reconcileID`; undefined without a recording. Default: no recordings. */
  readonly recordingOf?: ((id: string) => string | undefined) | undefined
  /** Whether a reconcile of the controller made a change. */
  readonly isOwn: (source: NonNullable<TriggerEvent["source"]>) => boolean
}

/** The object's kind and key. */
export const named = ({ key, kind }: Pick<Facts, "kind" | "key">): string => `${kind} ${keyString(key)}`

/** Whether the manager follows the object's namespace. */
export const isFollowed = ({ key, namespaces }: Facts): boolean =>
  namespaces.length === 0 || key.namespace === undefined || namespaces.includes(key.namespace)

/** When the next run is due; undefined if no run is due. */
export const dueOf = (facts: Facts): number | undefined => {
  const position = facts.queue?.position
  if (position?._tag === "Delayed" && position.until < Number.POSITIVE_INFINITY) return position.until
  if (position?._tag === "Processing" && position.until !== undefined && position.until < Number.POSITIVE_INFINITY) {
    return position.until
  }
  return undefined
}

/** Whether a delayed key waits only for a trigger. */
export const isGivenUp = (position: Position | undefined): boolean =>
  position?._tag === "Delayed" && position.until === Number.POSITIVE_INFINITY

/** The caches that the controller still waits for. */
export const unsynced = (facts: Facts) => facts.caches.filter(({ synced }) => !synced)

/** The fields of a condition that an explanation shows. */
export type ConditionFact = Pick<Condition, "type" | "status" | "reason" | "message" | "lastTransitionTime">

/** The conditions in an object's status. */
export const conditionsOf = (object: KubernetesObject | undefined): ReadonlyArray<ConditionFact> => {
  // A status may have any content, so entries that do not look like conditions are skipped.
  const status: unknown = object === undefined ? undefined : Reflect.get(object, "status")
  const list: unknown = typeof status === "object" && status !== null ? Reflect.get(status, "conditions") : undefined
  if (!Array.isArray(list)) return []
  return list.flatMap((each: unknown) => {
    if (typeof each !== "object" || each === null) return []
    const text = (name: string): string => {
      const value: unknown = Reflect.get(each, name)
      return typeof value === "string" ? value : ""
    }
    const condition = {
      type: text("type"),
      reason: text("reason"),
      message: text("message"),
      lastTransitionTime: text("lastTransitionTime")
    }
    const state = text("status")
    return condition.type === "" || (state !== "True" && state !== "False" && state !== "Unknown")
      ? []
      : [{ ...condition, status: state }]
  })
}

/** The observed generation in an object's status; undefined before the first report, also for the default -1. */
export const observedOf = (object: KubernetesObject | undefined): number | undefined => {
  const status: unknown = object === undefined ? undefined : Reflect.get(object, "status")
  const value: unknown =
    typeof status === "object" && status !== null ? Reflect.get(status, "observedGeneration") : undefined
  return typeof value === "number" && value >= 0 ? value : undefined
}
