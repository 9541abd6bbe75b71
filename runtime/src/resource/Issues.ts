/** Says in one line each why a value does not match its schema. */
import { format } from "effect/Formatter"
import * as AST from "effect/SchemaAST"
import * as SchemaIssue from "effect/SchemaIssue"

/** An invalid part of a value. */
export interface Invalid {
  readonly path: ReadonlyArray<PropertyKey>
  readonly message: string
}

/** The options of a parser whose issues go to {@link issuesOf}: all issues, each with the value. */
export const detailed: AST.ParseOptions = { errors: "all", reportInput: true }

const textOf = (annotations: { readonly [key: string]: unknown } | undefined, key: string): string | undefined => {
  const text = annotations?.[key]
  return typeof text === "string" ? text : undefined
}

/** The last part of the id of one of Effect's own types, such as `effect/schema/Date`. */
const idOf = (ast: AST.Declaration): string | undefined => {
  const representation = ast.annotations?.representation
  const id: unknown =
    typeof representation === "object" && representation !== null ? Reflect.get(representation, "id") : undefined
  return typeof id === "string" ? id.split("/").at(-1) : undefined
}

/** The name of a schema without its checks. */
const baseOf = (ast: AST.AST): string => {
  const given = textOf(ast.annotations, "identifier") ?? textOf(ast.annotations, "title")
  if (given !== undefined) return given
  switch (ast._tag) {
    case "Declaration":
      return idOf(ast) ?? textOf(ast.annotations, "expected") ?? "a declaration"
    case "Literal":
      return format(ast.literal)
    case "Enum":
      return ast.enums.map(([, value]) => format(value)).join(" | ")
    case "Union":
      return ast.types.map(nameOf).join(" | ")
    case "Objects":
    case "ObjectKeyword":
      return "object"
    case "Arrays":
      return "array"
    case "TemplateLiteral":
      return "string"
    default:
      return ast._tag.toLowerCase()
  }
}

const isInt = (check: AST.Check<unknown>): boolean =>
  check._tag === "Filter" ? check.annotations?.representation?.id === "effect/schema/isInt" : check.checks.some(isInt)

/** The name of a schema for a message, such as `string`, `Int` or `"a" | "b"`. */
export const nameOf = (ast: AST.AST): string =>
  AST.resolveIdentifier(ast) ?? AST.resolveTitle(ast) ?? (ast.checks?.some(isInt) ? "Int" : baseOf(ast))

const signs: ReadonlyMap<string, string> = new Map([
  ["a number greater than 0", "a positive number"],
  ["a number greater than or equal to 0", "a non-negative number"],
  ["a number less than 0", "a negative number"],
  ["a number less than or equal to 0", "a non-positive number"]
])

/** The words for an expected value, with its type in place of "a value", which Effect writes. Other words stay. */
const wordsOf = (expected: string, isList: boolean): string => {
  const number = expected
    .replace(/^a value (?=greater than|less than|between)/, "a number ")
    .replace(/^a value that is a multiple of /, "a number divisible by ")
  return (signs.get(number) ?? number)
    .replace(/^a string matching the RegExp /, "a string matching the pattern ")
    .replace(/^a value with a length of (at least |at most |)(\d+)$/, (_, bound: string, length: string) =>
      isList
        ? `an array of ${bound || "exactly "}${length} item(s)`
        : bound === "" && length === "1"
          ? "a single character"
          : `a string ${bound}${length} character(s) long`
    )
    .replace(/^a value with a length between (\d+) and (\d+)$/, (_, least: string, most: string) =>
      isList
        ? `an array of at least ${least} and at most ${most} item(s)`
        : `a string at least ${least} character(s) and at most ${most} character(s) long`
    )
}

const unlike = (expected: string, issue: SchemaIssue.Issue): string =>
  `Expected ${expected}, actual ${format(SchemaIssue.hasInput(issue) ? issue.input : undefined)}`

const messageOf = (issue: SchemaIssue.Leaf): string => {
  switch (issue._tag) {
    case "MissingKey":
      return textOf(issue.annotations, "messageMissingKey") ?? "is missing"
    case "UnexpectedKey":
      return textOf(issue.ast.annotations, "messageUnexpectedKey") ?? "is unexpected"
    case "Forbidden":
      return textOf(issue.annotations, "message") ?? "is forbidden"
    case "InvalidValue":
      return (
        textOf(issue.annotations, "message") ?? unlike(textOf(issue.annotations, "expected") ?? "a valid value", issue)
      )
    case "InvalidType":
      return (
        textOf(issue.ast.annotations, "message") ??
        unlike(textOf(issue.ast.annotations, "expected") ?? baseOf(issue.ast), issue)
      )
    case "OneOf":
      return unlike("exactly one member to match", issue)
  }
}

/** The message of a failed check, or undefined if the check itself says what is wrong where. */
const checkOf = (issue: SchemaIssue.Filter): string | undefined => {
  const { annotations } = issue.filter
  const message = textOf(annotations, "message")
  if (message !== undefined || issue.issue._tag !== "InvalidValue") return message
  const own = textOf(issue.issue.annotations, "message")
  if (own !== undefined) return own
  const expected = textOf(issue.issue.annotations, "expected") ?? textOf(annotations, "expected") ?? "a valid value"
  return unlike(wordsOf(expected, SchemaIssue.hasInput(issue) && Array.isArray(issue.input)), issue)
}

const membersOf = (ast: AST.Union): ReadonlyArray<AST.AST> =>
  ast.types.flatMap((member) => (AST.isUnion(member) ? membersOf(member) : [member]))

/** Messages about a value whose type is that of no member. Those about null and undefined would not help. */
const untried = (issue: SchemaIssue.AnyOf): ReadonlyArray<string> => {
  const members = membersOf(issue.ast)
  const values = members.filter((member) => !AST.isNull(member) && !AST.isUndefined(member))
  return (values.length === 0 ? members : values).map((member) => unlike(baseOf(AST.toEncoded(member)), issue))
}

/**
 * The issues in the order of the fields. A value with several failed checks has only the first of them.
 *
 * @param most the issues to return; further ones cost nothing
 */
export const issuesOf = (issue: SchemaIssue.Issue, most = Number.POSITIVE_INFINITY): ReadonlyArray<Invalid> => {
  const found: Array<Invalid> = []
  const each = (issues: ReadonlyArray<SchemaIssue.Issue>, path: ReadonlyArray<PropertyKey>): void => {
    for (const one of issues) {
      if (found.length >= most) return
      collect(one, path)
    }
  }
  const collect = (issue: SchemaIssue.Issue, path: ReadonlyArray<PropertyKey>): void => {
    switch (issue._tag) {
      case "Pointer":
        collect(issue.issue, [...path, ...issue.path])
        return
      case "Encoding":
        collect(issue.issue, path)
        return
      case "Filter": {
        const message = checkOf(issue)
        if (message === undefined) collect(issue.issue, path)
        else found.push({ path, message })
        return
      }
      case "Composite": {
        const [first] = issue.issues
        each(first._tag === "Filter" ? [first] : issue.issues, path)
        return
      }
      case "AnyOf": {
        const { annotations } = issue.ast
        const expected = textOf(annotations, "expected")
        const message = textOf(annotations, "message") ?? (expected === undefined ? undefined : unlike(expected, issue))
        if (message !== undefined) found.push({ path, message })
        else if (issue.issues.length > 0) each(issue.issues, path)
        else for (const message of untried(issue)) found.push({ path, message })
        return
      }
      default:
        found.push({ path, message: messageOf(issue) })
    }
  }
  collect(issue, [])
  return found.slice(0, most)
}
