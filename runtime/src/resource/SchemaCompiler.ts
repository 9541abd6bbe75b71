/**
 * Compiles an Effect Schema to the structural schema of its wire side.
 *
 * A default becomes a `default` of the server. A filter becomes the bound in its `jsonSchema` annotation. Kubernetes' own facts come
 * from `Field`. If a structural schema cannot express the schema, it is an error, because the server would store objects that do not
 * decode: {@link InvalidDefinition} names the field and a fix.
 *
 * - `Schema.Int` is `integer`; with both bounds it gets the smallest format, `int32` or `int64`.
 * - A union with null is `nullable`; a union of `Schema.Int` and `Schema.String` is int-or-string.
 * - The server keeps a value of `Schema.Unknown` unchanged.
 * - A `jsonSchema` annotation with a `type` replaces the whole schema.
 * - Lengths are UTF-16 units here and code points on the server: they differ for characters such as emoji.
 */
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import * as AST from "effect/SchemaAST"
import * as Field from "./Field.ts"
import { InvalidDefinition } from "./InvalidDefinition.ts"
import * as Pattern from "./Pattern.ts"
import * as StructuralSchema from "./StructuralSchema.ts"

type Structural = StructuralSchema.StructuralSchema

/** The position of the compiler, for error messages and to detect recursion. */
interface At {
  readonly kind: string
  readonly field: string
  /** The value may be absent, so `undefined` in its type does not affect the wire. */
  readonly optional: boolean
  readonly within: ReadonlyArray<AST.AST>
}

/**
 * Compiles the wire side of a schema.
 *
 * @param where the kind and the field (`spec`) for errors
 * @throws InvalidDefinition if a structural schema cannot express it
 */
export const compile = (
  schema: Schema.Schema.All,
  where: { readonly kind: string; readonly field: string }
): Structural => StructuralSchema.finished(node(schema.ast, { ...where, optional: false, within: [] }))

const refuse = (at: At, problem: string, fix: string): never => {
  throw new InvalidDefinition({ kind: at.kind, field: at.field, problem, fix })
}

const node = (ast: AST.AST, at: At): Structural => {
  const stated = statedBy(ast)
  const shape = stated !== undefined && isWhole(ast, stated) ? {} : shapeOf(ast, { ...at, within: [...at.within, ast] })
  return dressed(shape, ast, at)
}

/** Compiles a deeper field. */
const child = (ast: AST.AST, at: At, step: string): Structural =>
  StructuralSchema.finished(node(ast, { ...at, field: at.field + step, optional: false }))

const shapeOf = (ast: AST.AST, at: At): Structural => {
  const surrogate = AST.getSurrogateAnnotation(ast)
  if (Option.isSome(surrogate)) return node(surrogate.value, at)
  switch (ast._tag) {
    case "StringKeyword":
      return { type: "string" }
    case "NumberKeyword":
      return { type: "number" }
    case "BooleanKeyword":
      return { type: "boolean" }
    case "UnknownKeyword":
    case "AnyKeyword":
      return { "x-kubernetes-preserve-unknown-fields": true }
    case "ObjectKeyword":
      return { type: "object", "x-kubernetes-preserve-unknown-fields": true }
    case "TemplateLiteral":
      return narrowed({ type: "string" }, { pattern: AST.getTemplateLiteralRegExp(ast).source }, at)
    case "Literal":
    case "Enums":
      return choice([ast], at)
    case "Union":
      return union(ast, at)
    case "TupleType":
      return list(ast, at)
    case "TypeLiteral":
      return object(ast, undefined, [], at)
    case "Refinement":
      return refinement(ast, at)
    case "Transformation":
      return transformation(ast, at)
    case "Suspend": {
      const inner = ast.f()
      return at.within.includes(inner)
        ? refuse(at, "the schema contains itself", "Use Schema.Unknown at this place: it is kept, but not validated")
        : node(inner, at)
    }
    case "UndefinedKeyword":
    case "VoidKeyword":
    case "NeverKeyword":
      return refuse(at, `JSON has no ${ast}`, "Make the property optional with Schema.optional")
    default:
      return refuse(
        at,
        `${ast} has no JSON form`,
        "Use the schema of what is stored, such as Schema.String or Field.Time"
      )
  }
}

