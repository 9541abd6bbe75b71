/**
 * Paths of fields in rules (`fieldPath`) and in selectable fields (`jsonPath`): `.spec.name`, `.spec['a.b']`. A path must refer to a
 * field of the schema.
 */
import type { Schema } from "../../model/Schema.ts"
import * as StructuralSchema from "./StructuralSchema.ts"

/** The normalized path, the schema of its field and its first name, or the error of an invalid path. */
export type Parsed =
  | { readonly path: string; readonly schema: Schema; readonly root: string }
  | { readonly problem: string }

/** Parses a path below a schema. Returns a `problem` if the syntax is invalid or the schema has no such field. */
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
