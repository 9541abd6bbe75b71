/** What is known of an object when somebody asks why, and how to read it. `WhyGather` gathers it. */

import type { Fired } from "../../controller/Trigger.ts"
import type { Position } from "../../queue/WorkQueue.ts"
import type { Condition } from "../../resource/Condition.ts"
import { type KubernetesObject, keyString, type ObjectKey } from "../../resource/KubernetesObject.ts"
import type { Entry, Ignored } from "./Journal.ts"

/** What the API server says of the object at this moment, which is asked for its metadata alone. */
export type Live =
  | { readonly _tag: "There"; readonly object: KubernetesObject }
  | { readonly _tag: "NotThere" }
  | { readonly _tag: "Unknown"; readonly reason: string }

/** A child of the object, and what the API server says of it. */
export interface ChildFact {
  readonly kind: string
  readonly key: string
  readonly live: Live
}

/** What is known of an object and of the controller that reconciles it. Times are milliseconds of the Clock. */
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
  /** Since when this process looks. */
  readonly since: number
  /** None: every process reconciles. */
  readonly election:
    | {
        readonly leading: boolean
        readonly holder: string | undefined
        readonly identity: string
        readonly lease: ObjectKey
      }
    | undefined
  /** Whether an API server answers the controllers. */
  readonly reachable: boolean
  /** What the controller reads. `problem`: what keeps it from being of use, or current. */
  readonly caches: ReadonlyArray<{
    readonly resource: string
    readonly synced: boolean
    readonly problem: string | undefined
  }>
  /** The namespaces that are followed; none: all. */
  readonly namespaces: ReadonlyArray<string>
  readonly labelSelector: string | undefined
  readonly cached: KubernetesObject | undefined
  readonly live: Live
  /** Namespaces with an object of the same name. */
  readonly elsewhere: ReadonlyArray<string>
  readonly entry: Entry | undefined
  /** Changes that a predicate ignored, the object's own and others' that concern it. `own`: the controller's own write was one. */
  readonly ignored: ReadonlyArray<Ignored & { readonly own: boolean }>
  /** Where it stands; none while the controller does not work. */
  readonly queue:
    | {
        readonly position: Position
        readonly triggers: ReadonlyArray<Fired>
        readonly dropped: number
        readonly busy: number
      }
    | undefined
  readonly children: ReadonlyArray<ChildFact>
  /** Whether the controller's own reconciles made a change. */
  readonly isOwn: (source: NonNullable<Fired["source"]>) => boolean
}

/** The object's kind and key. */
export const named = ({ key, kind }: Pick<Facts, "kind" | "key">): string => `${kind} ${keyString(key)}`

/** Whether the object's namespace is followed. */
export const isFollowed = ({ key, namespaces }: Facts): boolean =>
  namespaces.length === 0 || key.namespace === undefined || namespaces.includes(key.namespace)

/** When the next run is due; nothing if none is. */
export const dueOf = (facts: Facts): number | undefined => {
  const position = facts.queue?.position
  if (position?._tag === "Delayed" && position.until < Number.POSITIVE_INFINITY) return position.until
  if (position?._tag === "Processing" && position.until !== undefined && position.until < Number.POSITIVE_INFINITY) {
    return position.until
  }
  return undefined
}

/** Whether a delayed key waits for a trigger and for no time. */
export const isGivenUp = (position: Position | undefined): boolean =>
  position?._tag === "Delayed" && position.until === Number.POSITIVE_INFINITY

/** The caches without which the controller can't begin. */
export const unsynced = (facts: Facts) => facts.caches.filter(({ synced }) => !synced)

/** A condition, as far as it is told. */
export type Told = Pick<Condition, "type" | "status" | "reason" | "message" | "lastTransitionTime">

/** The conditions in an object's status. */
export const conditionsOf = (object: KubernetesObject | undefined): ReadonlyArray<Told> => {
  // A status is what its writers made of it: only entries that look like conditions are taken for some.
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

/** The generation that an object's status speaks of. */
export const observedOf = (object: KubernetesObject | undefined): number | undefined => {
  const status: unknown = object === undefined ? undefined : Reflect.get(object, "status")
  const value: unknown =
    typeof status === "object" && status !== null ? Reflect.get(status, "observedGeneration") : undefined
  return typeof value === "number" ? value : undefined
}