const object = (
  from: AST.TypeLiteral,
  to: AST.TypeLiteral | undefined,
  transformations: ReadonlyArray<AST.PropertySignatureTransformation>,
  at: At
): Structural => {
  const [record, ...others] = from.indexSignatures
  if (record !== undefined) {
    if (from.propertySignatures.length > 0 || others.length > 0) {
      return refuse(at, "named properties and a record in one struct", "Put the record into a property of its own")
    }
    if (record.parameter._tag !== "StringKeyword") {
      const fix = "Use Schema.String keys and Field.rule({ rule: \"self.all(key, key.matches('…'))\" })"
      return refuse(at, "a CRD cannot constrain the keys of a record", fix)
    }
    return { type: "object", additionalProperties: child(record.type, at, ".*") }
  }
  const properties: { [name: string]: Structural } = {}
  const required: Array<string> = []
  for (const signature of from.propertySignatures) {
    const name = String(signature.name)
    const here = { ...at, field: `${at.field}.${name}`, optional: signature.isOptional }
    if (typeof signature.name !== "string")
      return refuse(here, "its name is not a string", "Name the property by a string")
    const change = transformations.find((each) => each.from === name)
    const target = to?.propertySignatures.find((each) => each.name === (change?.to ?? name))
    const outside = [signature, ...(target === undefined ? [] : [target])]
    const schema = outside.reduce((schema, each) => dressed(schema, each, here), node(signature.type, here))
    const fallback = defaultOf(signature, outside, change, here)
    properties[name] = StructuralSchema.finished(fallback === undefined ? schema : { ...schema, default: fallback })
    if (!signature.isOptional) required.push(name)
  }
  return {
    type: "object",
    ...(from.propertySignatures.length > 0 ? { properties } : {}),
    ...(required.length > 0 ? { required } : {})
  }
}

/** The default of an absent property in its wire form: that of the decoding, or else the `default` annotation. */
const defaultOf = (
  signature: AST.PropertySignature,
  annotated: ReadonlyArray<AST.Annotated>,
  change: AST.PropertySignatureTransformation | undefined,
  at: At
): StructuralSchema.Json | undefined => {
  if (!signature.isOptional) return undefined
  const fix = "Give a default that the schema accepts"
  const decoded = Either.try({
    try: () => (change === undefined ? Option.none() : change.encode(change.decode(Option.none()))),
    catch: (error) => `the default fails: ${error}`
  })
  if (Either.isLeft(decoded)) return refuse(at, decoded.left, fix)
  const value = Option.orElse(decoded.right, () =>
    Option.firstSomeOf([...annotated, ...alternatives(signature.type)].map(AST.getDefaultAnnotation))
  )
  if (Option.isNone(value)) return undefined
  const encoded = ParseResult.encodeUnknownEither(Schema.make<unknown>(signature.type))(value.value)
  if (Either.isLeft(encoded)) {
    const [issue] = ParseResult.ArrayFormatter.formatIssueSync(encoded.left)
    return refuse(at, `the default does not fit: ${issue?.message ?? "it cannot be encoded"}`, fix)
  }
  // Through JSON, which omits undefined values. A schema without `undefined` has a JSON form for every value.
  return encoded.right === undefined || encoded.right === null
    ? undefined
    : (JSON.parse(JSON.stringify(encoded.right)) as StructuralSchema.Json)
}

const alternatives = (ast: AST.AST): ReadonlyArray<AST.AST> => (AST.isUnion(ast) ? [ast, ...ast.types] : [ast])

const list = (ast: AST.TupleType, at: At): Structural => {
  const [item, ...others] = ast.rest
  const isList = item !== undefined && others.length === 0
  if (!isList || ast.elements.some((element) => element.type !== item.type || element.isOptional)) {
    return refuse(at, "a CRD has no tuples", "Use Schema.Array, or a struct with a name for each place")
  }
  const items = child(item.type, at, "[]")
  return { type: "array", ...(ast.elements.length > 0 ? { minItems: ast.elements.length } : {}), items }
}

const isNull = (ast: AST.AST): boolean => AST.isLiteral(ast) && ast.literal === null

const union = (ast: AST.Union, at: At): Structural => {
  const members = ast.types.filter((member) => !(at.optional && AST.isUndefinedKeyword(member)))
  const values = members.filter((member) => !isNull(member))
  const nullable = values.length < members.length ? { nullable: true } : {}
  const [only] = values
  if (only !== undefined && values.length === 1) return notBoth({ ...node(only, at), ...nullable }, at)
  if (values.some(AST.isUnion)) return union(flat(ast), at)
  if (values.every((member) => AST.isLiteral(member) || AST.isEnums(member))) {
    return notBoth({ ...choice(values, at), ...nullable }, at)
  }
  const schemas = values.map((member) => node(member, { ...at, optional: false }))
  const number = schemas.find(({ type }) => type === "integer")
  const text = schemas.find(({ type }) => type === "string")
  if (schemas.length === 2 && number !== undefined && text !== undefined && schemas.every(hasBoundsOnly)) {
    // Bounds on numbers do not apply to strings and the reverse, so both can stay.
    const { type: _, format: __, ...bounds } = { ...number, ...text }
    return { ...bounds, ...nullable, "x-kubernetes-int-or-string": true }
  }
  return schemas.every(({ type }) => type === "object")
    ? refuse(
        at,
        "a CRD cannot hold a union of structs",
        'Use one struct with an optional property per variant, and Field.rule({ rule: "has(self.a) != has(self.b)" })'
      )
    : refuse(at, `a CRD has one type per field, this is ${ast}`, "Use one type, or Field.IntOrString")
}

