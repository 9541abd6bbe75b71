/**
 * The operators `||` and `&&` as cel-go evaluates them. An operand that decides the result absorbs the error of the other operand. If
 * neither operand decides, the expression fails with the first error. The library would report the last error.
 */
import type { ASTNode } from "@marcbachmann/cel-js"
import { failure } from "./Value.ts"

interface Evaluator {
  readonly run: (node: ASTNode, scope: unknown) => unknown
}

/** A node of the library whose evaluation can be replaced. */
interface Evaluated {
  readonly setMeta: (
    key: "evaluate",
    evaluate: (evaluator: Evaluator, node: unknown, scope: unknown) => unknown
  ) => void
}

/** Replaces the evaluation of a node if its operator is `||` or `&&`. Ignores other nodes. */
export const prepare = (node: ASTNode): void => {
  if ((node.op !== "||" && node.op !== "&&") || !isEvaluated(node)) return
  const decisive = node.op === "||"
  const operands = node.args
  node.setMeta("evaluate", (evaluator, _, scope) => {
    let error: unknown
    for (const operand of operands) {
      const value = attempted(evaluator, operand, scope)
      if (value === decisive) return decisive
      if (value !== !decisive) error ??= value instanceof Error ? value : failure("no such overload")
    }
    if (error !== undefined) throw error
    return !decisive
  })
}

const attempted = (evaluator: Evaluator, operand: ASTNode, scope: unknown): unknown => {
  try {
    return evaluator.run(operand, scope)
  } catch (error) {
    return error
  }
}

const isEvaluated = (node: object): node is Evaluated => "setMeta" in node && typeof node.setMeta === "function"
