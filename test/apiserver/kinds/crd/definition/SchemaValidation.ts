/**
 * Validates the schema of a CRD and all schemas inside it, and compiles their rules. It compiles the rules of a schema only if that
 * schema and all schemas inside it are valid.
 */
import * as FieldError from "../../../model/FieldError.ts"
import * as Json from "../../../model/Json.ts"
import type { Schema } from "../../../model/Schema.ts"
import * as Declared from "../../cel/cost/Declared.ts"
import type { Type, Types } from "../../cel/DeclTypes.ts"
import * as Rules from "../../cel/Rules.ts"
import * as FieldPath from "../FieldPath.ts"
import * as StructuralSchema from "../StructuralSchema.ts"
import { shownRule } from "./Internal.ts"
import * as RuleCosts from "./RuleCosts.ts"
import * as Topology from "./Topology.ts"

type Errors = ReadonlyArray<FieldError.FieldError>

/** The errors of schemas, and those of their rules. The server reports the errors of rules last. */
export interface SchemaErrors {
  readonly schema: Errors
  readonly rules: Errors
}

/** The position of a schema inside the root schema. */
interface Position {
  readonly path: string
  readonly root: boolean
  readonly insideMeta: boolean
  /** The reason why a default is forbidden here; undefined: defaults are allowed. */
  readonly noDefaults: string | undefined
  /** The path of the enclosing list whose items cannot be correlated with old items, if there is one. */
  readonly uncorrelated: string | undefined
  /** The types for the rules at this position; undefined: the rules are not compiled. */
  readonly typed: Typed | undefined
}

interface Typed {
  readonly types: Types
  readonly schema: Schema
  readonly costs: RuleCosts.RuleCosts
  /** The greatest number of values that an object can have here, if its lists and maps have limits. */
  readonly values: number | undefined
}

/**
 * Returns the errors in a schema. Without `types`, it does not compile the rules, because the schema has other errors. With
 * `isUnchanged`, the stored CRD has the same schema, and each of its rules may exceed the cost limit.
 */
export const validate = (
  schema: Json.JsonObject,
  path: string,
  types: Types | undefined,
  isUnchanged = false
): SchemaErrors => {
  const costs = RuleCosts.make(isUnchanged)
  const typed = types === undefined ? undefined : { types, schema: StructuralSchema.schemaOf(schema), costs, values: 1 }
  // Declaring the whole first, as a resource, also declares its parts, so that the parts share these types.
  if (typed !== undefined) typed.types.of(typed.schema, true)
  const position = { path, root: true, insideMeta: false, noDefaults: undefined, uncorrelated: undefined, typed }
  const errors = at(schema, position)
  return { ...errors, rules: [...errors.rules, ...costs.total(path)] }
}

const at = (schema: Json.JsonObject, position: Position): SchemaErrors => {
  const nested = children(schema, position).map(([child, where]) => at(child, where))
  const errors = [
    ...plain(schema, position),
    ...exclusive(schema, position.path),
    ...nested.flatMap((one) => one.schema),
    ...Topology.validate(schema, position.path),
    ...ofRules(schema, position.path)
  ]
  return {
    schema: errors,
    rules: [...nested.flatMap((one) => one.rules), ...(errors.length === 0 ? compiled(schema, position) : [])]
  }
}

const meta: ReadonlySet<string> = new Set(["metadata", "kind", "apiVersion"])

