/**
 * Parses and evaluates label selectors: the text of `?labelSelector=`, and the LabelSelector of objects. The syntax and the
 * errors are those of apimachinery's `labels`.
 */

import * as Failure from "../model/Failure.ts"
import * as FieldError from "../model/FieldError.ts"
import * as Format from "../model/Format.ts"
import * as Json from "../model/Json.ts"

/** The operator of a requirement. `gt` and `lt` are written `>` and `<`. */
export type Operator = "in" | "notin" | "=" | "==" | "!=" | "gt" | "lt" | "exists" | "!"

/** A requirement on one label. */
export interface Requirement {
  readonly key: string
  readonly operator: Operator
  readonly values: ReadonlyArray<string>
}

/** A selector: an object matches if it meets all requirements. */
export type Selector = ReadonlyArray<Requirement>

/** The labels of an object. */
export interface Labels {
  readonly [key: string]: string
}

/** Matches no object, like a missing LabelSelector. */
export const nothing: Selector = [{ key: "", operator: "in", values: [] }]

/** Parses a selector: `a=b,c!=d,e in (f,g),h notin (i),j,!k,l>1,m<2`. Throws a Failure (400) if it is malformed. */
export const parse = (text: string): Selector => {
  const tokens = tokensOf(text)
  const requirements: Array<Requirement> = []
  while (tokens.next() !== undefined) {
    if (!isIdentifier(tokens.next()) && tokens.next() !== "!") {
      throw malformed(`found '${tokens.next()}', expected: !, identifier, or 'end of string'`)
    }
    requirements.push(requirement(tokens))
    const separator = tokens.take()
    if (separator === undefined) break
    if (separator !== ",") throw malformed(`found '${separator}', expected: ',' or 'end of string'`)
    const following = tokens.next()
    if (!isIdentifier(following) && following !== "!") {
      throw malformed(`found '${following ?? ""}', expected: identifier after ','`)
    }
  }
  return requirements
}

/** Converts a LabelSelector. An empty one matches every object, a missing one matches none. Throws a Failure (400) if it is invalid. */
export const ofLabelSelector = (selector: Json.Json | undefined): Selector => {
  if (!Json.isObject(selector)) return nothing
  const ofLabels = Object.entries(Json.texts(selector.matchLabels)).map(([key, value]) => checked(key, "=", [value]))
  const ofExpressions = Json.objects(selector.matchExpressions).map((expression) =>
    checked(
      Json.text(expression.key) ?? "",
      operatorOf(Json.text(expression.operator) ?? ""),
      Json.list(expression.values).filter((value) => typeof value === "string")
    )
  )
  return [...ofLabels, ...ofExpressions]
}

/** Converts a map of labels, as in Services and ReplicationControllers. A missing map matches no object. */
export const ofMap = (labels: Json.Json | undefined): Selector =>
  Json.isObject(labels)
    ? Object.entries(Json.texts(labels)).map(([key, value]) => ({ key, operator: "=", values: [value] }))
    : nothing

/** Reports whether an object with these labels matches. */
export const matches = (selector: Selector, labels: Labels): boolean =>
  selector.every((requirement) =>
    holds(requirement, Object.hasOwn(labels, requirement.key) ? labels[requirement.key] : undefined)
  )

/** Formats a selector as Kubernetes does: sorted by key, with the values of each set sorted. */
export const format = (selector: Selector): string =>
  selector
    .toSorted((one, other) => compare(one.key, other.key))
    .map(({ key, operator, values }) => {
      const [value = ""] = values
      switch (operator) {
        case "exists":
          return key
        case "!":
          return `!${key}`
        case "in":
        case "notin":
          return `${key} ${operator} (${values.toSorted(compare).join(",")})`
        case "gt":
          return `${key}>${value}`
        case "lt":
          return `${key}<${value}`
        default:
          return `${key}${operator}${value}`
      }
    })
    .join(",")

const holds = ({ operator, values }: Requirement, label: string | undefined): boolean => {
  switch (operator) {
    case "exists":
      return label !== undefined
    case "!":
      return label === undefined
    case "in":
    case "=":
    case "==":
      return label !== undefined && values.includes(label)
    case "notin":
    case "!=":
      return label === undefined || !values.includes(label)
    case "gt":
    case "lt": {
      const [actual, limit] = [integer(label), integer(values[0])]
      if (actual === undefined || limit === undefined) return false
      return operator === "gt" ? actual > limit : actual < limit
    }
  }
}

/** The tokens of a selector, with one token of lookahead. `undefined` is the end. */
interface Tokens {
  readonly next: () => string | undefined
  readonly take: () => string | undefined
}

const tokensOf = (text: string): Tokens => {
  const tokens = text.match(/==|!=|[=!(),<>]|[^=!(),<> \t\r\n]+/g) ?? []
  let at = 0
  return { next: () => tokens[at], take: () => tokens[at++] }
}

const symbols: ReadonlySet<string | undefined> = new Set([")", ",", "!", "==", "=", ">", "<", "!=", "("])

/** Reports whether the token is a name or a value. `in` and `notin` are names where an operator is not allowed. */
const isIdentifier = (token: string | undefined): token is string => token !== undefined && !symbols.has(token)

