/**
 * Compares two structural schemas: a value that was valid may become invalid or lose a part. Rules and patterns are compared as text,
 * because it is undecidable which one accepts more. A rule may also test whether a field exists that the old schema requires. It does
 * not check whether a CEL rule accepts a new default.
 *
 * Pure. Schemas are read as plain JSON, because one of them comes from a cluster and may have any content.
 */

/** One difference that narrows a schema. */
export interface Finding {
  /** The path in words: `spec.env[].name`, `spec.labels.*`; empty for the value itself. */
  readonly field: string
  /** The text after the field: `is gone: what it holds would be pruned`. */
  readonly problem: string
}

/** The problem of a field that the new schema lacks. */
export const gone = "is gone: what it holds would be pruned"

type Node = Readonly<Record<string, unknown>>

const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null && !Array.isArray(value)

const nodeOf = (value: unknown): Node => (isNode(value) ? value : {})

const numberAt = (node: Node, key: string): number | undefined => {
  const value = node[key]
  return typeof value === "number" ? value : undefined
}

const listAt = (node: Node, key: string): ReadonlyArray<unknown> => {
  const value = node[key]
  return Array.isArray(value) ? value : []
}

const namesAt = (node: Node, key: string): ReadonlyArray<string> => listAt(node, key).map(String)

const text = (value: unknown): string => JSON.stringify(value)

/** Both schemas of the same value, with its path. */
interface Pair {
  readonly from: Node
  readonly to: Node
  readonly field: string
  /** Whether an enclosing value has conditions (`oneOf` and the like), which may concern this part too. */
  readonly isConditioned: boolean
}

const below = (field: string, name: string): string => (field === "" ? name : `${field}.${name}`)

/**
 * The differences that narrow `from` to `to`, in the order of the fields of `from`. Empty: every valid value stays valid and
 * unchanged.
 */
export const between = (from: unknown, to: unknown): ReadonlyArray<Finding> =>
  compare({ from: nodeOf(from), to: nodeOf(to), field: "", isConditioned: false })

const compare = (pair: Pair): ReadonlyArray<Finding> => {
  const types = typeFindings(pair)
  // With another type, other differences do not matter.
  if (types.length > 0) return types
  return [
    ...valueFindings(pair),
    ...boundFindings(pair),
    ...ruleFindings(pair),
    ...listFindings(pair),
    ...objectFindings(pair)
  ]
}

const all = ["array", "boolean", "integer", "number", "object", "string"]

/** The possible types of a value; an integer is a number too. */
const typesOf = (node: Node): ReadonlyArray<string> => {
  if (node["x-kubernetes-int-or-string"] === true) return ["integer", "string"]
  const { type } = node
  return typeof type !== "string" || type === "" ? all : type === "number" ? ["integer", "number"] : [type]
}

const typeName = (node: Node): string => {
  const types = typesOf(node)
  return types === all ? "anything" : types.includes("number") ? "number" : types.join(" or ")
}

const typeFindings = ({ field, from, to }: Pair): ReadonlyArray<Finding> => {
  const taken = typesOf(to)
  return typesOf(from).every((type) => taken.includes(type))
    ? []
    : [{ field, problem: `was ${typeName(from)} and is ${typeName(to)}: other values would be refused` }]
}

const valueFindings = ({ field, from, to }: Pair): ReadonlyArray<Finding> => {
  const found: Array<Finding> = []
  if (from.nullable === true && to.nullable !== true) {
    found.push({ field, problem: "may no longer be null: it would be refused, or its default stand there" })
  }
  const values = listAt(to, "enum")
  if (values.length > 0) {
    const former = listAt(from, "enum")
    const gone = former.filter((value) => !values.some((other) => Bun.deepEquals(value, other, true)))
    if (former.length === 0 && !(from.type === "boolean" && values.includes(true) && values.includes(false))) {
      found.push({ field, problem: `takes nothing but ${values.map(text).join(", ")} now` })
    }
    if (gone.length > 0) found.push({ field, problem: `no longer takes ${gone.map(text).join(", ")}` })
  }
  return found
}

/** The units of bounds, in words. */
const units = { Length: "characters", Items: "items", Properties: "properties" } as const

