/** The mutations of a node: a subset of Stryker's operators, and some for Effect. Pure. */
import { isLog, isNoise } from "./Noise.ts"
import { type Node, namesOf, rangeOf } from "./Syntax.ts"

/** A replacement of a piece of text. */
export interface Edit {
  /** The class of the mutation, such as `boundary`. */
  readonly operator: string
  readonly start: number
  readonly end: number
  readonly to: string
}

/** The replacements of an operator, with the class of the mutation. */
const binary: { readonly [operator: string]: readonly [name: string, ...others: ReadonlyArray<string>] } = {
  "<": ["comparison", "<=", ">="],
  "<=": ["comparison", "<", ">"],
  ">": ["comparison", ">=", "<="],
  ">=": ["comparison", ">", "<"],
  "===": ["equality", "!=="],
  "!==": ["equality", "==="],
  "==": ["equality", "!="],
  "!=": ["equality", "=="],
  "+": ["arithmetic", "-"],
  "-": ["arithmetic", "+"],
  "*": ["arithmetic", "/"],
  "/": ["arithmetic", "*"],
  "%": ["arithmetic", "*"],
  "**": ["arithmetic", "*"],
  "&": ["arithmetic", "|"],
  "|": ["arithmetic", "&"],
  "^": ["arithmetic", "&"],
  "<<": ["arithmetic", ">>"],
  ">>": ["arithmetic", "<<"],
  ">>>": ["arithmetic", "<<"],
  "&&": ["logic", "||"],
  "||": ["logic", "&&"],
  "+=": ["assignment", "-="],
  "-=": ["assignment", "+="],
  "*=": ["assignment", "/="],
  "&&=": ["assignment", "||="],
  "||=": ["assignment", "&&="],
  "??=": ["assignment", "="],
  "++": ["update", "--"],
  "--": ["update", "++"]
}

/** Methods, and the method that replaces each. */
const twins: { readonly [method: string]: string } = {
  some: "every",
  every: "some",
  startsWith: "endsWith",
  endsWith: "startsWith",
  toLowerCase: "toUpperCase",
  toUpperCase: "toLowerCase",
  min: "max",
  max: "min"
}

/** Methods whose object replaces their result. */
const passing = new Set([
  ...["filter", "reverse", "slice", "sort", "toReversed", "toSorted", "toSpliced"],
  ...["trim", "trimEnd", "trimStart"]
])

/** Functions of Effect that a mutation removes, with the number of their arguments and the index of the argument that stays. */
const combinators: { readonly [name: string]: readonly [count: number, stays: number] } = {
  andThen: [2, 1],
  catch: [2, 0],
  catchCause: [2, 0],
  catchDefect: [2, 0],
  catchTag: [3, 0],
  catchTags: [2, 0],
  delay: [2, 0],
  ensuring: [2, 0],
  ignore: [1, 0],
  interruptible: [1, 0],
  onError: [2, 0],
  onExit: [2, 0],
  onInterrupt: [2, 0],
  orDie: [1, 0],
  repeat: [2, 0],
  retry: [2, 0],
  tap: [2, 0],
  tapCause: [2, 0],
  tapError: [2, 0],
  timeout: [2, 0],
  timeoutOrElse: [2, 0],
  uninterruptible: [1, 0]
}

const isStringy = (node: Node): boolean =>
  node.type === "StringLiteral" ||
  node.type === "TemplateLiteral" ||
  (node.type === "BinaryExpression" && node.operator === "+" && (isStringy(node.left) || isStringy(node.right)))

/** Returns true if `!` before an expression needs no parentheses. */
const isSimple = ({ type }: Node): boolean => /^(Identifier|(Optional)?(Call|Member)Expression)$/.test(type)

const isUndefined = (node: Node): boolean =>
  (node.type === "Identifier" && node.name === "undefined") ||
  (node.type === "UnaryExpression" && node.operator === "void")

