/** Requests that the API server rejects permanently. The program must report the error on the object. */

import * as Json from "@homeostat/apiserver/model/Json"
import type * as Store from "@homeostat/apiserver/storage/Store"
import type { Attempt } from "@homeostat/runtime/controller/Attempt"
import type { Broken } from "./Broken.ts"

/** The promise that this module checks. */
export const oracle = "a refused spec is reported on the object"

const pathOf = (path: string): string => path.split("?", 1)[0] ?? ""

/** Returns the last request of an attempt that failed with 403 or 422 without a later success. */
const refusalOf = ({ exchanges }: Attempt) =>
  exchanges.findLast(
    ({ error, request }, at) =>
      (error === "Forbidden" || error === "Invalid") &&
      // A JSON patch also fails with 422 after a conflicting write.
      !(request.headers["content-type"] ?? "").startsWith("application/json-patch") &&
      !exchanges
        .slice(at)
        .some((later) => later.error === undefined && pathOf(later.request.path) === pathOf(request.path))
  )

/** Matches the types of conditions that are True while something is wrong. */
const isNegative = /^Stalled$|Degraded|Failed|Failing|Error/

/** Whether the status reports the error: a condition of this generation shows a problem, or the status contains the error. */
const isReported = (object: Json.JsonObject, error: string): boolean => {
  const status = Json.object(object.status)
  const generation = Json.at(object, "metadata", "generation")
  const isNew = (part: Json.Json) => (Json.at(part, "observedGeneration") ?? generation) === generation
  return (
    Json.list(status.conditions).some(
      (condition) =>
        isNew(condition) &&
        Json.at(condition, "status") ===
          (isNegative.test(Json.text(Json.at(condition, "type")) ?? "") ? "True" : "False")
    ) ||
    (isNew(status) && JSON.stringify(status).includes(error))
  )
}

/** Returns the newest rejected attempt of each object, by start time. A suspended process may end an older attempt later. */
export const last = (attempts: ReadonlyArray<Attempt>) => {
  const newest = new Map(
    attempts
      .toSorted((one, other) => one.startedAt - other.startedAt)
      .flatMap((attempt) =>
        attempt.outcome._tag === "Interrupted" ? [] : [[`${attempt.controller} ${attempt.key}`, attempt] as const]
      )
  )
  return [...newest.values()].flatMap((attempt) => {
    const refusal = refusalOf(attempt)
    return refusal?.error === undefined ? [] : [{ attempt, error: refusal.error, refusal }]
  })
}

/** Returns the objects whose last attempt was rejected, and whose status does not report the error. */
export const unreported = (attempts: ReadonlyArray<Attempt>, saved: Store.Saved): ReadonlyArray<Broken> => {
  const objects = Object.values(saved.storages).flat()
  return last(attempts).flatMap(({ attempt: { key, kind, uid }, error, refusal: { request, status } }) => {
    const object = objects.find((one) => Json.at(one, "metadata", "uid") === uid)
    return object === undefined || isReported(object, error)
      ? []
      : [
          {
            oracle,
            message: `${kind} ${key}: ${request.method} ${pathOf(request.path)} failed with ${status}, and the status does not say so`,
            objects: [key]
          }
        ]
  })
}