const requirement = (tokens: Tokens): Requirement => {
  const negated = tokens.next() === "!"
  if (negated) tokens.take()
  const key = tokens.take()
  if (!isIdentifier(key)) throw unparsable(`found '${key ?? ""}', expected: identifier`)
  const [error] = formatErrors(Format.labelKey, undefined, key)
  if (error !== undefined) throw unparsable(error)
  if (negated) return { key, operator: "!", values: [] }
  if (tokens.next() === undefined || tokens.next() === ",") return { key, operator: "exists", values: [] }
  const operator = binary(tokens.take())
  const values = operator === "in" || operator === "notin" ? set(tokens) : [exact(tokens)]
  return checked(key, operator, values, unparsable)
}

const binary = (token: string | undefined): Operator => {
  switch (token) {
    case "in":
    case "notin":
    case "=":
    case "==":
    case "!=":
      return token
    case ">":
      return "gt"
    case "<":
      return "lt"
    default:
      throw unparsable(`found '${token ?? ""}', expected: in, notin, =, ==, !=, gt, lt`)
  }
}

const exact = (tokens: Tokens): string => {
  if (tokens.next() === undefined || tokens.next() === ",") return ""
  const value = tokens.take()
  if (!isIdentifier(value)) throw unparsable(`found '${value ?? ""}', expected: identifier`)
  return value
}

/** Parses a set of values: `(a,b)`. An omitted value is the empty string. */
const set = (tokens: Tokens): ReadonlyArray<string> => {
  const open = tokens.take()
  if (open !== "(") throw unparsable(`found '${open ?? ""}' expected: '('`)
  const first = tokens.next()
  if (first !== ")" && first !== "," && !isIdentifier(first)) {
    throw unparsable(`found '${first ?? ""}', expected: ',', ')' or identifier`)
  }
  const values = new Set<string>()
  let separated = true
  for (;;) {
    const token = tokens.take()
    if (isIdentifier(token) && separated) {
      values.add(token)
      separated = false
      continue
    }
    if (token !== "," && token !== ")") {
      throw unparsable(`found '${token ?? ""}', expected: ${separated ? "',', or identifier" : "',' or ')'"}`)
    }
    if (separated) values.add("")
    if (token === ")") return [...values].sort(compare)
    separated = true
  }
}

const operatorOf = (operator: string): Operator => {
  switch (operator) {
    case "In":
      return "in"
    case "NotIn":
      return "notin"
    case "Exists":
      return "exists"
    case "DoesNotExist":
      return "!"
    default:
      throw malformed(`${JSON.stringify(operator)} is not a valid label selector operator`)
  }
}

/** Validates the key and the values of a requirement, and returns the requirement. Throws a Failure (400) if they are invalid. */
const checked = (
  key: string,
  operator: Operator,
  values: ReadonlyArray<string>,
  refusal: (message: string) => Failure.Failure = malformed
): Requirement => {
  const errors = [
    ...formatErrors(Format.labelKey, "key", key),
    ...validateCount(operator, values),
    ...values.flatMap((value, index) => formatErrors(Format.labelValue, `values[${index}][${key}]`, value))
  ]
  const [only] = errors
  if (only === undefined) return { key, operator, values }
  throw refusal(errors.length === 1 ? only : `[${[...new Set(errors)].join(", ")}]`)
}

const validateCount = (operator: Operator, values: ReadonlyArray<string>): ReadonlyArray<string> => {
  switch (operator) {
    case "in":
    case "notin":
      return values.length > 0
        ? []
        : [invalid("values", values, "for 'in', 'notin' operators, values set can't be empty")]
    case "exists":
    case "!":
      return values.length === 0
        ? []
        : [invalid("values", values, "values set must be empty for exists and does not exist")]
    case "gt":
    case "lt":
      return values.flatMap((value, index) =>
        integer(value) === undefined
          ? [invalid(`values[${index}]`, value, "for 'Gt', 'Lt' operators, the value must be an integer")]
          : []
      )
    default:
      return []
  }
}

const formatErrors = (format: Format.Format, field: string | undefined, value: string): ReadonlyArray<string> => {
  const wrong = format(value)
  return wrong.length === 0 ? [] : [invalid(field, value, wrong.join("; "))]
}

const invalid = (field: string | undefined, value: Json.Json, detail: string): string =>
  FieldError.sentence(FieldError.make("FieldValueInvalid", field, value, detail))

/** Parses a 64-bit integer; undefined if the text is not one. */
const integer = (text: string | undefined): bigint | undefined => {
  if (text === undefined || !/^[+-]?[0-9]+$/.test(text)) return undefined
  const value = text.startsWith("-") ? -BigInt(text.slice(1)) : BigInt(text.replace("+", ""))
  return BigInt.asIntN(64, value) === value ? value : undefined
}

/** Compares by code units, independent of the locale. */
const compare = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0)

const malformed = (message: string): Failure.Failure => Failure.badRequest(message)

const unparsable = (message: string): Failure.Failure => malformed(`unable to parse requirement: ${message}`)