const hasBoundsOnly = (schema: Structural): boolean =>
  schema.enum === undefined && schema.allOf === undefined && schema["x-kubernetes-validations"] === undefined

/** The server compares null with the values of an enum and never finds it equal, even if the enum contains null. */
const notBoth = (schema: Structural, at: At): Structural =>
  schema.nullable && schema.enum
    ? refuse(
        at,
        "the API server accepts no null where there is an enum",
        "Leave the property out instead: Schema.optional"
      )
    : schema

// Flattening never reduces the number of members, so the result is still a union.
const flat = (ast: AST.Union): AST.Union =>
  AST.Union.make(ast.types.flatMap((member) => (AST.isUnion(member) ? flat(member).types : [member]))) as AST.Union

const choice = (members: ReadonlyArray<AST.AST>, at: At): Structural => {
  const values = members.flatMap(
    (member): ReadonlyArray<AST.LiteralValue> =>
      AST.isLiteral(member) ? [member.literal] : AST.isEnums(member) ? member.enums.map(([, value]) => value) : []
  )
  const types = new Set(values.map((value) => typeof value))
  const [type] = types
  if (types.size !== 1 || (type !== "string" && type !== "number" && type !== "boolean")) {
    return refuse(at, "a CRD has one type per field, these literals have several or none", "Use strings")
  }
  const json = values.flatMap((value) => (typeof value === "bigint" ? [] : [value]))
  return { type: type === "number" && values.every(Number.isInteger) ? "integer" : type, enum: json }
}

const refinement = (ast: AST.Refinement, at: At): Structural => {
  if (changesValue(ast.from)) return refuse(at, "this filter bounds what is decoded, not what is stored", wholeFix)
  const isKnown =
    statedBy(ast) !== undefined ||
    Field.factsOf(ast.annotations).rules !== undefined ||
    ast.annotations[AST.SchemaIdAnnotationId] === Schema.NonNaNSchemaId
  const fix =
    "Say it to the server too: pipe Field.rule onto it, or give the filter a jsonSchema annotation such as { pattern }"
  return isKnown ? node(ast.from, at) : refuse(at, "the API server does not know what this filter asks for", fix)
}

const wholeFix = 'Annotate the outermost schema with the stored form, { jsonSchema: { type: "string", … } }'

const changesValue = (ast: AST.AST): boolean =>
  AST.isRefinement(ast)
    ? changesValue(ast.from)
    : AST.isTransformation(ast) &&
      !AST.isTypeLiteralTransformation(ast.transformation) &&
      Option.isNone(AST.getSurrogateAnnotation(ast))

const transformation = (ast: AST.Transformation, at: At): Structural => {
  if (!AST.isTypeLiteralTransformation(ast.transformation)) {
    return refuse(at, `its stored form differs from its decoded one, ${ast}`, wholeFix)
  }
  const to = AST.isTypeLiteral(ast.to) ? ast.to : undefined
  return AST.isTypeLiteral(ast.from)
    ? object(ast.from, to, ast.transformation.propertySignatureTransformations, at)
    : node(ast.from, at)
}

/** The `jsonSchema` annotation of a node; Effect's own patterns with their flags and escapes. */
const statedBy = (ast: AST.Annotated): object | undefined => {
  const stated = Option.getOrUndefined(AST.getJSONSchemaAnnotation(ast))
  const of = (id: symbol, key: string): unknown => {
    const value = ast.annotations[id]
    return typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined
  }
  if (stated === undefined || !("pattern" in stated)) return stated
  const regexp = of(Schema.PatternSchemaId, "regex")
  if (regexp instanceof RegExp && regexp.source === stated.pattern) {
    return { ...stated, pattern: regexp }
  }
  const [start, end, middle] = [
    of(Schema.StartsWithSchemaId, "startsWith"),
    of(Schema.EndsWithSchemaId, "endsWith"),
    of(Schema.IncludesSchemaId, "includes")
  ]
  if (typeof start === "string") return { pattern: `^${Pattern.literal(start)}` }
  if (typeof end === "string") return { pattern: `${Pattern.literal(end)}$` }
  return typeof middle === "string" ? { pattern: Pattern.literal(middle) } : stated
}