/** For whole numbers the last valid value; otherwise the bound, and whether it is exclusive. */
const boundOf = (node: Node, key: "minimum" | "maximum", isWhole: boolean) => {
  const value = numberAt(node, key)
  const isOutside = node[key === "minimum" ? "exclusiveMinimum" : "exclusiveMaximum"] === true
  if (value === undefined || !isWhole) return { value, isOutside }
  const last = key === "minimum" ? Math.ceil(value) : Math.floor(value)
  const next = key === "minimum" ? last + 1 : last - 1
  return { value: isOutside && last === value ? next : last, isOutside: false }
}

/** Whether the new bound accepts less; `sign` is 1 for a minimum and -1 for a maximum. */
const isCloser = (pair: Pair, key: "minimum" | "maximum", sign: 1 | -1): boolean => {
  const isWhole = !typesOf(pair.from).includes("number")
  const [bound, before] = [boundOf(pair.to, key, isWhole), boundOf(pair.from, key, isWhole)]
  if (bound.value === undefined) return false
  if (before.value === undefined) return true
  return bound.value === before.value ? bound.isOutside && !before.isOutside : (bound.value - before.value) * sign > 0
}

/** Whether multiples of `value` are multiples of `step`, despite rounded fractions. */
const isMultiple = (value: number, step: number): boolean => {
  const quotient = value / step
  return Math.abs(quotient - Math.round(quotient)) < 1e-9
}

const boundFindings = (pair: Pair): ReadonlyArray<Finding> => {
  const { field, from, to } = pair
  const found: Array<Finding> = []
  const report = (problem: string): void => void found.push({ field, problem })
  const was = (bound: number | undefined): string => (bound === undefined ? "nothing was asked for" : `${bound} was`)

  const [least, most] = [numberAt(to, "minimum"), numberAt(to, "maximum")]
  if (least !== undefined && isCloser(pair, "minimum", 1)) {
    const how = to.exclusiveMinimum === true ? "more than" : "at least"
    report(`must be ${how} ${least} now, where ${was(numberAt(from, "minimum"))}`)
  }
  if (most !== undefined && isCloser(pair, "maximum", -1)) {
    const how = to.exclusiveMaximum === true ? "less than" : "at most"
    report(`must be ${how} ${most} now, where ${was(numberAt(from, "maximum"))}`)
  }
  for (const [what, unit] of Object.entries(units)) {
    const [min, minBefore] = [numberAt(to, `min${what}`) ?? 0, numberAt(from, `min${what}`) ?? 0]
    if (min > minBefore) report(`must have at least ${min} ${unit} now, where ${minBefore} were enough`)
    const [max, maxBefore] = [numberAt(to, `max${what}`), numberAt(from, `max${what}`)]
    if (max !== undefined && (maxBefore === undefined || max < maxBefore)) {
      report(`may have at most ${max} ${unit} now, where ${maxBefore ?? "any number"} were allowed`)
    }
  }
  const step = numberAt(to, "multipleOf")
  const stepBefore = numberAt(from, "multipleOf") ?? (typesOf(from).includes("number") ? undefined : 1)
  if (step !== undefined && (stepBefore === undefined || !isMultiple(stepBefore, step))) {
    report(`must be a multiple of ${step} now`)
  }
  if (to.pattern !== undefined && to.pattern !== "" && to.pattern !== from.pattern) {
    report(
      `must match ${text(to.pattern)} now, where ${from.pattern === undefined ? "nothing" : text(from.pattern)} was asked for`
    )
  }
  const { format } = to
  if (typeof format === "string" && format !== "" && format !== from.format && !holds(format, from)) {
    report(
      `must have the format ${format} now, where ${from.format === undefined ? "none" : String(from.format)} was asked for`
    )
  }
  return found
}

/** Whether a format accepts all valid values: an integer has 64 bits, and one within bounds may need fewer. */
const holds = (format: string, from: Node): boolean => {
  if (format === "int64") return from.type === "integer"
  if (format !== "int32") return false
  const [least, most] = [numberAt(from, "minimum"), numberAt(from, "maximum")]
  return least !== undefined && most !== undefined && least >= -(2 ** 31) && most < 2 ** 31
}

