/**
 * The validation rules of a schema (`x-kubernetes-validations`). The server compiles them once and evaluates them at every write.
 * A rule belongs to a part of the schema and applies to each value of that part. The server evaluates a rule with `oldSelf` only if
 * the old object has the same part, or if the rule sets `optionalOldSelf`.
 */
import { Optional } from "@marcbachmann/cel-js"
import * as FieldError from "../../model/FieldError.ts"
import * as Json from "../../model/Json.ts"
import type { Rule, Schema } from "../../model/Schema.ts"
import { type Correlation, itemLike } from "../crd/Correlation.ts"
import * as FieldPath from "../crd/FieldPath.ts"
import * as StructuralSchema from "../crd/StructuralSchema.ts"
import * as Budget from "./cost/Budget.ts"
import * as CostLimits from "./cost/CostLimits.ts"
import * as Declared from "./cost/Declared.ts"
import { type Type, Types } from "./DeclTypes.ts"
import * as Expression from "./Expression.ts"

/** The compiled rules of a schema and of all schemas inside it. */
export interface Rules {
  /** True if the schema has no rules. */
  readonly none: boolean
  /** Returns the errors of the rules that a value breaks. For an unchanged value, a rule without `oldSelf` only warns. */
  readonly check: (
    value: Json.Json,
    old: Json.Json | undefined,
    options?: Options
  ) => ReadonlyArray<FieldError.FieldError>
}

/** The path of the value in errors, its correlation with the old value, and the receiver of warnings. */
export interface Options {
  readonly path?: string | undefined
  readonly before?: Correlation | undefined
  readonly warn?: ((text: string) => void) | undefined
}

/** A rule with its compiled expressions, or with the errors of the compiler. */
export interface Compiled {
  readonly rule: Rule
  readonly program: Expression.Program | { readonly problem: string }
  readonly message: Expression.Program | { readonly problem: string } | undefined
}

/** Compiles all rules of a schema. With `root`, rules at the root see the apiVersion, kind and metadata of a resource. */
export const compile = (schema: Schema, { root = true } = {}): Rules => {
  if (!hasRules(schema)) return { none: true, check: () => [] }
  const node = nodeOf(schema, new Types(Expression.environment()), root)
  return {
    none: node === undefined,
    check: (value, old, { before, path, warn = () => undefined } = {}) => {
      if (node === undefined) return []
      const part = { value, old, path, current: before, nearest: undefined }
      const evaluated = (budget: Budget.Budget) => {
        const warnings: Array<string> = []
        const errors = [...broken(node, part, budget, (text) => warnings.push(text))]
        return budget.isEnough() ? { errors, warnings } : undefined
      }
      // Counting the costs takes longer, so it happens only if the sum of the estimates exceeds the limit.
      const { errors, warnings } = evaluated(Budget.estimated()) ?? evaluated(Budget.counted()) ?? nothing
      for (const text of warnings) warn(text)
      return errors
    }
  }
}

const nothing = { errors: [], warnings: [] }

/** Compiles the rules at one part of a schema. `type` is the type of this part. `types` holds the types of the whole schema. */
export const compileAt = (schema: Schema, type: Type, types: Types): ReadonlyArray<Compiled> => {
  const plain = types.environment.clone().registerVariable("self", type.name)
  const optional = plain.clone().registerVariable("oldSelf", `optional<${type.name}>`)
  const certain = plain.clone().registerVariable("oldSelf", type.name)
  return (schema["x-kubernetes-validations"] ?? []).map((rule) => {
    const env = rule.optionalOldSelf === true ? optional : certain
    const program = Expression.compile(env, rule.rule)
    const { messageExpression = "" } = rule
    const wanted = messageExpression !== "" && !("problem" in program)
    return { rule, program, message: wanted ? Expression.compile(env, messageExpression) : undefined }
  })
}

/** Whether a schema, or a schema inside it, has rules. */
const hasRules = (schema: Schema): boolean =>
  schema["x-kubernetes-validations"] !== undefined ||
  Object.values(schema.properties ?? {}).some(hasRules) ||
  (schema.items !== undefined && hasRules(schema.items)) ||
  (typeof schema.additionalProperties === "object" && hasRules(schema.additionalProperties))

