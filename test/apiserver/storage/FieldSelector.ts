/**
 * Which fields an object must have: the text of `?fieldSelector=`, as apimachinery's `fields` reads it, against the fields
 * that a kind lets be selected, with the words that kube-apiserver refuses the others with.
 */
import * as Failure from "../model/Failure.ts"
import * as Json from "../model/Json.ts"
import type { Kind } from "../model/Kind.ts"

/** One condition on one field. */
export interface Requirement {
  readonly field: string
  readonly equal: boolean
  readonly value: string
}

/** All of these conditions. */
export type Selector = ReadonlyArray<Requirement>

/** Reads a selector's text: `a=b,c==d,e!=f`, where a backslash takes `,`, `=` and itself as they are. Throws a Failure (400). */
export const parse = (text: string): Selector =>
  (text.match(/(?:\\.|[^,\\])+\\?|\\/gs) ?? [])
    .sort()
    .map((term) => {
      const split = /^(.*?)(!=|==?)(.*)$/s.exec(term)
      if (split === null) throw Failure.badRequest(`invalid selector: '${text}'; can't understand '${term}'`)
      const [, field = "", operator, value = ""] = split
      return { field, equal: operator !== "!=", value: unescaped(value) }
    })
    // Nothing of nothing is asked for.
    .filter(({ field, value }) => field !== "" || value !== "")

/** The selector for a kind: refuses (400) fields that the kind does not let be selected, and renames the old `spec.host`. */
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

/** Whether the object is taken. */
export const matches = (selector: Selector, kind: Kind, object: Json.JsonObject): boolean => {
  if (selector.length === 0) return true
  const fields = fieldsOf(kind, object)
  return selector.every(({ equal, field, value }) => ((fields[field] ?? "") === value) === equal)
}

/** The value that the selector asks of a field, if it asks for just one: lists of one object need not look at the others. */
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