const ruleFindings = (pair: Pair): ReadonlyArray<Finding> => {
  const { field, from, to } = pair
  const found: Array<Finding> = []
  // A rule with `oldSelf` that also runs on creation is stricter.
  const keyOf = (rule: unknown, expression: unknown): string =>
    text([expression, nodeOf(rule).optionalOldSelf === true])
  const former = listAt(from, "x-kubernetes-validations").map((rule) => keyOf(rule, nodeOf(rule).rule))
  const required = namesAt(from, "required")
  for (const rule of listAt(to, "x-kubernetes-validations")) {
    const expression = String(nodeOf(rule).rule)
    const simple = withRequired(withoutField(expression, pair), required)
    if (simple !== "true" && ![expression, simple].some((each) => former.includes(keyOf(rule, each)))) {
      found.push({ field, problem: `has a rule that was not there, or not so: ${expression}` })
    }
  }
  const demands = listAt(to, "allOf").filter(
    (one) => !listAt(from, "allOf").some((other) => Bun.deepEquals(one, other, true))
  )
  if (demands.length > 0) found.push({ field, problem: "has conditions (allOf) that were not there, or not so" })
  for (const key of ["anyOf", "oneOf", "not"]) {
    if (to[key] !== undefined && !Bun.deepEquals(to[key], from[key], true)) {
      found.push({ field, problem: `has conditions (${key}) that were not there, or not so` })
    }
  }
  return found
}

/**
 * A rule for objects without a new field: of `has(self.field) ? … : (rule)`, the part in parentheses. The server has pruned the field of
 * all stored objects.
 */
const withoutField = (rule: string, { from, to }: Pair): string => {
  const [, field = "", other] = /^has\(self\.([A-Za-z]+)\) \? [^?:]+ : \((.+)\)$/.exec(rule) ?? []
  const isNew = nodeOf(from.properties)[field] === undefined && !keepsUnknown(from)
  return other !== undefined && isNew && nodeOf(nodeOf(to.properties)[field]).default === undefined ? other : rule
}

/**
 * A rule for objects that have these fields: without the tests for them that begin a conjunction, and `true` for a rule that only
 * keeps a field from being added or removed.
 */
const withRequired = (rule: string, required: ReadonlyArray<string>): string =>
  required
    .filter((field) => /^[A-Za-z]+$/.test(field))
    .reduce(
      (text, field) =>
        text === `has(self.${field}) == has(oldSelf.${field})`
          ? "true"
          : text.replaceAll(new RegExp(`(^|\\(|\\|\\| |&& )has\\(self\\.${field}\\) && `, "g"), "$1"),
      rule
    )

const listFindings = (pair: Pair): ReadonlyArray<Finding> => {
  const { field, from, to } = pair
  const found: Array<Finding> = []
  const kindOf = (node: Node): string => String(node["x-kubernetes-list-type"] ?? "atomic")
  const keysOf = (node: Node): ReadonlyArray<string> => namesAt(node, "x-kubernetes-list-map-keys").toSorted()
  const [kind, before] = [kindOf(to), kindOf(from)]
  if (kind !== before && kind !== "atomic") {
    found.push({
      field,
      problem: `is a list of type ${kind}, where it was ${before}: one with repetitions would be refused`
    })
  } else if (kind === "map" && !keysOf(from).every((key) => keysOf(to).includes(key))) {
    // An additional key distinguishes more items. Whether each item has it is another difference: the key is required or has a
    // default.
    found.push({
      field,
      problem: `is a map by ${keysOf(to).join(", ")}, where it was one by ${keysOf(from).join(", ")}: others repeat themselves`
    })
  }
  if (to.items === undefined && (from.items === undefined || keepsUnknown(to))) return found
  const isConditioned = isBelowConditions(pair)
  return [...found, ...compare({ from: nodeOf(from.items), to: nodeOf(to.items), field: `${field}[]`, isConditioned })]
}

/** Whether fields that the schema does not declare are kept, with all their content. */
const keepsUnknown = (node: Node): boolean => node["x-kubernetes-preserve-unknown-fields"] === true

/** The schema of a map's values. `true` accepts every value and keeps nothing inside of objects, like an empty schema. */
const valuesOf = (node: Node): Node | undefined => {
  const { additionalProperties } = node
  return additionalProperties === true ? {} : isNode(additionalProperties) ? additionalProperties : undefined
}

/** Whether there are conditions on any part of a value; the items of a set must differ. */
const isConditional = (node: Node): boolean =>
  node["x-kubernetes-list-type"] === "set" ||
  ["anyOf", "oneOf", "not", "allOf", "enum"].some((key) => node[key] !== undefined)

const isBelowConditions = ({ isConditioned, to }: Pair): boolean => isConditioned || isConditional(to)

/** The fields of every Kubernetes object, declared in the schema or not. */
const everywhere: ReadonlySet<string> = new Set(["apiVersion", "kind", "metadata"])

