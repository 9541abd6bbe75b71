/**
 * Compiles an Effect Schema to the structural schema of its wire side.
 *
 * A default becomes a `default` of the server. A check becomes a bound; a filter of your own states it with the annotation
 * `toJsonSchema`. Kubernetes' own facts come from `Field`. If a structural schema cannot express the schema, it is an error, because
 * the server would store objects that do not decode: {@link InvalidDefinition} names the field and a fix.
 *
 * - `Schema.Int` is `integer`; with both bounds it gets the smallest format, `int32` or `int64`.
 * - A union with null is `nullable`; a union of `Schema.Int` and `Schema.String` is int-or-string.
 * - The server keeps a value of `Schema.Unknown` unchanged.
 * - An annotation `jsonSchema` on any schema adds bounds. With a `type` it replaces the whole schema.
 * - Lengths are UTF-16 units here and code points on the server: they differ for characters such as emoji.
 */
import * as Cause from "effect/Cause"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as AST from "effect/SchemaAST"
import type * as SchemaIssue from "effect/SchemaIssue"
import * as SchemaParser from "effect/SchemaParser"
import * as Checks from "./Checks.ts"
import * as Field from "./Field.ts"
import { InvalidDefinition } from "./InvalidDefinition.ts"
import * as Issues from "./Issues.ts"
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
  schema: Schema.Constraint,
  where: { readonly kind: string; readonly field: string }
): Structural => StructuralSchema.finished(node(schema.ast, { ...where, optional: false, within: [] }))

const refuse = (at: At, problem: string, fix: string): never => {
  throw new InvalidDefinition({ kind: at.kind, field: at.field, problem, fix })
}

/** One part of a schema: its annotations, or those of a check together with the check. */
interface Layer {
  readonly annotations: Schema.Annotations.Annotations | undefined
  readonly check?: AST.Filter<unknown> | undefined
}

/** The parts of a schema, from the inside out. */
const layersOf = (ast: AST.AST): ReadonlyArray<Layer> => [
  { annotations: ast.annotations },
  ...(ast.checks ?? []).flatMap(layersOfCheck)
]

const layersOfCheck = (check: AST.Check<unknown>): ReadonlyArray<Layer> => {
  if (check._tag === "Filter") return [{ annotations: check.annotations, check }]
  const isStated = statedIn(check.annotations) !== undefined || Field.factsOf(check.annotations).rules !== undefined
  return [...(isStated ? [] : check.checks.flatMap(layersOfCheck)), { annotations: check.annotations }]
}

const node = (ast: AST.AST, at: At): Structural => {
  const layers = layersOf(ast)
  const whole = layers.findLastIndex(({ annotations }) => isWhole(statedIn(annotations)))
  if (whole < 0) {
    const shape = shapeOf(ast, { ...at, within: [...at.within, ast] })
    return layers.reduce((schema, layer) => dressed(schema, layer, at), shape)
  }
  if (ast.encoding !== undefined && layers.slice(whole + 1).some(({ check }) => check !== undefined)) refuseBound(at)
  return layers.slice(whole).reduce<Structural>((schema, layer) => dressed(schema, layer, at), {})
}

/** Compiles a deeper field. */
const child = (ast: AST.AST, at: At, step: string): Structural =>
  StructuralSchema.finished(node(ast, { ...at, field: at.field + step, optional: false }))

const shapeOf = (ast: AST.AST, at: At): Structural => {
  if (ast.encoding !== undefined) return storedOf(ast, ast.encoding, at)
  switch (ast._tag) {
    case "String":
      return { type: "string" }
    case "Number":
      return { type: "number" }
    case "Boolean":
      return { type: "boolean" }
    case "Unknown":
    case "Any":
      return { "x-kubernetes-preserve-unknown-fields": true }
    case "ObjectKeyword":
      return { type: "object", "x-kubernetes-preserve-unknown-fields": true }
    case "TemplateLiteral":
      return narrowed({ type: "string" }, { pattern: `^${templateOf(ast, at)}$` }, at)
    case "Null":
    case "Literal":
    case "Enum":
      return choice([ast], at)
    case "Union":
      return union(ast, at)
    case "Arrays":
      return list(ast, at)
    case "Objects":
      return object(ast, [], at)
    case "Suspend": {
      const inner = ast.thunk()
      return at.within.includes(inner)
        ? refuse(at, "the schema contains itself", "Use Schema.Unknown at this place: it is kept, but not validated")
        : node(inner, at)
    }
    case "Undefined":
    case "Void":
    case "Never":
      return refuse(at, `JSON has no ${Issues.nameOf(ast)}`, "Make the property optional with Schema.optional")
    default:
      return refuse(
        at,
        `${Issues.nameOf(ast)} has no JSON form`,
        "Use the schema of what is stored, such as Schema.String or Field.Time"
      )
  }
}

