/**
 * Adapts sets of fields to a type.
 */
import * as FieldSet from "./FieldSet.ts"
import * as PathElement from "./PathElement.ts"
import { isUnknown, memberOf, type Type } from "./Type.ts"

/** Adapts the fields to the present schema. If a value has become atomic since the fields were written, the manager owns all of it. */
export const reconciled = (type: Type, fields: FieldSet.FieldSet): FieldSet.FieldSet => {
  if (sound.get(fields) === type) return fields
  const made = reconciledChildren(type, fields)
  sound.set(made, type)
  return made
}

/**
 * The type for which each set was last found valid. Sets stay the same from revision to revision, so this cache avoids
 * repeated walks.
 */
const sound = new WeakMap<FieldSet.FieldSet, Type>()

const reconciledChildren = (type: Type, fields: FieldSet.FieldSet): FieldSet.FieldSet =>
  FieldSet.pick(fields, (element, children) => {
    const inner = typeBelow(type, element)
    if (inner === undefined || FieldSet.isEmpty(children)) return children
    return isAtomic(inner) ? FieldSet.empty : reconciledChildren(inner, children)
  })

/** Adds to the set every member that the schema declares and that has fields of the set below it. */
export const withNamedFields = (type: Type | undefined, fields: FieldSet.FieldSet): FieldSet.FieldSet =>
  FieldSet.pick(fields, (element, children) => {
    if (FieldSet.isEmpty(children)) return children
    const name = PathElement.fieldOf(element)
    const isNamed = name !== undefined && type?.map?.fields.has(name) === true
    const inner = withNamedFields(typeInside(type, element), FieldSet.withoutSelf(children))
    return FieldSet.node(isNamed || FieldSet.isField(children), inner)
  })

/** Returns the type of the value at a path element. If a type allows several forms, the form of an object comes first. */
const typeBelow = ({ list, map, scalar }: Type, element: string): Type | undefined => {
  if (map !== undefined) {
    if (isUnknown(map)) return undefined
    const name = PathElement.fieldOf(element)
    return name === undefined ? map.element : (map.fields.get(name)?.type ?? map.element)
  }
  return scalar === undefined ? list?.element : undefined
}

const isAtomic = ({ list, map, scalar }: Type): boolean => {
  if (map !== undefined) return map.atomic && !isUnknown(map)
  return scalar === undefined && list?.atomic === true
}

const typeInside = (type: Type | undefined, element: string): Type | undefined => {
  const name = PathElement.fieldOf(element)
  if (name !== undefined) return type?.map === undefined ? undefined : memberOf(type.map, name)
  return PathElement.isKeyed(element) ? type?.list?.element : undefined
}
