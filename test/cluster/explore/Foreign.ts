/** Writes of other clients directly before a request of the program. */

import * as Json from "@homeostat/apiserver/model/Json"
import { namespaceOf } from "@homeostat/apiserver/model/ObjectMeta"
import type * as Store from "@homeostat/apiserver/storage/Store"
import { defaultTimeoutMillis, type Request } from "@homeostat/runtime/client/Request"
import * as Transport from "@homeostat/runtime/client/Transport"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type { Broken } from "./Broken.ts"
import type { ForeignWrite } from "./Fault.ts"
import * as Rivals from "./Rivals.ts"
import type { Sent } from "./Wire.ts"

/** An object that another client wrote. */
export interface Written {
  readonly how: ForeignWrite
  /** The path of the object. */
  readonly path: string
  /** The object after the write; undefined if the write deleted it. */
  readonly object: Json.JsonObject | undefined
}

/** The annotation that another client sets. */
export const annotation = "example.com/other-client"

const manager = "other-client"

/** The condition that another client sets. */
const condition = {
  type: "OtherClient",
  status: "True",
  reason: "OtherClient",
  message: "",
  lastTransitionTime: "2026-11-20T00:00:00Z"
}

/** Whether an item of a list is the finalizer or the condition of the other client. */
export const isMark = (item: Json.Json): boolean =>
  item === annotation || (Json.isObject(item) && item.type === condition.type)

const parsed = (text: string | undefined): Json.JsonObject => {
  try {
    return Json.object(JSON.parse(text ?? "null"))
  } catch {
    return {}
  }
}

/** Returns another value of the same type. */
const other = (value: Json.Json): Json.Json | undefined =>
  typeof value === "number"
    ? value + 1
    : typeof value === "boolean"
      ? !value
      : typeof value === "string"
        ? `${value}x`
        : undefined

/** Returns patches that each set one field of the body to another value. */
const alterations = (body: Json.JsonObject, depth = 0): ReadonlyArray<Json.JsonObject> =>
  Object.entries(body).flatMap(([name, value]) => {
    if (value === undefined || (depth === 0 && ["apiVersion", "kind", "metadata"].includes(name))) return []
    if (Json.isObject(value)) return alterations(value, depth + 1).map((inner) => ({ [name]: inner }))
    const altered = other(value)
    return altered === undefined ? [] : [{ [name]: altered }]
  })

/** Whether another client may make this write. Only users change the specs of the reconciled objects, and delete these objects. */
export const isPossible = (how: ForeignWrite, { asked, body }: Sent, roots: ReadonlySet<string>): boolean => {
  const isRoot = roots.has(asked.collection)
  if (asked.verb === "delete") return false
  if (how === "same field") return body !== undefined && (!isRoot || asked.subresource === "status")
  // The object has at least the fields of the request.
  if (how === "sibling")
    return asked.subresource === "" && Rivals.operations(asked, parsed(body), parsed(body)).length > 0
  return how !== "deleted" || !isRoot
}

