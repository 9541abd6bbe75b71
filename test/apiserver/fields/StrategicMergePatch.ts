/**
 * Strategic merge patches. The schema determines which lists are merged item by item, and by which merge key. Directives
 * express changes that a plain merge patch cannot: `$patch: delete | replace`, `$retainKeys`, `$deleteFromPrimitiveList/x` and
 * `$setElementOrder/x`.
 *
 * In a merged list, the items in `$setElementOrder` keep the order of that directive. The items that only the patch has follow
 * them. The items that only the object has keep their position between the others as far as possible.
 */

import * as Failure from "../model/Failure.ts"
import * as GoType from "../model/GoType.ts"
import type { Draft, DraftObject, JsonObject } from "../model/Json.ts"
import * as J from "../model/Json.ts"
import type { Schema } from "../model/Schema.ts"
import * as ListMerge from "./ListMerge.ts"
import * as Order from "./Order.ts"

/**
 * Returns the document with the patch merged into it, and removes the directives from `patch`. Throws a Failure:
 * 400 for a malformed directive, 422 for a list inside a list, 500 for a patch that does not fit the document.
 */
export const strategicMergePatch = (schema: Schema, document: JsonObject, patch: Draft): JsonObject => {
  if (patch === null) return document
  if (isObject(patch)) return mergeObject(schema, J.copy(document), patch)
  const found = Array.isArray(patch) ? "array" : typeof patch === "boolean" ? "bool" : typeof patch
  throw Failure.badRequest(`json: cannot unmarshal ${found} into Go value of type map[string]interface {}`)
}

const directive = "$patch"
const retainKeys = "$retainKeys"
const deletion = "$deleteFromPrimitiveList"
const order = "$setElementOrder"

/** Merges the patch into the object. May change both arguments. */
const mergeObject = (schema: Schema, object: DraftObject, patch: DraftObject): DraftObject => {
  if (patch[directive] !== undefined) return replaced(patch)
  retain(object, patch)
  for (const key of Object.keys(patch)) if (key.startsWith(order)) mergeOrdered(schema, object, patch, key)
  for (const [key, value] of Object.entries(patch)) {
    if (value !== undefined) mergeMember(schema, object, key, value)
  }
  return object
}

/** Returns the value of an object whose patch has a `$patch` directive. */
const replaced = (patch: DraftObject): DraftObject => {
  const wanted = patch[directive]
  if (wanted === "replace") {
    delete patch[directive]
    return patch
  }
  if (wanted === "delete") return {}
  throw ListMerge.unknownDirective(wanted ?? null, patch)
}

/** Removes the members that `$retainKeys` does not list. */
const retain = (object: DraftObject, patch: DraftObject): void => {
  const retained = patch[retainKeys]
  if (retained === undefined) return
  delete patch[retainKeys]
  if (!Array.isArray(retained)) throw Failure.badRequest("invalid patch format of retainKeys")
  const named = new Set<Draft>(retained)
  const unnamed = Object.entries(patch).some(
    ([key, value]) => value !== null && !key.startsWith(deletion) && !key.startsWith(order) && !named.has(key)
  )
  if (unnamed) throw Failure.badRequest("invalid patch format of retainKeys")
  for (const key of Object.keys(object)) if (!named.has(key)) delete object[key]
}

/** Merges a list whose order the patch sets, and removes both the list and its `$setElementOrder` from the patch. */
const mergeOrdered = (schema: Schema, object: DraftObject, patch: DraftObject, key: string): void => {
  const ordered = listOf(patch[key])
  delete patch[key]
  const name = named(key, order, "invalid patch format of setElementOrder list")
  const [live, changes] = [memberOf(object, name), memberOf(patch, name)]
  if (live !== undefined) listOf(live)
  if (changes !== undefined) listOf(changes)
  const field = fieldOf(schema, name)
  const mergeKey = field["x-kubernetes-patch-merge-key"]
  const [items, changed] = [live === undefined ? [] : listOf(live), changes === undefined ? [] : listOf(changes)]
  Order.check(changed, ordered, mergeKey)
  if (live === undefined && changes === undefined) return
  const before = [...items]
  const merged =
    live === undefined ? kept(changed) : changes === undefined ? items : mergeList(field, items, changed, false)
  ListMerge.checkTypes(before, changed)
  J.put(object, name, Order.arranged(merged, ordered, before, mergeKey))
  delete patch[name]
}

