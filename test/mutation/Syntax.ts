/** The syntax tree of a source. Pure. */
import { parse as babel } from "@babel/parser"

type Statement = ReturnType<typeof babel>["program"]["body"][number]
type Expression = Extract<Statement, { readonly type: "ExpressionStatement" }>["expression"]
type Typed<Type extends Expression["type"]> = Extract<Expression, { readonly type: Type }>

/** A node of the tree, in Babel's types. */
export type Node =
  | Statement
  | Expression
  | Typed<"ObjectExpression">["properties"][number]
  | Typed<"ClassExpression">["body"]["body"][number]
  | Typed<"CallExpression">["callee"]
  | Typed<"CallExpression">["arguments"][number]
  | Typed<"BinaryExpression">["left"]
  | Typed<"AssignmentExpression">["left"]

/** Parses a module. Returns undefined for a text that is not TypeScript. */
export const parse = (text: string): ReadonlyArray<Node> | undefined => {
  try {
    return babel(text, { sourceType: "module", plugins: ["typescript"] }).program.body
  } catch {
    return undefined
  }
}

const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && "type" in value && "start" in value && "end" in value

/** Returns the direct children of a node, in the order of the text. */
export const childrenOf = (node: Node): ReadonlyArray<Node> =>
  Object.entries(node)
    .filter(([name]) => !/[cC]omments$/.test(name))
    .flatMap(([, value]): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [value]))
    .filter(isNode)

/** Returns the offsets of a node in the text. Throws for a node without offsets. */
export const rangeOf = ({ end, start }: Node): readonly [start: number, end: number] => {
  if (typeof start !== "number" || typeof end !== "number") throw new Error("A node has no place in the text")
  return [start, end]
}

/** Returns the node inside `yield`, `await` and the wrappers of types. */
export const unwrapped = (node: Node): Node => {
  switch (node.type) {
    case "YieldExpression":
    case "AwaitExpression":
      return node.argument == null ? node : unwrapped(node.argument)
    case "TSAsExpression":
    case "TSSatisfiesExpression":
    case "TSNonNullExpression":
      return unwrapped(node.expression)
    default:
      return node
  }
}

/** Returns the names of a callee such as `Effect.log`: `["Effect", "log"]`. Any other first part is an empty string. */
export const namesOf = (node: Node): ReadonlyArray<string> => {
  if (node.type === "Identifier") return [node.name]
  const isMember = node.type === "MemberExpression" || node.type === "OptionalMemberExpression"
  if (!isMember || node.computed || node.property.type !== "Identifier") return [""]
  return [...namesOf(node.object), node.property.name]
}
