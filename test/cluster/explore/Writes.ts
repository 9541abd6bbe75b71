/** The writes of a program, with the objects before and after each of them. */

import type * as Json from "@homeostat/apiserver/model/Json"
import * as Wire from "./Wire.ts"
import type { Moment } from "./World.ts"

/** The state before or after a write. */
export interface WriteMoment {
  readonly sent: Wire.Sent
  readonly when: "before" | "after"
  readonly moment: Moment
}

/** A write that changed an object. */
export interface Written {
  readonly sent: Wire.Sent
  /** The places of the states in the order of all states. */
  readonly from: number
  readonly to: number
  /** The objects of its kind before it. */
  readonly before: ReadonlyArray<Json.JsonObject>
  /** The objects of its kind after it. */
  readonly after: ReadonlyArray<Json.JsonObject>
}

/** Returns the writes that changed an object, in their order. */
export const writtenIn = (moments: ReadonlyArray<WriteMoment>): ReadonlyArray<Written> =>
  moments.flatMap(({ moment, sent, when }, to) => {
    if (when === "before" || !sent.changed) return []
    const from = moments.findIndex((one) => one.sent === sent)
    const storage = Wire.storageOf(sent.asked.collection)
    const objects = ({ saved }: Moment) => saved.storages[storage] ?? []
    return [{ sent, from, to, before: objects(moments[from]?.moment ?? moment), after: objects(moment) }]
  })
