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

/** The ended reconciles. */
export interface Endings {
  /** Ends the plan of a reconcile. The first reason stays. */
  readonly end: (reconcile: Reconcile, reason: string) => void
  /** Why the plan of a reconcile has ended; undefined if it has not. */
  readonly reasonOf: (reconcile: Reconcile) => string | undefined
  readonly all: () => ReadonlyArray<Unknown>
}

/** The reconciled object. */
export const objectOf = ({ key, kind }: Reconcile): ObjectName => ({ kind, ...parseKey(key) })

const idOf = ({ controller, key }: Reconcile): string => `${controller} ${key}`

/** No ended reconcile. */
export const make = (): Endings => {
  const reasons = new Map<string, Unknown & { readonly reason: string }>()
  return {
    end: (reconcile, reason) => {
      const id = idOf(reconcile)
      if (!reasons.has(id)) {
        reasons.set(id, { controller: reconcile.controller, object: objectOf(reconcile), reason })
      }
    },
    reasonOf: (reconcile) => reasons.get(idOf(reconcile))?.reason,
    all: () => [...reasons.values()]
  }
}
