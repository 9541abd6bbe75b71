/** The reconciles whose plan has ended early: what they would do next is unknown. */
import { parseKey } from "../resource/KubernetesObject.ts"
import type { ObjectName } from "./Write.ts"

/** A part of a plan that is unknown. */
export interface Unknown {
  /** Absent if the reason is about the whole plan. */
  readonly controller?: string | undefined
  /** Absent if the reason is about all objects of the controller. */
  readonly object?: ObjectName | undefined
  /** In one line. */
  readonly reason: string
}

/** A reconcile of an object by a controller. */
export interface Reconcile {
  readonly controller: string
  readonly kind: string
  /** `namespace/name`, or the name alone. */
  readonly key: string
}

/** The maps of a controller. */
export interface Maps {
  readonly controller: string
  readonly kind?: undefined
  readonly key?: undefined
}

/** A part of a plan that can end early. */
export type Part = Reconcile | Maps

/** The ended reconciles, and the failed maps. */
export interface Endings {
  /** Ends the plan of a reconcile, or reports the maps of a controller. The first reason stays. */
  readonly end: (part: Part, reason: string) => void
  /** Why the plan of a reconcile has ended; undefined if it has not. */
  readonly reasonOf: (reconcile: Reconcile) => string | undefined
  readonly all: () => ReadonlyArray<Unknown>
}

/** The reconciled object. */
export const objectOf = ({ key, kind }: Reconcile): ObjectName => ({ kind, ...parseKey(key) })

const idOf = ({ controller, key = "" }: Part): string => `${controller} ${key}`

/** No ended reconcile. */
export const make = (): Endings => {
  const reasons = new Map<string, Unknown & { readonly reason: string }>()
  return {
    end: (part, reason) => {
      const id = idOf(part)
      const { controller } = part
      if (reasons.has(id)) return
      reasons.set(id, part.key === undefined ? { controller, reason } : { controller, object: objectOf(part), reason })
    },
    reasonOf: (reconcile) => reasons.get(idOf(reconcile))?.reason,
    all: () => [...reasons.values()]
  }
}