/** The schema of what is stored. Effect has one form for a property with a default, a class, another name and other changes. */
const storedOf = (ast: AST.AST, encoding: AST.Encoding, at: At): Structural => {
  const [first] = encoding
  if (encoding.length === 1 && AST.isObjects(first.to)) {
    if (AST.isDeclaration(ast) && isClass(ast, first.to)) return node(first.to, at)
    if (AST.isObjects(ast) && isRenamed(ast, first.to)) {
      return object(
        ast,
        first.to.propertySignatures.map(({ name }) => name),
        at
      )
    }
  }
  // An absent property has a default, or the like: a present value stays as it is.
  if (at.optional && encoding.every(({ transformation }) => keepsValue(transformation))) {
    const [stored, ...others] = encoding.map(({ to }) => to).reverse()
    return others.flatMap(layersOf).reduce((schema, layer) => dressed(schema, layer, at), node(stored ?? ast, at))
  }
  if (ast.checks !== undefined) return refuseBound(at)
  const name = AST.resolveIdentifier(ast) ?? `(${Issues.nameOf(endOf(ast))} <-> ${Issues.nameOf(ast)})`
  return refuse(at, `its stored form differs from its decoded one, ${name}`, wholeFix)
}

const keepsValue = (transformation: AST.Link["transformation"]): boolean =>
  transformation._tag === "Transformation" &&
  (transformation.decode._tag === "Passthrough" || transformation.decode._tag.startsWith("TransformOptional"))

/** Whether a declaration is a class, whose only parameter is the struct of its fields. */
const isClass = ({ typeParameters: [fields] }: AST.Declaration, stored: AST.Objects): boolean =>
  fields !== undefined && AST.isObjects(fields) && fields.propertySignatures === stored.propertySignatures

/** Whether a struct is stored with other names only, as `Schema.encodeKeys` does it. */
const isRenamed = (ast: AST.Objects, stored: AST.Objects): boolean =>
  ast.propertySignatures.length === stored.propertySignatures.length &&
  ast.propertySignatures.every(({ type }, at) => AST.toEncoded(type) === stored.propertySignatures[at]?.type) &&
  ast.propertySignatures.some(({ name }, at) => name !== stored.propertySignatures[at]?.name)

/** The stored end of a schema. */
const endOf = (ast: AST.AST): AST.AST => {
  const last = ast.encoding?.at(-1)
  return last === undefined ? ast : endOf(last.to)
}

const wholeFix = 'Annotate the outermost schema with the stored form, { jsonSchema: { type: "string", … } }'

const refuseBound = (at: At): never => refuse(at, "this filter bounds what is decoded, not what is stored", wholeFix)

const templateOf = (ast: AST.AST, at: At): string => {
  if (ast.checks !== undefined) return refuse(at, unknownFilter, ruleFix)
  switch (ast._tag) {
    case "Literal":
      return Pattern.literal(String(ast.literal))
    case "Number":
      return "[+-]?\\d*\\.?\\d+(?:[Ee][+-]?\\d+)?"
    case "BigInt":
      return "-?\\d+"
    case "TemplateLiteral":
      return ast.parts.map((part) => templateOf(part, at)).join("")
    case "Union":
      return `(${ast.types.map((part) => templateOf(part, at)).join("|")})`
    default:
      return "[\\s\\S]*?"
  }
}