/** Makes a write of another client. Returns the written objects, or an empty list if the API server rejected the write. */
export const write = (
  transport: Layer.Layer<Transport.Transport>,
  how: ForeignWrite,
  { asked, body, path }: Sent,
  isRoot: boolean
): Effect.Effect<ReadonlyArray<Written>> =>
  Effect.gen(function* () {
    const { send } = yield* Transport.Transport
    const [plain = ""] = path.split("?", 1)
    const object = asked.subresource === "" ? plain : plain.slice(0, -asked.subresource.length - 1)
    const ask = (method: Request["method"], path: string, content?: object, type = "application/json") =>
      send({
        method,
        path,
        template: path,
        headers: { accept: "application/json", ...(content === undefined ? {} : { "content-type": type }) },
        body: content === undefined ? undefined : JSON.stringify(content),
        repeatable: false,
        timeoutMillis: defaultTimeoutMillis
      })
    const patch = (path: string, content: Json.JsonObject) =>
      ask("PATCH", `${path}?fieldManager=${manager}`, content, "application/merge-patch+json")
    const written = (path: string, text: string): ReadonlyArray<Written> => [{ how, path, object: parsed(text) }]
    switch (how) {
      case "other field": {
        const mark = { [annotation]: "1" }
        let last = yield* patch(object, { metadata: { annotations: mark, labels: mark } })
        if (last.status !== 200) return []
        const { finalizers, resourceVersion } = Json.object(parsed(last.body).metadata)
        // Only on a reconciled object: nothing removes this finalizer, so a child with it would stay.
        const more = isRoot ? { metadata: { resourceVersion, finalizers: [...Json.list(finalizers), annotation] } } : {}
        const conditions = [...Json.list(Json.at(parsed(last.body), "status", "conditions")), condition]
        for (const [path, content] of [
          [object, more],
          ...(asked.subresource === "status" ? [[plain, { status: { conditions } }] as const] : [])
        ] as const) {
          const answer = Json.isEmpty(content) ? last : yield* patch(path, content)
          if (answer.status === 200) last = answer
        }
        return written(object, last.body)
      }
      case "same field": {
        for (const content of alterations(parsed(body)).slice(0, 8)) {
          const before = yield* ask("GET", object)
          const answer = yield* patch(plain, content)
          if (answer.status === 200 && parsed(answer.body).metadata !== undefined) {
            const changed =
              Json.at(parsed(before.body), "metadata", "resourceVersion") !==
              Json.at(parsed(answer.body), "metadata", "resourceVersion")
            if (changed) return written(object, answer.body)
          }
        }
        return []
      }
      case "sibling": {
        const before = yield* ask("GET", object)
        const operations = Rivals.operations(asked, parsed(body), parsed(before.body))
        if (operations.length === 0) return []
        const answer = yield* ask(
          "PATCH",
          `${plain}?fieldManager=${manager}`,
          operations,
          "application/json-patch+json"
        )
        return answer.status === 200 ? written(object, answer.body) : []
      }
      case "deleted": {
        const answer = yield* ask("DELETE", object)
        return answer.status === 200 || answer.status === 202 ? [{ how, path: object, object: undefined }] : []
      }
      case "taken": {
        const { metadata, status, ...content } = parsed(body)
        const { name } = Json.texts(metadata)
        const collection = asked.name === "" ? plain : plain.slice(0, plain.lastIndexOf("/"))
        const foreign = {
          ...content,
          metadata: { name: asked.name === "" ? name : decodeURIComponent(asked.name), namespace: asked.namespace }
        }
        const answer = yield* ask("POST", `${collection}?fieldManager=${manager}`, foreign as Json.JsonObject)
        return answer.status === 201 ? written(`${collection}/${foreign.metadata.name}`, answer.body) : []
      }
    }
  }).pipe(
    Effect.provide(transport),
    Effect.orElseSucceed(() => [])
  )

/** Returns the broken promise if the program reverted the write of another client; otherwise an empty list. */
export const undone = (written: Written, stored: Json.JsonObject | undefined): ReadonlyArray<Broken> => {
  const message = undoing(written, stored)
  const { name = "", namespace } = Json.texts(written.object?.metadata)
  const objects = [namespace === undefined ? name : `${namespace}/${name}`]
  return message === undefined ? [] : [{ oracle: "other clients keep what they wrote", message, objects }]
}

/** The marks of the other client, by their names in messages. */
const marks: Readonly<Record<string, (object: Json.Json | undefined) => boolean>> = {
  annotation: (object) => Json.at(object, "metadata", "annotations", annotation) === "1",
  label: (object) => Json.at(object, "metadata", "labels", annotation) === "1",
  finalizer: (object) => Json.list(Json.at(object, "metadata", "finalizers")).some(isMark),
  condition: (object) => Json.list(Json.at(object, "status", "conditions")).some(isMark)
}

const lostOf = (written: Json.JsonObject | undefined, stored: Json.JsonObject): string | undefined => {
  const lost = Object.entries(marks).find(([, isIn]) => isIn(written) && !isIn(stored))
  return lost === undefined ? undefined : `the ${lost[0]} of another client is gone`
}

const undoing = (written: Written, stored: Json.JsonObject | undefined): string | undefined => {
  const { how, object } = written
  const before = Json.object(object?.metadata)
  const now = Json.object(stored?.metadata)
  const isSame = before.uid === now.uid
  switch (how) {
    case "other field":
      return stored !== undefined && isSame ? lostOf(object, stored) : undefined
    case "taken":
      if (stored === undefined || !isSame) return "the object of another client was deleted"
      return Json.list(now.ownerReferences).length > 0 ? "the object of another client has an owner now" : undefined
    default:
      return undefined
  }
}

/** Returns the stored object at the path of a write. */
export const stored = (saved: Store.Saved, { object }: Written): Json.JsonObject | undefined => {
  const { name } = Json.texts(object?.metadata)
  const uid = Json.at(object, "metadata", "uid")
  for (const objects of Object.values(saved.storages)) {
    for (const one of objects) {
      if (Json.at(one, "metadata", "uid") === uid) return one
      if (
        one.kind === object?.kind &&
        Json.at(one, "metadata", "name") === name &&
        namespaceOf(one) === namespaceOf(object ?? {})
      ) {
        return one
      }
    }
  }
  return undefined
}