/** Whether an annotation replaces the whole schema instead of adding a bound. */
const isWhole = (ast: AST.AST, stated: object): boolean =>
  ("type" in stated &&
    !(stated.type === "integer" && ast.annotations[AST.SchemaIdAnnotationId] === Schema.IntSchemaId)) ||
  "x-kubernetes-int-or-string" in stated ||
  "x-kubernetes-preserve-unknown-fields" in stated

const narrowed = (schema: Structural, stated: object, at: At): Structural =>
  Either.getOrElse(StructuralSchema.narrow(schema, stated), (problem) =>
    refuse(at, problem, "Say it in other words, or as a CEL rule with Field.rule")
  )

/** The schema with the annotations of the node around it: bounds, a description, Kubernetes' facts. */
const dressed = (schema: Structural, annotated: AST.Annotated, at: At): Structural => {
  const { listType, listMapKeys, mapType, preserveUnknown, embeddedResource, format, rules } = Field.factsOf(
    annotated.annotations
  )
  const description = descriptionOf(annotated)
  const explicit: Structural = {
    ...narrowed(schema, statedBy(annotated) ?? {}, at),
    ...(description === undefined ? {} : { description }),
    ...(format === undefined ? {} : { format }),
    ...(preserveUnknown === undefined ? {} : { "x-kubernetes-preserve-unknown-fields": true }),
    ...(embeddedResource === undefined ? {} : { "x-kubernetes-embedded-resource": true }),
    ...(listType === undefined ? {} : { "x-kubernetes-list-type": listType }),
    ...(listMapKeys === undefined ? {} : { "x-kubernetes-list-map-keys": listMapKeys }),
    ...(mapType === undefined ? {} : { "x-kubernetes-map-type": mapType }),
    ...(rules === undefined
      ? {}
      : { "x-kubernetes-validations": [...(schema["x-kubernetes-validations"] ?? []), ...rules.map(ruleInOrder)] })
  }
  if (listType !== undefined && explicit.type !== "array")
    refuse(at, `a list of type ${listType} is not an array`, "Use Schema.Array")
  if (mapType !== undefined && explicit.type !== "object")
    refuse(at, "only objects merge field by field", "Use Schema.Struct")
  if (listType === "map") checkKeys(explicit.items ?? {}, listMapKeys ?? [], at)
  if (listType === "set" && (explicit.items?.type === "object" || explicit.items?.type === "array")) {
    refuse(at, "a set has scalar items", "Use scalars, or Field.listMap with the keys of the items")
  }
  return explicit
}

const ruleInOrder = (rule: Field.Rule): Field.Rule => {
  const { rule: text, message, messageExpression, reason, fieldPath, optionalOldSelf } = rule
  return {
    rule: text,
    ...(message === undefined ? {} : { message }),
    ...(messageExpression === undefined ? {} : { messageExpression }),
    ...(reason === undefined ? {} : { reason }),
    ...(fieldPath === undefined ? {} : { fieldPath }),
    ...(optionalOldSelf === undefined ? {} : { optionalOldSelf })
  }
}

const checkKeys = (items: Structural, keys: ReadonlyArray<string>, at: At): void => {
  for (const key of keys) {
    const property = items.properties?.[key]
    if (property === undefined) {
      refuse(at, `its items have no property ${key} to merge by`, "Name a property of the items in Field.listMap")
    } else if (!items.required?.includes(key) && property.default === undefined) {
      refuse(at, `its items may lack ${key}, by which they merge`, `Make ${key} required or give it a default`)
    } else if (property.type === "object" || property.type === "array" || property.nullable) {
      refuse(at, `its items merge by ${key}, which is not a scalar`, "Merge by a string, an integer or a boolean")
    }
  }
}

/** The description by the author. The bounds already contain the descriptions of Effect's filters. */
const descriptionOf = (annotated: AST.Annotated): string | undefined => {
  const text = Option.getOrUndefined(AST.getDescriptionAnnotation(annotated))
  return text === undefined || ofKeywords.has(text) || ofFilters.test(text) ? undefined : text
}

const ofKeywords: ReadonlySet<string> = new Set(
  [AST.stringKeyword, AST.numberKeyword, AST.booleanKeyword, AST.objectKeyword].flatMap((keyword) =>
    Option.toArray(AST.getDescriptionAnnotation(keyword))
  )
)

const ofFilters = new RegExp(
  `^(${[
    "an integer",
    "a single character",
    "a (finite|positive|negative|non-positive|non-negative) number",
    "a number (greater than|less than|between|divisible by|excluding) .+",
    "a string (at least|at most|\\d+ character\\(s\\)|with no leading|matching the pattern|starting with|ending with|including) .+",
    "an? (lowercase|uppercase|capitalized|uncapitalized|non empty) string",
    "an array of (at least|at most|exactly) \\d+ item\\(s\\)"
  ].join("|")})$`,
  "s"
)