const object = (ast: AST.Objects, names: ReadonlyArray<PropertyKey>, at: At): Structural => {
  const [record, ...others] = ast.indexSignatures
  if (record !== undefined) {
    if (ast.propertySignatures.length > 0 || others.length > 0) {
      return refuse(at, "named properties and a record in one struct", "Put the record into a property of its own")
    }
    if (!AST.isString(record.parameter) || record.parameter.checks !== undefined) {
      const fix = "Use Schema.String keys and Field.rule({ rule: \"self.all(key, key.matches('…'))\" })"
      return refuse(at, "a CRD cannot constrain the keys of a record", fix)
    }
    return { type: "object", additionalProperties: child(record.type, at, ".*") }
  }
  const properties: { [name: string]: Structural } = {}
  const required: Array<string> = []
  for (const [index, { name: decoded, type }] of ast.propertySignatures.entries()) {
    const name = names[index] ?? decoded
    const stored = endOf(type)
    const here = { ...at, field: `${at.field}.${String(name)}`, optional: AST.isOptional(stored) }
    if (typeof name !== "string") return refuse(here, "its name is not a string", "Name the property by a string")
    const outside = [...new Set([stored.context?.annotations, type.context?.annotations])]
    const schema = outside.reduce((schema, annotations) => dressed(schema, { annotations }, here), node(type, here))
    const fallback = here.optional ? defaultOf(type, outside, here) : undefined
    properties[name] = StructuralSchema.finished(fallback === undefined ? schema : { ...schema, default: fallback })
    if (!here.optional) required.push(name)
  }
  return {
    type: "object",
    ...(ast.propertySignatures.length > 0 ? { properties } : {}),
    ...(required.length > 0 ? { required } : {})
  }
}

/** The default of an absent property in its wire form: that of the decoding, or else the `default` annotation. */
const defaultOf = (
  type: AST.AST,
  outside: ReadonlyArray<Schema.Annotations.Annotations | undefined>,
  at: At
): StructuralSchema.Json | undefined => {
  const fix = "Give a default that the schema accepts"
  const parent = Schema.make<Schema.Codec<{ readonly value?: unknown }>>(
    new AST.Objects([new AST.PropertySignature("value", type)], [])
  )
  const fits = <A>(parsed: Exit.Exit<A, SchemaIssue.Issue>): A =>
    Exit.match(parsed, {
      onSuccess: (value) => value,
      onFailure: (cause) =>
        Option.match(Cause.findErrorOption(cause), {
          onNone: () => refuse(at, `the default fails: ${Cause.squash(cause)}`, fix),
          onSome: (issue) =>
            refuse(at, `the default does not fit: ${Issues.issuesOf(issue)[0]?.message ?? "it is invalid"}`, fix)
        })
    })
  const decoded = type.encoding === undefined ? {} : fits(SchemaParser.decodeUnknownExit(parent, Issues.detailed)({}))
  const annotated = [...outside, ...alternatives(type).map(AST.resolve)].map((annotations) => annotations?.default)
  const value = decoded.value ?? annotated.find((each) => each !== undefined)
  if (value === undefined) return undefined
  const encoded = fits(SchemaParser.encodeUnknownExit(parent, Issues.detailed)({ value })).value
  // Through JSON, which omits undefined values. A schema without `undefined` has a JSON form for every value.
  return encoded === undefined || encoded === null
    ? undefined
    : (JSON.parse(JSON.stringify(encoded)) as StructuralSchema.Json)
}

const alternatives = (ast: AST.AST): ReadonlyArray<AST.AST> => (AST.isUnion(ast) ? [ast, ...ast.types] : [ast])

const list = (ast: AST.Arrays, at: At): Structural => {
  const [item, ...others] = ast.rest
  const isList = item !== undefined && others.length === 0
  if (!isList || ast.elements.some((element) => element !== item || AST.isOptional(element))) {
    return refuse(at, "a CRD has no tuples", "Use Schema.Array, or a struct with a name for each place")
  }
  const items = child(item, at, "[]")
  return { type: "array", ...(ast.elements.length > 0 ? { minItems: ast.elements.length } : {}), items }
}