const mergeMember = (schema: Schema, object: DraftObject, key: string, value: Draft): void => {
  const deletes = key.startsWith(deletion)
  const name = deletes ? named(key, deletion, "invalid patch format of primitive list") : key
  if (value === null) {
    delete object[name]
    return
  }
  const live = memberOf(object, name)
  if (Array.isArray(live) && Array.isArray(value)) {
    J.put(object, name, mergeList(fieldOf(schema, name), live, value, deletes))
  } else if (isObject(live) && isObject(value)) J.put(object, name, mergeMap(fieldOf(schema, name), live, value))
  else if (!deletes) put(object, name, withoutDirectives(withoutNulls(value)))
}

const mergeMap = (field: Schema, live: DraftObject, patch: DraftObject): DraftObject =>
  strategiesOf(field).includes("replace") ? patch : mergeObject(field, live, patch)

const mergeList = (field: Schema, live: Array<Draft>, patch: Array<Draft>, deletes: boolean): Array<Draft> => {
  if (!deletes && !strategiesOf(field).includes("merge")) return patch
  const items = field.items ?? {}
  return ListMerge.merge(live, patch, {
    mergeKey: field["x-kubernetes-patch-merge-key"],
    deletes,
    mergeItem: (item, change) => mergeObject(items, item, change)
  })
}

const strategiesOf = (field: Schema): ReadonlyArray<string> => (field["x-kubernetes-patch-strategy"] ?? "").split(",")

const fieldOf = (schema: Schema, name: string): Schema => {
  const { properties } = schema
  const found = properties !== undefined && Object.hasOwn(properties, name) ? properties[name] : undefined
  if (found !== undefined) return found
  throw Failure.plain(
    properties === undefined
      ? "merging an object in json but data type is not struct, instead is: map"
      : `unable to find api field in struct ${GoType.nameOf(schema)} for the json field ${JSON.stringify(name)}`
  )
}

/** Returns the name of the list to which a directive applies. */
const named = (key: string, prefix: string, refusal: string): string => {
  if (!key.startsWith(`${prefix}/`)) throw Failure.badRequest(refusal)
  return key.slice(prefix.length + 1)
}

const listOf = (value: Draft | undefined): Array<Draft> => {
  if (Array.isArray(value)) return value
  throw Failure.plain(`expected a []interface {}, but received a ${ListMerge.goTypeOf(value ?? null)}`)
}

const isObject = (value: Draft | undefined): value is DraftObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const memberOf = (object: DraftObject, name: string): Draft | undefined =>
  Object.hasOwn(object, name) ? object[name] : undefined

const put = (object: DraftObject, name: string, value: Draft | undefined): void => {
  if (value === undefined) delete object[name]
  else J.put(object, name, value)
}

/** Removes the members that are null: a null in the patch deletes a member that does not exist. */
const withoutNulls = (value: Draft): Draft => {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]) =>
      member === null || member === undefined ? [] : [[name, withoutNulls(member)]]
    )
  )
}

/** Returns the items that are not directives. */
const kept = (items: ReadonlyArray<Draft>): Array<Draft> =>
  items.map(withoutDirectives).filter((item) => item !== undefined)

/** Removes the objects that are directives. Returns undefined if the value itself is a directive. */
const withoutDirectives = (value: Draft): Draft | undefined => {
  if (Array.isArray(value)) return kept(value)
  if (!isObject(value)) return value
  if (value[directive] !== undefined) return undefined
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, member === undefined ? undefined : withoutDirectives(member)])
  )
}
