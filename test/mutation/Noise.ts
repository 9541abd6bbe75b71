/**
 * The parts of a module that are not mutated: types, imports, exports, log lines, identities of services, and texts for people. A test
 * that fails for a changed word of a message would not show a defect. Pure.
 */
import { childrenOf, type Node, namesOf, unwrapped } from "./Syntax.ts"

/** Properties and methods whose values are texts for people. */
const texts = new Set([
  "description",
  "documentation",
  "explanation",
  "help",
  "hint",
  "message",
  "note",
  "summary",
  "title"
])

/** Functions whose arguments are texts for people or identities of services. Callers do not write these texts. */
const callees =
  /^(Effect\.(log\w*|annotateLogs\w*|withLogSpan|withSpan|annotate\w*Span\w*)|Console\.\w+|console\.\w+|Context\.(Reference|Service)|Error|TypeError|RangeError)$/

/** Returns true for a text with two words in a row. In a template, each expression counts as a word. */
const isProse = (text: string): boolean => /\p{L}{2,}[^\w\s]*\s+\W?\p{L}/u.test(text)

const isText = (node: Node): boolean => {
  switch (node.type) {
    case "StringLiteral":
      return isProse(node.value)
    case "TemplateLiteral":
      return isProse(node.quasis.map(({ value }) => value.raw).join("word"))
    case "BinaryExpression":
      return node.operator === "+" && (isText(node.left) || isText(node.right))
    default:
      return false
  }
}

const nameOf = (key: Node): string =>
  key.type === "Identifier" ? key.name : key.type === "StringLiteral" ? key.value : ""

/** Returns true if an expression only writes a log line, or makes a function that does. */
export const isLog = (node: Node): boolean => {
  const inner = unwrapped(node)
  switch (inner.type) {
    case "ExpressionStatement":
      return isLog(inner.expression)
    case "ArrowFunctionExpression":
      return isLog(inner.body)
    case "CallExpression": {
      const { callee } = inner
      if (/^(Effect\.(log|annotateLogs)|Console\.|console\.)/.test(namesOf(callee).join("."))) return true
      return callee.type === "MemberExpression" && isLog(callee.object) && inner.arguments.every(isLog)
    }
    default:
      return false
  }
}

/** Returns true if a node and its children are not mutated. */
export const isNoise = (node: Node): boolean => {
  switch (node.type) {
    case "ImportDeclaration":
    case "ExportAllDeclaration":
      return true
    case "ObjectProperty":
    case "ObjectMethod":
    case "ClassProperty":
    case "ClassMethod":
      return !node.computed && texts.has(nameOf(node.key))
    case "CallExpression":
    case "NewExpression":
      return callees.test(namesOf(node.callee).join(".")) || isLog(node)
    case "ExpressionStatement":
      return isLog(node)
    default:
      return isText(node)
  }
}

/** Returns the children of a node that may be mutated. Types, names of properties and superclasses stay unchanged. */
export const variableIn = (node: Node): ReadonlyArray<Node> => {
  const fixed = new Set<unknown>()
  if ("key" in node && !("computed" in node && node.computed === true)) fixed.add(node.key)
  if (node.type === "ClassDeclaration" || node.type === "ClassExpression") fixed.add(node.superClass)
  if (node.type === "ExportNamedDeclaration") for (const part of [node.source, ...node.specifiers]) fixed.add(part)
  return childrenOf(node).filter(
    (child) => !fixed.has(child) && (unwrapped(child) !== child || !child.type.startsWith("TS")) && !isNoise(child)
  )
}
