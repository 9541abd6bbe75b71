/**
 * JSON Patch (RFC 6902) as kube-apiserver implements it with `evanphx/json-patch`. Indexes may be negative. `replace` creates
 * a missing member of an object. `copy` of a missing member and `add` without a value result in null. The text before the
 * first slash of a path is ignored.
 */

import * as Failure from "../model/Failure.ts"
import type { Draft, DraftObject, Json, JsonObject } from "../model/Json.ts"
import * as J from "../model/Json.ts"
import { fieldError, mostErrors } from "../model/JsonText.ts"

/**
 * Returns the document after all operations. Throws a Failure: 400 for a malformed patch, 413 for too many operations, 422 for
 * an operation that cannot be applied.
 */
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

/** Returns the errors of strict decoding: the unknown fields of the operations, and those `duplicates` that belong to an operation. */
export const strictErrors = (patch: Json, duplicates: ReadonlyArray<string>): ReadonlyArray<string> => {
  const known = new Set(duplicates)
  return operationsOf(patch)
    .flatMap((operation, index) =>
      Object.keys(operation).flatMap((name) => {
        if (!members.has(name)) return [fieldError("unknown", `[${index}].${name}`)]
        return [fieldError("duplicate", `[${index}].${name}`)].filter((error) => known.has(error))
      })
    )
    .slice(0, mostErrors)
    .map((error) => `json patch ${error}`)
}

const mostOperations = 10_000

/**
 * The limit of what all `copy` operations of a patch copy together, in bytes. Without a limit, a few operations could double
 * the document again and again.
 */
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

/** Like that of kube-apiserver, this error does not describe the mistake in the operation. */
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
      add(targetAt(document, path), value)
      return document
    case "remove":
      remove(targetAt(document, path))
      return document
    case "replace":
      if (path === "") return whole(value)
      replace(targetAt(document, path), value)
      return document
    case "move": {
      const source = targetAt(document, from(operation))
      const moved = get(source) ?? null
      remove(source)
      add(targetAt(document, path), moved)
      return document
    }
    case "copy": {
      const source = get(targetAt(document, from(operation))) ?? null
      copied.bytes += JSON.stringify(source).length
      if (copied.bytes > mostCopied) throw impossible()
      add(targetAt(document, path), J.copy(source))
      return document
    }
    case "test":
      if (!J.equal(path === "" ? document : (get(targetAt(document, path)) ?? null), value)) throw impossible()
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

/** The target of an operation: a member of an object or an item of a list. */
type Target =
  | { readonly object: DraftObject; readonly key: string }
  | { readonly list: Array<Draft>; readonly key: string }

const targetAt = (document: Draft, path: string): Target => {
  const [before, ...keys] = path.split("/")
  const [first, ...rest] = keys.map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"))
  if (before === undefined || first === undefined) throw impossible()
  return rest.reduce((from, key) => inside(get(from), key), inside(document, first))
}

const inside = (container: Draft | undefined, key: string): Target => {
  if (Array.isArray(container)) return { list: container, key }
  if (typeof container === "object" && container !== null) return { object: container, key }
  throw impossible()
}

/**
 * Returns the value at the target, or undefined if an object does not have the member. Throws a Failure if a list does not
 * have the item.
 */
const get = (target: Target): Draft | undefined => {
  if ("list" in target) return target.list[existing(target)]
  return Object.hasOwn(target.object, target.key) ? target.object[target.key] : undefined
}

const add = (target: Target, value: Draft): void => {
  if ("object" in target) J.put(target.object, target.key, value)
  else if (target.key === "-") target.list.push(value)
  else target.list.splice(index(target.key, target.list.length + 1), 0, value)
}

const replace = (target: Target, value: Draft): void => {
  if ("object" in target) J.put(target.object, target.key, value)
  else target.list[existing(target)] = value
}

const remove = (target: Target): void => {
  if ("list" in target) target.list.splice(existing(target), 1)
  else if (Object.hasOwn(target.object, target.key)) delete target.object[target.key]
  else throw impossible()
}

const existing = ({ key, list }: Extract<Target, { list: unknown }>): number => index(key, list.length)

/**
 * Parses an index into a list of `length` items. A negative index counts from the end. Throws a Failure if the index is out of
 * range.
 */
const index = (key: string, length: number): number => {
  if (!/^[+-]?\d+$/.test(key)) throw impossible()
  const counted = Number(key) < 0 ? Number(key) + length : Number(key)
  if (counted < 0 || counted >= length) throw impossible()
  return counted
}