/** A part of a schema that has rules, or that contains parts with rules. */
interface Node {
  /** Whether one of the rules of this part uses `oldSelf`. */
  readonly usesOldSelf: boolean
  readonly schema: Schema
  /** The sizes that the schema allows for values of this part. The estimates of costs depend on them. */
  readonly declared: () => Declared.Declared | undefined
  readonly type: Type
  readonly rules: ReadonlyArray<Compiled>
  readonly items: Node | undefined
  readonly values: Node | undefined
  readonly properties: ReadonlyMap<string, Node>
}

const nodeOf = (schema: Schema, types: Types, root?: boolean): Node | undefined => {
  if (!hasRules(schema)) return undefined
  // Declaring the whole first also declares its parts, so that the parts share these types.
  const type = root === undefined ? types.of(schema) : types.of(schema, root)
  if (type === undefined) return undefined
  const properties = new Map<string, Node>()
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const node = nodeOf(property, types)
    if (node !== undefined) properties.set(name, node)
  }
  const values = StructuralSchema.valuesOf(schema)
  const rules = schema["x-kubernetes-validations"] === undefined ? [] : compileAt(schema, type, types)
  return {
    schema,
    declared: () => (root === undefined ? Declared.of(schema) : Declared.of(schema, root)),
    type,
    rules,
    usesOldSelf: rules.some(({ program }) => "usesOldSelf" in program && program.usesOldSelf),
    items: schema.items === undefined ? undefined : nodeOf(schema.items, types),
    values: values === undefined ? undefined : nodeOf(values, types),
    properties
  }
}

/** A part of an object, with the same part of the old object. */
interface Part {
  readonly value: Json.Json
  readonly old: Json.Json | undefined
  readonly path: string | undefined
  /** The correlation of this part with its old value, if an old value is known. */
  readonly current: Correlation | undefined
  /** The correlation of the nearest enclosing part with a known old value. */
  readonly nearest: Correlation | undefined
}

function* broken(
  node: Node,
  part: Part,
  budget: Budget.Budget,
  warn: (text: string) => void
): Iterable<FieldError.FieldError> {
  const { path = "", value } = part
  if (value === null || budget.isOver()) return
  yield* brokenHere(node, part, budget, warn)
  if (Json.isList(value) && node.items !== undefined) {
    for (const [index, item] of value.entries()) {
      const old = itemLike(node.schema, part.old, item)
      const around = part.current === undefined ? part : { current: part.current.index(index), nearest: part.current }
      yield* broken(
        node.items,
        { value: item, old, path: `${path}[${index}]`, current: around.current, nearest: around.nearest },
        budget,
        warn
      )
    }
  }
  if (!Json.isObject(value) || (node.values === undefined && node.properties.size === 0)) return
  for (const name in value) {
    const named = node.properties.get(name)
    const child = named ?? node.values
    const member = value[name]
    if (child === undefined || member === undefined) continue
    const at = named === undefined ? `${path}[${name}]` : path === "" ? name : `${path}.${name}`
    yield* broken(
      child,
      { value: member, old: Json.at(part.old, name), path: at, ...memberOf(part, name) },
      budget,
      warn
    )
  }
}

const memberOf = ({ current, nearest }: Part, name: string): Pick<Part, "current" | "nearest"> => {
  if (current === undefined) return { current, nearest }
  // Both objects were converted to one version, so a change of apiVersion or kind cannot be detected.
  if (nearest === undefined && (name === "apiVersion" || name === "kind"))
    return { current: undefined, nearest: undefined }
  return { current: current.key(name), nearest: current }
}

const isUnchanged = ({ current, nearest }: Part): boolean => (current ?? nearest)?.same === true

