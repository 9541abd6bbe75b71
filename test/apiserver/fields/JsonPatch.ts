/**
 * JSON Patch (RFC 6902) as kube-apiserver does it, which is as `evanphx/json-patch` does: indexes may be negative, `replace`
 * makes the member of an object that is not there, `copy` of one that is not there and `add` without a value give null, and
 * what a path says before its first slash does not matter.
 */

import * as Failure from "../model/Failure.ts"
import type { Draft, DraftObject, Json, JsonObject } from "../model/Json.ts"
import * as J from "../model/Json.ts"
import { fieldError, mostErrors } from "../model/JsonText.ts"

/** The document after all operations. Throws a Failure: 400 for what is no patch, 413 for too many operations, 422 for one that can't be done. */
export const jsonPatch = (document: Json, patch: Json): Json => {
  const operations = operationsOf(patch)
  if (operations.length > mostOperations) {
    throw Failure.tooLarge(
      `Request entity too large: The allowed maximum operations in a JSON patch is ${mostOperations}, got ${operations.length}`
    )
  }
  const copied = { bytes: 0 }
  return operations.reduce<Draft>((draft, operation) => perform(draft, operation, copied), J.copy(document))
}

/** What strict decoding has against a patch, given what parsing its text told. */
export const strictErrors = (patch: Json, duplicates: ReadonlyArray<string>): ReadonlyArray<string> => {
  const told = new Set(duplicates)
  return operationsOf(patch)
    .flatMap((operation, index) =>
      Object.keys(operation).flatMap((name) => {
        if (!members.has(name)) return [fieldError("unknown", `[${index}].${name}`)]
        return [fieldError("duplicate", `[${index}].${name}`)].filter((error) => told.has(error))
      })
    )
    .slice(0, mostErrors)
    .map((error) => `json patch ${error}`)
}

const mostOperations = 10_000

/** As much as all `copy` of a patch may copy: a few of them could double what there is again and again. */
const mostCopied = 3 * 1024 * 1024

const members = new Set(["op", "path", "from", "value"])

const operationsOf = (patch: Json): ReadonlyArray<JsonObject> => {
  if (patch === null) return []
  if (!J.isList(patch)) throw undecodable(`${typeOf(patch)} into Go value of type []handlers.jsonPatchOp`)
  return patch.map((operation) => {
    if (operation === null) return {}
    if (!J.isObject(operation)) throw undecodable(`${typeOf(operation)} into Go value of type handlers.jsonPatchOp`)
    for (const name of ["op", "path", "from"]) {
      const member = operation[name] ?? ""
      if (typeof member !== "string") {
        throw undecodable(`${typeOf(member)} into Go struct field jsonPatchOp.${name} of type string`)
      }
    }
    return operation
  })
}

const typeOf = (value: Json): string => (J.isList(value) ? "array" : typeof value === "boolean" ? "bool" : typeof value)

const undecodable = (what: string): Failure.Failure =>
  Failure.badRequest(`error decoding patch: json: cannot unmarshal ${what}`)

/** The client is not told what is wrong with an operation. */
const impossible = (): Failure.Failure =>
  new Failure.Failure({
    code: 422,
    reason: "Invalid",
    message: "the server rejected our request due to an error in our request",
    details: {}
  })

const perform = (document: Draft, operation: JsonObject, copied: { bytes: number }): Draft => {
  const path = J.text(operation.path)
  if (path === undefined) throw impossible()
  const value = J.copy(operation.value ?? null)
  switch (operation.op) {
    case "add":
      add(place(document, path), value)
      return document
    case "remove":
      remove(place(document, path))
      return document
    case "replace":
      if (path === "") return whole(value)
      replace(place(document, path), value)
      return document
    case "move": {
      const source = place(document, from(operation))
      const moved = get(source) ?? null
      remove(source)
      add(place(document, path), moved)
      return document
    }
    case "copy": {
      const source = get(place(document, from(operation))) ?? null
      copied.bytes += JSON.stringify(source).length
      if (copied.bytes > mostCopied) throw impossible()
      add(place(document, path), J.copy(source))
      return document
    }
    case "test":
      if (!J.equal(path === "" ? document : (get(place(document, path)) ?? null), value)) throw impossible()
      return document
    default:
      throw impossible()
  }
}

const from = (operation: JsonObject): string => {
  const path = J.text(operation.from)
  if (path === undefined) throw impossible()
  return path
}

const whole = (value: Draft): Draft => {
  if (typeof value !== "object" || value === null) throw impossible()
  return value
}

/** Where an operation is done: a member of an object, or an item of a list. */
type Place =
  | { readonly object: DraftObject; readonly key: string }
  | { readonly list: Array<Draft>; readonly key: string }

const place = (document: Draft, path: string): Place => {
  const [before, ...keys] = path.split("/")
  const [first, ...rest] = keys.map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"))
  if (before === undefined || first === undefined) throw impossible()
  return rest.reduce((from, key) => inside(get(from), key), inside(document, first))
}

const inside = (container: Draft | undefined, key: string): Place => {
  if (Array.isArray(container)) return { list: container, key }
  if (typeof container === "object" && container !== null) return { object: container, key }
  throw impossible()
}

/** What is there; undefined for a member that an object does not have. */
const get = (place: Place): Draft | undefined => {
  if ("list" in place) return place.list[existing(place)]
  return Object.hasOwn(place.object, place.key) ? place.object[place.key] : undefined
}

const add = (place: Place, value: Draft): void => {
  if ("object" in place) J.put(place.object, place.key, value)
  else if (place.key === "-") place.list.push(value)
  else place.list.splice(index(place.key, place.list.length + 1), 0, value)
}

const replace = (place: Place, value: Draft): void => {
  if ("object" in place) J.put(place.object, place.key, value)
  else place.list[existing(place)] = value
}

const remove = (place: Place): void => {
  if ("list" in place) place.list.splice(existing(place), 1)
  else if (Object.hasOwn(place.object, place.key)) delete place.object[place.key]
  else throw impossible()
}

const existing = ({ key, list }: Extract<Place, { list: unknown }>): number => index(key, list.length)

/** An index into a list of so many; a negative one is counted from its end. */
const index = (key: string, length: number): number => {
  if (!/^[+-]?\d+$/.test(key)) throw impossible()
  const counted = Number(key) < 0 ? Number(key) + length : Number(key)
  if (counted < 0 || counted >= length) throw impossible()
  return counted
}