/** Returns the mutations of one node, without those of its children. */
export const editsOf = (node: Node, text: string, parent: Node | undefined): ReadonlyArray<Edit> => {
  const [start, end] = rangeOf(node)
  const source = (of: Node): string => text.slice(...rangeOf(of))
  const whole = (operator: string, to: string): Edit => ({ operator, start, end, to })

  /** The mutations of a condition. Comparisons and `!` have operators that negate them. */
  const condition = (test: Node, values: ReadonlyArray<string>): ReadonlyArray<Edit> => {
    const [from, to] = rangeOf(test)
    if (test.type === "BooleanLiteral") return []
    const isNegated = (test.type === "BinaryExpression" && test.operator in binary) || test.type === "UnaryExpression"
    return [...values, ...(isNegated ? [] : [isSimple(test) ? `!${source(test)}` : `!(${source(test)})`])].map(
      (value) => ({
        operator: "condition",
        start: from,
        end: to,
        to: value
      })
    )
  }

  /** The mutations of the operator between two nodes, or beside one. */
  const swap = (operator: string, from: number, to: number): ReadonlyArray<Edit> => {
    const at = text.slice(from, to).indexOf(operator)
    const [name = "", ...others] = binary[operator] ?? []
    if (at < 0) return []
    return others.map((other) => ({ operator: name, start: from + at, end: from + at + operator.length, to: other }))
  }
  const between = (operator: string, left: Node, right: Node): ReadonlyArray<Edit> =>
    swap(operator, rangeOf(left)[1], rangeOf(right)[0])

  switch (node.type) {
    case "IfStatement":
    case "ConditionalExpression":
      return condition(node.test, ["true", "false"])
    case "WhileStatement":
    case "DoWhileStatement":
      return condition(node.test, ["false"])
    case "ForStatement":
      return node.test == null ? [] : condition(node.test, ["false"])
    case "BinaryExpression":
      if (node.operator === "+" && isStringy(node)) return []
      return between(node.operator, node.left, node.right)
    case "LogicalExpression":
      return node.operator === "??"
        ? [whole("default", source(node.left)), whole("default", source(node.right))]
        : between(node.operator, node.left, node.right)
    case "AssignmentExpression":
      if (node.operator === "+=" && isStringy(node.right)) return []
      return between(node.operator, node.left, node.right)
    case "UpdateExpression":
      return swap(node.operator, start, end)
    case "UnaryExpression":
      return node.operator === "!" || node.operator === "-" ? [whole("sign", source(node.argument))] : []
    case "BooleanLiteral":
      if (parent?.type === "WhileStatement") return []
      return [whole("boolean", String(!node.value))]
    case "NumericLiteral":
      return [whole("number", String(node.value < 10 ? node.value + 1 : node.value * 2))]
    case "StringLiteral":
      return [whole("string", node.value === "" ? '"mutated"' : '""')]
    case "TemplateLiteral":
      return [whole("string", '""')]
    case "ArrayExpression":
      return node.elements.length === 0 ? [] : [whole("array", "[]")]
    case "ObjectExpression":
      return node.properties.length === 0 ? [] : [whole("object", "{}")]
    case "OptionalMemberExpression":
    case "OptionalCallExpression": {
      if (!node.optional) return []
      const from = rangeOf(node.type === "OptionalCallExpression" ? node.callee : node.object)[1]
      const at = text.indexOf("?.", from)
      const to = node.type === "OptionalCallExpression" || node.computed ? "" : "."
      return at < 0 ? [] : [{ operator: "optional", start: at, end: at + 2, to }]
    }
    case "ExpressionStatement":
      return [whole("statement", ";")]
    case "ReturnStatement":
      return node.argument == null || isUndefined(node.argument) ? [] : [whole("return", "return undefined")]
    case "ArrowFunctionExpression": {
      if (node.body.type === "BlockStatement" || isUndefined(node.body)) return []
      const [from, to] = rangeOf(node.body)
      return [{ operator: "return", start: from, end: to, to: "undefined" }]
    }
    case "CallExpression":
      return calls(node, text, parent)
    default:
      return []
  }
}

const isPipe = (node: Node | undefined): boolean =>
  node?.type === "CallExpression" && namesOf(node.callee).at(-1) === "pipe"

const calls = (
  node: Extract<Node, { readonly type: "CallExpression" }>,
  text: string,
  parent: Node | undefined
): ReadonlyArray<Edit> => {
  const [start, end] = rangeOf(node)
  const source = (of: Node): string => text.slice(...rangeOf(of))
  const whole = (operator: string, to: string): Edit => ({ operator, start, end, to })
  const { arguments: args, callee } = node
  const names = namesOf(callee)
  const [space = ""] = names
  const name = names.at(-1) ?? ""

  if (isPipe(node)) {
    return args.flatMap((step, at) => {
      if ((names.length === 1 && at === 0) || isNoise(step)) return []
      const [next, before] = [args[at + 1], args[at - 1]]
      const from = next === undefined && before !== undefined ? rangeOf(before)[1] : rangeOf(step)[0]
      const to = next === undefined ? rangeOf(step)[1] : rangeOf(next)[0]
      return [{ operator: "step", start: from, end: to, to: "" }]
    })
  }
  const [count, stays] = space === "Effect" ? (combinators[name] ?? []) : []
  const left = stays === undefined ? undefined : args[stays]
  if (count === args.length && left !== undefined && !isPipe(parent)) {
    return args.some(isLog) ? [] : [whole("combinator", source(left))]
  }
  // `semaphore.withPermits(1)(effect)`
  const [only] = args
  if (callee.type === "CallExpression" && namesOf(callee.callee).at(-1) === "withPermits" && only !== undefined) {
    return [whole("combinator", source(only))]
  }
  const isMethod = callee.type === "MemberExpression" && !callee.computed
  if (!isMethod || (/^[A-Z]/.test(space) && space !== "Math")) return []
  const twin = twins[name]
  if (twin !== undefined) {
    const [from, to] = rangeOf(callee.property)
    return [{ operator: "method", start: from, end: to, to: twin }]
  }
  return passing.has(name) ? [whole("method", source(callee.object))] : []
}
