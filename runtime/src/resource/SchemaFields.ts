/**
 * The names of the fields of a schema on its wire side, and what of them a served schema lacks. The same follows from
 * `SchemaCompiler.compile` and `SchemaNarrowing`, which take longer than the rest of a start.
 */
import type * as Schema from "effect/Schema"
import type * as AST from "effect/SchemaAST"

/** The fields of a value; neither member for a value without fields. */
export interface Fields {
  /** Those of a struct. */
  readonly properties?: Readonly<Record<string, Fields>>
  /** Those of each item of a list, or of each value of a record. */
  readonly each?: Fields
}

type Node = Readonly<Record<string, unknown>>

const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null && !Array.isArray(value)

const none: Fields = {}

/** The fields of a value by its structural schema. */
export const ofStructural = (schema: unknown): Fields => {
  if (!isNode(schema)) return none
  const { additionalProperties, items, properties } = schema
  if (isNode(properties)) return struct(Object.entries(properties).map(([name, each]) => [name, ofStructural(each)]))
  return isNode(items) || isNode(additionalProperties) ? eachOf(ofStructural(items ?? additionalProperties)) : none
}

const struct = (fields: ReadonlyArray<readonly [string, Fields]>): Fields =>
  fields.length === 0 ? none : { properties: Object.fromEntries(fields) }

const eachOf = (fields: Fields): Fields => (fields === none ? none : { each: fields })

/** The structural schema that an annotation gives in place of the compiled one. */
const statedIn = (annotations: Schema.Annotations.Annotations | undefined): Node | undefined => {
  const stated = annotations?.jsonSchema
  const isWhole = (key: string): boolean => isNode(stated) && key in stated
  return isNode(stated) &&
    (isWhole("type") || isWhole("x-kubernetes-int-or-string") || isWhole("x-kubernetes-preserve-unknown-fields"))
    ? stated
    : undefined
}

const statedInCheck = (check: AST.Check<unknown>): Node | undefined =>
  statedIn(check.annotations) ??
  (check._tag === "FilterGroup"
    ? check.checks.reduce<Node | undefined>((found, each) => statedInCheck(each) ?? found, undefined)
    : undefined)

const storedOf = (ast: AST.AST): AST.AST => {
  const last = ast.encoding?.at(-1)
  return last === undefined ? ast : storedOf(last.to)
}

const ofAst = (ast: AST.AST): Fields => {
  const stated =
    (ast.checks ?? []).reduce<Node | undefined>((found, check) => statedInCheck(check) ?? found, undefined) ??
    statedIn(ast.annotations)
  if (stated !== undefined) return ofStructural(stated)
  const stored = storedOf(ast)
  if (stored !== ast) return ofAst(stored)
  switch (ast._tag) {
    case "Objects": {
      const [record] = ast.indexSignatures
      if (record !== undefined) return eachOf(ofAst(record.type))
      return struct(ast.propertySignatures.map(({ name, type }) => [String(name), ofAst(type)]))
    }
    case "Arrays":
      return ast.rest[0] === undefined ? none : eachOf(ofAst(ast.rest[0]))
    case "Union":
      return ast.types.map(ofAst).find((fields) => fields !== none) ?? none
    case "Suspend":
      return ofAst(ast.thunk())
    default:
      return none
  }
}

/** The fields of a schema on its wire side. */
export const of = (schema: Schema.Constraint): Fields => ofAst(schema.ast)

/** The paths of the fields that a structural schema lacks, so that an API server with it drops them: `spec.env[].name`. */
export const lacking = (fields: Fields, served: unknown, path: string): ReadonlyArray<string> => {
  const schema = isNode(served) ? served : {}
  if (fields.each !== undefined) {
    const { additionalProperties, items } = schema
    if (isNode(items)) return lacking(fields.each, items, `${path}[]`)
    // `true` accepts every value, and keeps nothing inside of objects.
    return additionalProperties === undefined ? [] : lacking(fields.each, additionalProperties, `${path}.*`)
  }
  const known = isNode(schema.properties) ? schema.properties : {}
  return Object.entries(fields.properties ?? {}).flatMap(([name, each]) => {
    const at = `${path}.${name}`
    if (Object.hasOwn(known, name)) return lacking(each, known[name], at)
    if (schema.additionalProperties !== undefined) return lacking(each, schema.additionalProperties, at)
    return schema["x-kubernetes-preserve-unknown-fields"] === true ? [] : [at]
  })
}
