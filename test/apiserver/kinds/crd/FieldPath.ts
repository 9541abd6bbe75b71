/**
 * Paths of fields as rules (`fieldPath`) and selectable fields (`jsonPath`) write them: `.spec.name`, `.spec['a.b']`. They
 * have to lead to a field of the schema.
 */
import type { Schema } from "../../model/Schema.ts"
import * as StructuralSchema from "./StructuralSchema.ts"

/** Where a path leads, or why it leads nowhere. */
export type Parsed =
  | { readonly path: string; readonly schema: Schema; readonly root: string }
  | { readonly problem: string }

/** Reads a path below a schema. */
export const parse = (text: string, schema: Schema, { brackets = true } = {}): Parsed => {
  const tokens = [...text.matchAll(/'(?:\\.|[^'\\])*'|[.[\]]|[^.[\]]+/g)].map(([token]) => token)
  let here: Schema = schema
  let path = ""
  let root = ""
  for (let at = 0; at < tokens.length; at++) {
    const opening = tokens[at]
    if (opening !== "." && opening !== "[") return { problem: `expected [ or . but got: ${opening}` }
    if (opening === "[" && !brackets) return { problem: "array notation is not allowed" }
    const token = tokens[++at]
    if (token === undefined) return { problem: "unexpected end of JSON path" }
    const quoted = /^'(.*)'$/s.exec(token)?.[1]
    if (opening === "[" && quoted === undefined) return { problem: `expected single quoted string but got ${token}` }
    const name = opening === "[" ? (quoted ?? "").replace(/\\(.)/g, "$1") : token
    const named = here.properties !== undefined
    const next = named ? StructuralSchema.propertyOf(here, name) : StructuralSchema.valuesOf(here)
    if (next === undefined) return { problem: "does not refer to a valid field" }
    path = named ? (path === "" ? name : `${path}.${name}`) : `${path}[${name}]`
    root = root === "" ? name : root
    here = next
    if (opening === "[" && tokens[++at] !== "]") {
      return { problem: tokens[at] === undefined ? "unexpected end of JSON path" : `expected ] but got ${tokens[at]}` }
    }
  }
  return { path, schema: here, root }
}