function* brokenHere(
  node: Node,
  part: Part,
  budget: Budget.Budget,
  warn: (text: string) => void
): Iterable<FieldError.FieldError> {
  if (node.rules.length === 0) return
  const { old, path, value } = part
  const type = node.schema.type ?? (path === undefined ? "object" : "")
  const self = node.type.valueOf(value)
  const before = !node.usesOldSelf || old === undefined || old === null ? undefined : node.type.valueOf(old)
  for (const { message, program, rule } of node.rules) {
    if ("problem" in program) {
      yield FieldError.make("FieldValueInvalid", path, type, `rule compile error: ${program.problem}`)
      continue
    }
    if (program.usesOldSelf && before === undefined && rule.optionalOldSelf !== true) continue
    const context = { self, oldSelf: rule.optionalOldSelf === true ? Optional.of(before) : before }
    const result = budget.evaluate(program, node.declared, context)
    if (result === undefined) {
      yield FieldError.make("FieldValueInvalid", path, type, CostLimits.exhausted)
      return
    }
    if ("problem" in result && result.problem === CostLimits.cancelled) {
      const detail = `'${CostLimits.cancelled}': no further validation rules will be run due to call cost exceeds limit for rule: ${shown(rule)}`
      yield FieldError.make("FieldValueInvalid", path, type, detail)
      return
    }
    if ("problem" in result) {
      yield FieldError.make("FieldValueInvalid", path, type, failed(result.problem, rule))
      continue
    }
    if (result.value === true) continue
    const custom = messageOf(message, node, budget, context)
    if (custom !== undefined && typeof custom !== "string") {
      yield FieldError.make("FieldValueInvalid", path, type, custom.problem(rule.messageExpression ?? ""))
      return
    }
    const error = errorOf(node.schema, part, rule, custom ?? messageOrDefault(rule))
    if (!program.usesOldSelf && isUnchanged(part)) warn(FieldError.sentence(error))
    else yield error
  }
}

const failed = (problem: string, rule: Rule): string =>
  problem.startsWith("no such overload")
    ? `'${problem}': call arguments did not match a supported operator, function or macro signature for rule: ${shown(rule)}`
    : `${problem} evaluating rule: ${shown(rule)}`

const shown = ({ message = "", rule }: Rule): string => (message === "" ? rule : message).trim()

const messageOrDefault = (rule: Rule): string =>
  (rule.message ?? "") === "" ? `failed rule: ${shown(rule)}` : shown(rule)

/**
 * Returns the text of a message expression. Returns undefined if the expression fails, or if its text is empty, has line breaks or
 * exceeds 5120 bytes. Returns a `problem` if the expression exceeds a cost limit.
 */
const messageOf = (
  message: Compiled["message"],
  { declared }: Node,
  budget: Budget.Budget,
  context: Expression.Context
): string | { readonly problem: (source: string) => string } | undefined => {
  if (message === undefined || "problem" in message) return undefined
  const result = budget.evaluate(message, declared, context)
  if (result === undefined) return { problem: () => exhaustedMessage }
  if ("problem" in result && result.problem === CostLimits.cancelled) return { problem: cancelledMessage }
  if ("problem" in result || typeof result.value !== "string") return undefined
  const text = result.value.trim()
  return text === "" || text.includes("\n") || Buffer.byteLength(text) > 5120 ? undefined : text
}

const exhaustedMessage =
  "messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run"

const cancelledMessage = (source: string): string =>
  `no further validation rules will be run due to call cost exceeds limit for messageExpression: ${JSON.stringify(source)}`

const errorOf = (schema: Schema, { path, value }: Part, rule: Rule, detail: string): FieldError.FieldError => {
  const parsed = rule.fieldPath === undefined ? undefined : FieldPath.parse(rule.fieldPath, schema)
  const sub = parsed !== undefined && "path" in parsed ? parsed.path : undefined
  const field = sub === undefined ? path : path === undefined ? sub : `${path}.${sub}`
  const isWhole = Json.isObject(value) || Json.isList(value)
  switch (rule.reason) {
    case "FieldValueForbidden":
      return FieldError.make("FieldValueForbidden", field, undefined, detail)
    case "FieldValueRequired":
      return FieldError.make("FieldValueRequired", field, undefined, detail)
    case "FieldValueDuplicate":
      // The error does not show whole objects and lists.
      return isWhole
        ? { reason: "FieldValueDuplicate", field, message: "Duplicate value" }
        : FieldError.make("FieldValueDuplicate", field, value)
    default:
      return isWhole
        ? { reason: "FieldValueInvalid", field, message: `Invalid value: ${detail}` }
        : FieldError.make("FieldValueInvalid", field, value, detail)
  }
}
