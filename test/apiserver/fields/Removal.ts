/**
 * Removes fields from a value, such as the fields that a manager no longer applies.
 */
import type { Json, JsonObject } from "../model/Json.ts"
import * as J from "../model/Json.ts"
import * as FieldSet from "./FieldSet.ts"
import * as ListItem from "./ListItem.ts"
import * as PathElement from "./PathElement.ts"
import { formOf, type ListType, type MapType, memberOf, type Type } from "./Type.ts"

/** Returns the value without the fields. An object or list of which nothing remains becomes null. */
export const remove = (type: Type, value: Json, fields: FieldSet.FieldSet): Json => {
  switch (formOf(type, value)) {
    case "map":
      return type.map !== undefined && J.isObject(value) ? removeMembers(type.map, value, fields) : null
    case "list":
      return type.list !== undefined && J.isList(value) ? removeItems(type.list, value, fields) : null
    default:
      return value
  }
}

const removeMembers = (type: MapType, value: JsonObject, fields: FieldSet.FieldSet): Json => {
  if (type.atomic) return null
  const left: { [name: string]: Json } = {}
  for (const name in value) {
    const member = value[name]
    if (member === undefined) continue
    const kept = removePart(PathElement.ofField(name), memberOf(type, name), member, fields)
    if (kept !== undefined) J.put(left, name, kept)
  }
  return J.isEmpty(left) ? null : left
}

const removeItems = (type: ListType, items: ReadonlyArray<Json>, fields: FieldSet.FieldSet): Json => {
  if (type.atomic) return null
  const left = items.flatMap((item) => {
    const kept = removePart(ListItem.elementOf(type, item), type.element, item, fields)
    return kept === undefined ? [] : [kept]
  })
  return left.length === 0 ? null : left
}

const removePart = (element: string, type: Type, value: Json, fields: FieldSet.FieldSet): Json | undefined => {
  if (FieldSet.hasStep(fields, element)) return undefined
  const children = FieldSet.children(fields, element)
  return children === undefined ? value : remove(type, value, children)
}
