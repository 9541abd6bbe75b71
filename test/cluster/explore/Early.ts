/** Finds an attempt that writes Ready=True for the current generation, and then still changes the content of a child. */

import * as Json from "@homeostat/apiserver/model/Json"
import type { Attempt } from "@homeostat/runtime/controller/Attempt"
import type { Broken } from "./Broken.ts"
import { keyOf } from "./Trace.ts"
import * as Wire from "./Wire.ts"
import { type WriteMoment, writtenIn } from "./Writes.ts"

const oracle = "an attempt that writes Ready no longer changes a child"

const find = (objects: ReadonlyArray<Json.JsonObject>, uid: Json.Json | undefined): Json.JsonObject | undefined =>
  objects.find((one) => Json.at(one, "metadata", "uid") === uid)

const uidOf = (object: Json.JsonObject): Json.Json | undefined => Json.at(object, "metadata", "uid")

/** Whether the condition Ready of an object is True for its current generation. */
const isReady = (object: Json.JsonObject | undefined): boolean => {
  const { generation } = Json.object(object?.metadata)
  const { conditions, observedGeneration } = Json.object(object?.status)
  return (
    generation !== undefined &&
    Json.objects(conditions).some(
      (one) =>
        one.type === "Ready" && one.status === "True" && (one.observedGeneration ?? observedGeneration) === generation
    )
  )
}

/** Returns an object without its metadata and its status. */
const contentOf = ({ metadata: _, status: __, ...content }: Json.JsonObject): Json.JsonObject => content

const isControlledBy = (object: Json.JsonObject, uid: Json.Json | undefined): boolean =>
  Json.objects(Json.at(object, "metadata", "ownerReferences")).some(
    (reference) => reference.controller === true && reference.uid === uid
  )

/** Returns the broken promises of the writes of a step without faults. */
export const broken = (
  moments: ReadonlyArray<WriteMoment>,
  attempts: ReadonlyArray<Attempt>
): ReadonlyArray<Broken> => {
  const all = writtenIn(moments)
  return all.flatMap(({ after, before, sent: { asked, attempt }, to }) => {
    const key = keyOf(asked)
    const own = attempts.find(({ id }) => id === attempt)
    if (asked.subresource !== "status" || own?.key !== key) return []
    const ready = find(after, own.uid)
    if (!isReady(ready) || isReady(find(before, own.uid))) return []
    return all
      .filter((later) => later.sent.attempt === attempt && later.from > to && later.sent.asked.verb !== "delete")
      .filter((later) =>
        later.after.some((child) => {
          const old = find(later.before, uidOf(child))
          return (
            old !== child &&
            isControlledBy(child, own.uid) &&
            (old === undefined || !Json.equal(contentOf(old), contentOf(child)))
          )
        })
      )
      .map(({ sent }) => ({
        oracle,
        message: `${own.kind} ${key} is Ready for its current generation before ${Wire.textOf(sent)} changes its child`,
        objects: [key]
      }))
  })
}