const union = (ast: AST.Union, at: At): Structural => {
  const members = ast.types.filter((member) => !(at.optional && AST.isUndefined(member)))
  const values = members.filter((member) => !AST.isNull(member))
  const nullable = values.length < members.length ? { nullable: true } : {}
  const [only] = values
  if (only !== undefined && values.length === 1) return notBoth({ ...node(only, at), ...nullable }, at)
  if (values.some(isNested)) return union(new AST.Union(flat(ast)), at)
  if (values.every((member) => AST.isLiteral(member) || AST.isEnum(member))) {
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
    : refuse(at, `a CRD has one type per field, this is ${Issues.nameOf(ast)}`, "Use one type, or Field.IntOrString")
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

const isNested = (member: AST.AST): member is AST.Union => AST.isUnion(member) && member.encoding === undefined

const flat = (ast: AST.Union): ReadonlyArray<AST.AST> =>
  ast.types.flatMap((member) => (isNested(member) ? flat(member) : [member]))

const choice = (members: ReadonlyArray<AST.AST>, at: At): Structural => {
  const values = members.flatMap(
    (member): ReadonlyArray<AST.LiteralValue> =>
      AST.isLiteral(member) ? [member.literal] : AST.isEnum(member) ? member.enums.map(([, value]) => value) : []
  )
  const types = new Set(values.map((value) => typeof value))
  const [type] = types
  if (types.size !== 1 || (type !== "string" && type !== "number" && type !== "boolean")) {
    return refuse(at, "a CRD has one type per field, these literals have several or none", "Use strings")
  }
  const json = values.flatMap((value) => (typeof value === "bigint" ? [] : [value]))
  return { type: type === "number" && values.every(Number.isInteger) ? "integer" : type, enum: json }
}

/** The annotation `jsonSchema`. */
const statedIn = (annotations: Schema.Annotations.Annotations | undefined): object | undefined => {
  const stated = annotations?.jsonSchema
  return typeof stated === "object" && stated !== null ? stated : undefined
}

/** Whether an annotation replaces the whole schema instead of adding a bound. */
const isWhole = (stated: object | undefined): boolean =>
  stated !== undefined &&
  ["type", "x-kubernetes-int-or-string", "x-kubernetes-preserve-unknown-fields"].some((key) => key in stated)

const narrowed = (schema: Structural, stated: object, at: At): Structural =>
  Result.getOrElse(StructuralSchema.narrow(schema, stated), (problem) =>
    refuse(at, problem, "Say it in other words, or as a CEL rule with Field.rule")
  )

const unknownFilter = "the API server does not know what this filter asks for"
const ruleFix =
  "Say it to the server too: pipe Field.rule onto it, or give the filter a toJsonSchema annotation such as () => ({ pattern })"

/** The schema with a part around it: bounds, a description, Kubernetes' facts. */
const dressed = (schema: Structural, { annotations, check }: Layer, at: At): Structural => {
  const { listType, listMapKeys, mapType, preserveUnknown, embeddedResource, format, rules } =
    Field.factsOf(annotations)
  const description = descriptionIn(annotations)
  const bounds = statedIn(annotations) ?? (check === undefined ? {} : Checks.boundsOf(check, schema.type))
  if (bounds === undefined && rules === undefined) return refuse(at, unknownFilter, ruleFix)
  const earlier = schema["x-kubernetes-validations"] ?? []
  // The decoded side of a property with a default repeats the rules of the stored one.
  const isNew = (rule: Field.Rule) => !earlier.some((other) => Bun.deepEquals(rule, other, true))
  const explicit: Structural = {
    ...narrowed(schema, bounds ?? {}, at),
    ...(description === undefined ? {} : { description }),
    ...(format === undefined ? {} : { format }),
    ...(preserveUnknown === undefined ? {} : { "x-kubernetes-preserve-unknown-fields": true }),
    ...(embeddedResource === undefined ? {} : { "x-kubernetes-embedded-resource": true }),
    ...(listType === undefined ? {} : { "x-kubernetes-list-type": listType }),
    ...(listMapKeys === undefined ? {} : { "x-kubernetes-list-map-keys": listMapKeys }),
    ...(mapType === undefined ? {} : { "x-kubernetes-map-type": mapType }),
    ...(rules === undefined
      ? {}
      : { "x-kubernetes-validations": [...earlier, ...rules.map(ruleInOrder).filter(isNew)] })
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

const descriptionIn = (annotations: Schema.Annotations.Annotations | undefined): string | undefined => {
  const description = annotations?.description
  return typeof description === "string" ? description : undefined
}
