/**
 * Checks that a value matches a type, so that its fields can be identified and owned. This check is weaker than validation and
 * runs before it. An object that fails this check can neither be applied nor be the target of an apply.
 */
import * as GoText from "../model/GoText.ts"
import type { Json, JsonObject } from "../model/Json.ts"
import * as J from "../model/Json.ts"
import * as FieldSet from "./FieldSet.ts"
import * as ListItem from "./ListItem.ts"
import * as PathElement from "./PathElement.ts"
import { formOf, type ListType, type MapType, type Scalar, type Type } from "./Type.ts"

/** An error and its path, with the message of structured-merge-diff. */
export interface ValidationError {
  readonly path: FieldSet.Path
  readonly message: string
}

/**
 * Returns the errors of a value that does not match the type. A stored value may have items with the same keys (`allowed`); an
 * applied value may not. The check skips the parts that the value shares with `valid`, which matches the type.
 */
export const validate = (
  type: Type,
  value: Json,
  repeated: "allowed" | "refused",
  valid?: Json
): ReadonlyArray<ValidationError> => {
  const walk: Walk = { errors: [], repeated }
  visit(walk, type, value, valid)
  return walk.errors
}

/** Joins all errors into one message. */
export const sentence = (errors: ReadonlyArray<ValidationError>): string => {
  const sentences = errors.map(({ message, path }) =>
    path.length === 0 ? message : `${FieldSet.shown(path)}: ${message}`
  )
  return sentences.length === 1 ? sentences.join() : ["errors:", ...sentences.map((one) => `  ${one}`)].join("\n")
}

interface Walk {
  readonly errors: Array<ValidationError>
  readonly repeated: "allowed" | "refused"
}

const note = ({ errors }: Walk, message: string): void => {
  errors.push({ path: [], message })
}

/** Adds the path element to the errors found below it. Paths are built only for errors, because most values have none. */
const visitChild = ({ errors }: Walk, elementOf: () => string, look: () => void): void => {
  const before = errors.length
  look()
  if (errors.length === before) return
  const element = elementOf()
  for (const [index, { message, path }] of errors.entries()) {
    if (index >= before) errors[index] = { path: [element, ...path], message }
  }
}

const visit = (walk: Walk, type: Type, value: Json, valid: Json | undefined): void => {
  if (value === null || value === valid) return
  const form = formOf(type, value)
  if (form === "map" && type.map !== undefined) {
    if (J.isObject(value)) visitMembers(walk, type.map, value, J.object(valid))
    else note(walk, `expected map, got &{${GoText.plain(value)}}`)
  } else if (form === "list" && type.list !== undefined) {
    if (J.isList(value)) visitItems(walk, type.list, value, J.list(valid))
    else note(walk, `expected list, got &{${GoText.plain(value)}}`)
  } else if (type.scalar !== undefined) {
    const error = scalarError(type.scalar, value)
    if (error !== undefined) note(walk, error)
  }
}

const scalarError = (scalar: Scalar, value: Json): string | undefined => {
  switch (scalar) {
    case "numeric":
      return typeof value === "number" ? undefined : `expected numeric (int or float), got ${GoText.typeName(value)}`
    case "string":
      return typeof value === "string"
        ? undefined
        : `expected string, got &value.valueUnstructured{Value:${GoText.source(value)}}`
    case "boolean":
      return typeof value === "boolean" ? undefined : `expected boolean, got &{${GoText.plain(value)}}`
    default:
      return typeof value === "object" ? `expected any scalar, got &{${GoText.plain(value)}}` : undefined
  }
}

const visitMembers = (walk: Walk, type: MapType, value: JsonObject, valid: JsonObject): void => {
  for (const name in value) {
    const member = value[name]
    if (member === undefined) continue
    const known = type.fields.get(name)?.type ?? type.element
    visitChild(
      walk,
      () => PathElement.ofField(name),
      () => (known === undefined ? note(walk, "field not declared in schema") : visit(walk, known, member, valid[name]))
    )
    // Like structured-merge-diff, the check stops at the first undeclared field.
    if (known === undefined) return
  }
}

const visitItems = (walk: Walk, type: ListType, items: ReadonlyArray<Json>, valid: ReadonlyArray<Json>): void => {
  const seen = new Set<string>()
  for (const [index, item] of items.entries()) {
    const step = type.atomic ? { element: PathElement.ofIndex(index) } : ListItem.stepOf(type, item)
    if ("error" in step) {
      note(walk, `element ${index}: ${step.error}`)
      return
    }
    if (seen.has(step.element) && walk.repeated === "refused") {
      note(walk, `duplicate entries for key ${PathElement.shown(step.element)}`)
    }
    if (!type.atomic) seen.add(step.element)
    visitChild(
      walk,
      () => step.element,
      () => visit(walk, type.element, item, valid[index])
    )
  }
}