const children = (schema: Json.JsonObject, position: Position): ReadonlyArray<readonly [Json.JsonObject, Position]> => {
  const { path, typed } = position
  const inner = { ...position, root: false }
  const untyped = { ...inner, typed: undefined }
  const isRoot = position.root || schema["x-kubernetes-embedded-resource"] === true
  const found: Array<readonly [Json.JsonObject, Position]> = []
  const add = (child: Json.Json | undefined, where: Position) => {
    if (Json.isObject(child)) found.push([child, where])
  }
  add(schema.additionalProperties, {
    ...inner,
    path: `${path}.additionalProperties`,
    noDefaults: position.insideMeta ? "inside additionalProperties applying to object metadata" : position.noDefaults,
    typed: typedAt(typed, typed && StructuralSchema.valuesOf(typed.schema))
  })
  for (const [name, property] of Object.entries(Json.object(schema.properties))) {
    const inMeta = isRoot && meta.has(name)
    add(property, {
      ...inner,
      path: `${path}.properties[${name}]`,
      insideMeta: position.insideMeta || inMeta,
      noDefaults: position.root && inMeta ? `in top-level ${name}` : position.noDefaults,
      typed: typedAt(typed, typed && StructuralSchema.propertyOf(typed.schema, name))
    })
  }
  add(schema.not, { ...untyped, path: `${path}.not` })
  for (const name of ["allOf", "oneOf", "anyOf"]) {
    Json.list(schema[name]).forEach((one, index) => {
      add(one, { ...untyped, path: `${path}.${name}[${index}]` })
    })
  }
  for (const [name, one] of Object.entries(Json.object(schema.definitions))) {
    add(one, { ...untyped, path: `${path}.definitions[${name}]` })
  }
  const isMapList = schema["x-kubernetes-list-type"] === "map"
  const items = { ...inner, uncorrelated: isMapList ? position.uncorrelated : (position.uncorrelated ?? path) }
  add(schema.items, { ...items, path: `${path}.items`, typed: typedAt(typed, typed?.schema.items) })
  Json.list(schema.items).forEach((one, index) => {
    add(one, { ...items, path: `${path}.items[${index}]`, typed: undefined })
  })
  return found
}

const typedAt = (typed: Typed | undefined, schema: Schema | undefined): Typed | undefined => {
  if (typed === undefined || schema === undefined) return undefined
  const factor = RuleCosts.factor(typed.schema)
  const values = typed.values === undefined || factor === undefined ? undefined : typed.values * factor
  return { ...typed, schema, values }
}

const types = ["array", "boolean", "integer", "number", "object", "string"]

const isPresent = (value: Json.Json | undefined): boolean => value !== undefined && value !== null

/** Reports members that OpenAPI has and a CRD's schema must not set, unknown types, and defaults where they are forbidden. */
const plain = (schema: Json.JsonObject, { insideMeta, noDefaults, path }: Position): Errors => {
  const type = Json.text(schema.type) ?? ""
  const unsupported = (name: string, is: boolean) =>
    is ? [FieldError.forbidden(`${path}.${name}`, `${name} is not supported`)] : []
  return [
    ...(type !== "" && !types.includes(type) ? [FieldError.notSupported(`${path}.type`, type, types)] : []),
    ...(isPresent(schema.default) && noDefaults !== undefined
      ? [FieldError.forbidden(`${path}.default`, `must not be set ${noDefaults}`)]
      : []),
    ...unsupported("id", (Json.text(schema.id) ?? "") !== ""),
    ...unsupported("additionalItems", isPresent(schema.additionalItems)),
    ...unsupported("patternProperties", Object.keys(Json.object(schema.patternProperties)).length > 0),
    ...unsupported("definitions", Object.keys(Json.object(schema.definitions)).length > 0),
    ...unsupported("dependencies", isPresent(schema.dependencies)),
    ...unsupported("$ref", isPresent(schema.$ref)),
    ...(type === "null"
      ? [FieldError.forbidden(`${path}.type`, "type cannot be set to null, use nullable as an alternative")]
      : []),
    ...(Json.list(schema.items).length > 0
      ? [FieldError.forbidden(`${path}.items`, "items must be a schema object and not an array")]
      : []),
    ...(insideMeta && schema["x-kubernetes-embedded-resource"] === true
      ? [FieldError.forbidden(`${path}.x-kubernetes-embedded-resource`, "must not be used inside of resource meta")]
      : [])
  ]
}

const exclusive = (schema: Json.JsonObject, path: string): Errors => {
  const additional = schema.additionalProperties
  const both = isPresent(additional) && additional !== true && Object.keys(Json.object(schema.properties)).length > 0
  return [
    ...(schema.uniqueItems === true
      ? [
          FieldError.forbidden(
            `${path}.uniqueItems`,
            "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
          )
        ]
      : []),
    ...(both
      ? [
          FieldError.forbidden(
            `${path}.additionalProperties`,
            "additionalProperties and properties are mutual exclusive"
          )
        ]
      : [])
  ]
}

const reasons = ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"]

const hasNewlines = (text: string): boolean => /[\n\r]/.test(text)

const ofRules = (schema: Json.JsonObject, path: string): Errors =>
  Json.objects(schema["x-kubernetes-validations"]).flatMap((rule, index) =>
    ofRule(rule, schema, `${path}.x-kubernetes-validations[${index}]`)
  )