const objectFindings = (pair: Pair): ReadonlyArray<Finding> => {
  const { field, from, to } = pair
  const found: Array<Finding> = []
  const isObject = field === "" || to["x-kubernetes-embedded-resource"] === true
  const implied = (name: string): boolean => isObject && everywhere.has(name)
  const [properties, former] = [nodeOf(to.properties), nodeOf(from.properties)]
  const [values, valuesBefore] = [valuesOf(to), valuesOf(from)]
  const isConditioned = isBelowConditions(pair)
  const compareAt = (at: string, before: unknown, after: unknown): void =>
    void found.push(...compare({ from: nodeOf(before), to: nodeOf(after), field: at, isConditioned }))

  if (isObject && field !== "" && from["x-kubernetes-embedded-resource"] !== true) {
    found.push({ field, problem: "must be a whole object now, with apiVersion and kind" })
  }
  for (const [name, schema] of Object.entries(former)) {
    if (implied(name)) continue
    const next = Object.hasOwn(properties, name) ? properties[name] : values
    const at = below(field, name)
    if (next !== undefined) compareAt(at, schema, next)
    else if (!keepsUnknown(to)) {
      found.push({ field: at, problem: gone })
    }
  }
  for (const [name, schema] of Object.entries(properties)) {
    const at = below(field, name)
    if (Object.hasOwn(former, name) || implied(name)) continue
    if (valuesBefore !== undefined) compareAt(at, valuesBefore, schema)
    else if (keepsUnknown(from) && !keepsAll(schema)) {
      found.push({ field: at, problem: "was kept whatever it was, and is checked and pruned now" })
    }
  }
  if (isObject) found.push(...metadataFindings(former.metadata, properties.metadata, below(field, "metadata")))
  const isNamedOnly = values === undefined && !keepsUnknown(to)
  if (valuesBefore !== undefined && values !== undefined) {
    compareAt(below(field, "*"), valuesBefore, values)
  } else if (valuesBefore !== undefined && isNamedOnly) {
    found.push({ field: below(field, "*"), problem: "is gone: entries of other names would be pruned" })
  } else if (keepsUnknown(from) && isNamedOnly) {
    found.push({ field, problem: "no longer keeps fields that it does not name: they would be pruned" })
  } else if (keepsUnknown(from) && values !== undefined && !keepsAll(values)) {
    found.push({ field: below(field, "*"), problem: "was kept whatever it was, and is checked and pruned now" })
  } else if (from["x-kubernetes-embedded-resource"] === true && !isObject && isNamedOnly) {
    found.push({ field, problem: "is no longer a whole object: its apiVersion, kind and metadata would be pruned" })
  }

  const needed = namesAt(from, "required")
  for (const [name, schema] of Object.entries(properties)) {
    const [filled, before] = [schema, former[name]].map((node) => nodeOf(node).default ?? null)
    // A field that was required before does not need its default.
    if (before === null && needed.includes(name)) continue
    const isMore = before === null && to.maxProperties !== undefined
    if (filled !== null && (isMore || (isConditioned && !Bun.deepEquals(filled, before, true)))) {
      const what = before === null ? "is filled in now" : "is filled in with something else now"
      found.push({ field: below(field, name), problem: `${what}, which the conditions around it may not take` })
    }
  }

  const fills = (node: unknown): boolean => (nodeOf(node).default ?? null) !== null
  for (const name of namesAt(to, "required")) {
    // The default is added when the object is read.
    if (fills(properties[name])) continue
    const at = below(field, name)
    if (!needed.includes(name)) found.push({ field: at, problem: "is required now, and was not" })
    else if (fills(former[name])) found.push({ field: at, problem: "is required, and no longer has a default" })
  }
  return found
}

/** A schema can only restrict the name in metadata; the server handles all other fields. */
const metadataFindings = (before: unknown, after: unknown, field: string): ReadonlyArray<Finding> => {
  const former = nodeOf(nodeOf(before).properties)
  return Object.entries(nodeOf(nodeOf(after).properties)).flatMap(([name, schema]) =>
    compare({
      from: { type: "string", ...nodeOf(former[name]) },
      to: nodeOf(schema),
      field: below(field, name),
      isConditioned: false
    })
  )
}

/** Whether a schema accepts every value and keeps all of it. */
const keepsAll = (schema: unknown): boolean => {
  const from = { "x-kubernetes-preserve-unknown-fields": true }
  return compare({ from, to: nodeOf(schema), field: "*", isConditioned: false }).length === 0
}
