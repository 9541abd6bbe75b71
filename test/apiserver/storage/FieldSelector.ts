/**
 * Parses and evaluates `?fieldSelector=`, with the syntax of apimachinery's `fields` and the errors of kube-apiserver. A
 * selector may use only the fields that the kind makes selectable.
 */
import * as Failure from "../model/Failure.ts"
import * as Json from "../model/Json.ts"
import type { Kind } from "../model/Kind.ts"

/** A requirement on one field. */
export interface Requirement {
  readonly field: string
  readonly equal: boolean
  readonly value: string
}

/** A selector: an object matches if it meets all requirements. */
export type Selector = ReadonlyArray<Requirement>

/** Parses a selector: `a=b,c==d,e!=f`. A backslash escapes `,`, `=` and itself. Throws a Failure (400) if it is malformed. */
export const parse = (text: string): Selector =>
  (text.match(/(?:\\.|[^,\\])+\\?|\\/gs) ?? [])
    .sort()
    .map((term) => {
      const split = /^(.*?)(!=|==?)(.*)$/s.exec(term)
      if (split === null) throw Failure.badRequest(`invalid selector: '${text}'; can't understand '${term}'`)
      const [, field = "", operator, value = ""] = split
      return { field, equal: operator !== "!=", value: unescaped(value) }
    })
    // A requirement of an empty value for an empty field is ignored.
    .filter(({ field, value }) => field !== "" || value !== "")

/**
 * Parses the selector of a request for a kind, and renames the old `spec.host`. Throws a Failure (400) for a field that the
 * kind does not support.
 */
export const of = (kind: Kind, text: string): Selector => {
  const own = Object.keys(kind.selectableFields({}))
  return parse(text).map((requirement) => {
    const { field } = requirement
    if (field === "metadata.name" || own.includes(field)) return requirement
    if (field === "metadata.namespace" && (kind.namespaced || (!kind.custom && own.length === 0))) return requirement
    if (field === "spec.host" && kind.group === "" && kind.kind === "Pod") {
      return { ...requirement, field: "spec.nodeName" }
    }
    throw Failure.badRequest(refusal(kind, field, own.length > 0))
  })
}

/** Reports whether the object matches. */
export const matches = (selector: Selector, kind: Kind, object: Json.JsonObject): boolean => {
  if (selector.length === 0) return true
  const fields = fieldsOf(kind, object)
  return selector.every(({ equal, field, value }) => ((fields[field] ?? "") === value) === equal)
}

/**
 * Returns the value that the selector requires for a field, or undefined. A list that selects one name can then skip all other
 * objects.
 */
export const exactly = (selector: Selector, field: string): string | undefined =>
  selector.find((requirement) => requirement.field === field && requirement.equal)?.value

const fieldsOf = (kind: Kind, object: Json.JsonObject): { readonly [path: string]: string } => ({
  ...kind.selectableFields(object),
  "metadata.name": Json.text(Json.at(object, "metadata", "name")) ?? "",
  "metadata.namespace": Json.text(Json.at(object, "metadata", "namespace")) ?? ""
})

const refusal = (kind: Kind, field: string, hasOwn: boolean): string => {
  if (kind.group === "batch" && kind.kind === "Job") return `field label ${JSON.stringify(field)} not supported for Job`
  return kind.custom || hasOwn
    ? `field label not supported: ${field}`
    : `${JSON.stringify(field)} is not a known field selector: only "metadata.name", "metadata.namespace"`
}

const unescaped = (value: string): string =>
  value.replace(/\\(.)?|[,=]/gsu, (found, escaped: string | undefined) => {
    if (escaped === "\\" || escaped === "," || escaped === "=") return escaped
    throw Failure.badRequest(
      found.startsWith("\\")
        ? `invalid field selector: invalid escape sequence: ${found}`
        : `invalid field selector: unescaped character in value: ${found.codePointAt(0)}`
    )
  })