const ofRule = (rule: Json.JsonObject, schema: Json.JsonObject, path: string): Errors => {
  const text = (name: string) => Json.text(rule[name]) ?? ""
  const blank = (name: string) => text(name) !== "" && text(name).trim() === ""
  const reason = Json.text(rule.reason)
  const fieldPath = text("fieldPath")
  return [
    ...ofTexts(text("rule").trim(), text("message"), path),
    ...(blank("messageExpression")
      ? [FieldError.required(`${path}.messageExpression`, "messageExpression must be non-empty if specified")]
      : []),
    ...(reason !== undefined && !reasons.includes(reason)
      ? [FieldError.notSupported(`${path}.reason`, reason, reasons)]
      : []),
    ...(blank("fieldPath")
      ? [FieldError.invalid(`${path}.fieldPath`, fieldPath, "must be non-empty if specified")]
      : []),
    ...(hasNewlines(fieldPath)
      ? [FieldError.invalid(`${path}.fieldPath`, fieldPath, "must not contain line breaks")]
      : []),
    ...(fieldPath !== "" && "problem" in FieldPath.parse(fieldPath, StructuralSchema.schemaOf(schema))
      ? [FieldError.invalid(`${path}.fieldPath`, fieldPath, "must be a valid path")]
      : [])
  ]
}

const ofTexts = (rule: string, message: string, path: string): Errors => {
  const trimmed = message.trim()
  if (rule === "") return [FieldError.required(`${path}.rule`, "rule is not specified")]
  if (message !== "" && trimmed === "") {
    return [FieldError.invalid(`${path}.message`, message, "must be non-empty if specified")]
  }
  if (hasNewlines(trimmed)) return [FieldError.invalid(`${path}.message`, message, "must not contain line breaks")]
  if (!hasNewlines(rule) || trimmed !== "") return []
  return [FieldError.required(`${path}.message`, "message must be specified if rule contains line breaks")]
}

const compiled = (schema: Json.JsonObject, position: Position): Errors => {
  const rules = Json.objects(schema["x-kubernetes-validations"])
  const { path, typed } = position
  if (rules.length === 0 || typed === undefined) return []
  const type = typed.types.of(typed.schema)
  if (type === undefined) {
    const detail = "internal error: failed to retrieve type information for x-kubernetes-validations"
    return [FieldError.make("InternalError", `${path}.x-kubernetes-validations`, undefined, detail)]
  }
  return compiledRules(rules, typed, type, position)
}

const compiledRules = (rules: ReadonlyArray<Json.JsonObject>, typed: Typed, type: Type, position: Position): Errors =>
  Rules.compileAt(typed.schema, type, typed.types).flatMap((compiled, index) => {
    const { message, program, rule } = compiled
    const path = `${position.path}.x-kubernetes-validations[${index}]`
    const shown = shownRule(rules[index] ?? {})
    if ("problem" in program)
      return [FieldError.invalid(`${path}.rule`, shown, `compilation failed: ${program.problem}`)]
    if (program.type !== "bool")
      return [FieldError.invalid(`${path}.rule`, shown, "cel expression must evaluate to a bool")]
    const declared = Declared.of(typed.schema, position.root || typed.schema["x-kubernetes-embedded-resource"] === true)
    return [
      ...(declared === undefined ? [] : typed.costs.add(path, compiled, { declared, values: typed.values })),
      ...ofMessage(message, `${path}.messageExpression`, shown),
      ...ofOldSelf(program.usesOldSelf, rule.rule, rule.optionalOldSelf, path, position.uncorrelated)
    ]
  })

const ofMessage = (message: Rules.Compiled["message"], path: string, shown: Json.Json): Errors => {
  if (message === undefined) return []
  if ("problem" in message) {
    return [FieldError.invalid(path, shown, `messageExpression compilation failed: ${message.problem}`)]
  }
  return message.type === "string"
    ? []
    : [FieldError.invalid(path, shown, "messageExpression must evaluate to a string")]
}

const ofOldSelf = (
  used: boolean,
  rule: string,
  optional: boolean | undefined,
  path: string,
  uncorrelated: string | undefined
): Errors => {
  if (used && uncorrelated !== undefined) {
    const detail = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${uncorrelated}`
    return [FieldError.invalid(`${path}.rule`, rule, detail)]
  }
  if (used || optional === undefined) return []
  return [FieldError.invalid(`${path}.optionalOldSelf`, optional, "may not be set if oldSelf is not used in rule")]
}
