/**
 * Lists the fields of a value. A manager that applies the value owns these fields.
 */
import type { DraftObject, Json, JsonObject } from "../model/Json.ts"
import * as J from "../model/Json.ts"
import * as FieldSet from "./FieldSet.ts"
import * as ListItem from "./ListItem.ts"
import * as PathElement from "./PathElement.ts"
import { formOf, type ListType, type MapType, memberOf, type Type } from "./Type.ts"

/** Returns the fields of a value, which must be valid for the type. */
export const fieldsOf = (type: Type, value: Json): FieldSet.FieldSet => {
  const set: DraftObject = {}
  gather(set, type, value)
  return FieldSet.ordered(set)
}

/** Collects the fields below the value into `set`. Returns true if the value is one field as a whole. */
const gather = (set: DraftObject, type: Type, value: Json): boolean => {
  switch (formOf(type, value)) {
    case "map":
      return type.map === undefined || type.map.atomic || gatherMembers(set, type.map, J.object(value))
    case "list":
      return type.list === undefined || type.list.atomic || gatherItems(set, type.list, J.list(value))
    default:
      return true
  }
}

const gatherMembers = (set: DraftObject, type: MapType, value: JsonObject): false => {
  for (const name in value) {
    const member = value[name]
    if (member === undefined) continue
    const isOwn = member === null || (J.isObject(member) && J.isEmpty(member)) || !type.fields.has(name)
    put(set, PathElement.ofField(name), memberOf(type, name), member, isOwn)
  }
  return false
}

const gatherItems = (set: DraftObject, type: ListType, items: ReadonlyArray<Json>): false => {
  const elements = items.map((item) => ListItem.elementOf(type, item))
  const seen = new Set<string>()
  const repeated = new Set(elements.filter((element) => seen.has(element) || !seen.add(element)))
  for (const [index, element] of elements.entries()) {
    if (repeated.has(element)) set[element] = {}
    else put(set, element, type.element, items[index] ?? null, true)
  }
  return false
}

const put = (set: DraftObject, element: string, type: Type, value: Json, isOwn: boolean): void => {
  const children: DraftObject = {}
  const isField = gather(children, type, value) || isOwn
  if (FieldSet.isEmpty(children)) {
    if (isField) set[element] = {}
    return
  }
  if (isField) children["."] = {}
  set[element] = children
}
