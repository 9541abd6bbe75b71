/**
 * CEL expressions, compiled in the environment that Kubernetes gives to CRDs: the standard library, optional values, and
 * Kubernetes' own functions. This module rejects names that the library knows and Kubernetes does not.
 */
import { type ASTNode, Environment, type EvaluationError, type ParseError } from "@marcbachmann/cel-js"
import * as RegularExpression from "../crd/RegularExpression.ts"
import * as Network from "./Addresses.ts"
import * as Amounts from "./Amounts.ts"
import * as CostLimits from "./cost/CostLimits.ts"
import type { Declared } from "./cost/Declared.ts"
import * as Estimate from "./cost/Estimate.ts"
import * as Meter from "./cost/Meter.ts"
import * as ListLibrary from "./ListLibrary.ts"
import * as Logic from "./Logic.ts"
import * as Macros from "./Macros.ts"
import * as Strings from "./Strings.ts"

/** A compiled expression. */
export interface Program {
  /** The type of the result. */
  readonly type: string
  /** Whether the expression uses `oldSelf`. */
  readonly usesOldSelf: boolean
  /** Estimates the greatest cost of an evaluation. `root` is the type of the variables, if a schema limits their sizes. */
  readonly greatestCost: (root: Declared | undefined) => number
  /** Returns the value, or the error of the evaluation. */
  readonly evaluate: (context: Context) => Result
  /** Like `evaluate`, but also returns the cost and fails above `CostLimits.perCall`. It takes longer. */
  readonly measure: (context: Context) => Meter.Metered<Result>
}

/** The value of an expression, or the error of its evaluation. */
export type Result = { readonly value: unknown } | { readonly problem: string }

/** The values of the variables, by name. */
export interface Context {
  readonly [name: string]: unknown
}

/** Returns an environment without variables. The caller may add types and variables. */
export const environment = (): Environment => {
  base ??= [ListLibrary.register, Strings.register, Network.register, Amounts.register, Macros.register].reduce(
    (env, register) => register(env),
    new Environment({ enableOptionalTypes: true, homogeneousAggregateLiterals: true })
  )
  return base.clone()
}

/** Compiles an expression. Returns a `problem` with cel-go's message if the expression is invalid. */
export const compile = (env: Environment, source: string): Program | { readonly problem: string } => {
  try {
    const parsed = env.parse(source)
    const uses = new Set<string>()
    const strange = prepare(parsed.ast, uses)
    if (strange !== undefined) return { problem: located(source, strange.node.pos, strange.text) }
    const { error, type = "dyn", valid } = parsed.check()
    if (!valid) return { problem: complaint(source, error) }
    let counted: ReturnType<Environment["parse"]> | undefined
    return {
      type,
      usesOldSelf: uses.has("oldSelf"),
      greatestCost: (root) => Estimate.greatestCost(parsed.ast, root),
      evaluate: (context) => evaluate(parsed, context),
      measure: (context) => {
        counted ??= instrumented(env, source)
        const program = counted
        const { cost, result } = Meter.run(() => evaluate(program, context))
        // `||` or `&&` may have absorbed the error of the limit.
        return { cost, result: cost > CostLimits.perCall ? { problem: CostLimits.cancelled } : result }
      }
    }
  } catch (error) {
    return { problem: complaint(source, error) }
  }
}

/** Compiles a second program of an expression, which counts its cost. */
const instrumented = (env: Environment, source: string): ReturnType<Environment["parse"]> => {
  const parsed = env.parse(source)
  prepare(parsed.ast, new Set())
  parsed.check()
  Meter.instrument(parsed.ast)
  return parsed
}

let base: Environment | undefined

const complaint = (source: string, error: unknown): string => {
  if (!isCelError(error)) return located(source, 0, error instanceof Error ? error.message : String(error))
  const { node, summary } = error
  const at = error.range?.start ?? 0
  const [, field] = /^No such key: (.*)$/.exec(summary) ?? []
  const [, left, operator, right] = /^no such overload: (\S.*) (\S+) (\S.*)$/.exec(summary) ?? []
  const [, variable] = /^Unknown variable: (.*)$/.exec(summary) ?? []
  if (field !== undefined) return located(source, Math.max(0, at - 1), `undefined field '${field}'`)
  if (variable !== undefined) return located(source, at, `undeclared reference to '${variable}' (in container '')`)
  const called = /^found no matching overload for '(?:(\w[^(]*)\.)?(\w+)\((.*)\)'$/.exec(summary)
  if (called !== null) return calledWrongly(source, at, called)
  if (operator === undefined) return located(source, at, summary.replace(/^.*, (?=expected type)/, ""))
  const name = operator === "in" ? "@in" : `_${operator}_`
  const end = isNode(node) ? (childrenOf(node)[0]?.range.end ?? at) : at
  const offset = Math.max(source.indexOf(operator, end), at)
  return located(source, offset, `found no matching overload for '${name}' applied to '(${left}, ${right})'`)
}

/** Returns the error of a call to an unknown function, or to a function without an overload for these arguments. */
const calledWrongly = (source: string, at: number, [, receiver, name = "", given = ""]: RegExpExecArray): string => {
  const offset = Math.max(source.indexOf(`${name}(`, at) + name.length, at)
  known ??= new Set(
    environment()
      .getDefinitions()
      .functions.map((one) => one.name)
  )
  if (!known.has(name)) return located(source, offset, `undeclared reference to '${name}' (in container '')`)
  const applied = receiver === undefined ? `(${given})` : `${receiver}.(${given})`
  return located(source, offset, `found no matching overload for '${name}' applied to '${applied}'`)
}

let known: ReadonlySet<string> | undefined

const isCelError = (error: unknown): error is ParseError | EvaluationError =>
  error instanceof Error && "summary" in error

/** Formats an error as cel-go does, with its line of the source. */
const located = (source: string, at: number, text: string): string => {
  const before = source.slice(0, at)
  const line = before.split("\n").length
  const column = at - (before.lastIndexOf("\n") + 1)
  return `ERROR: <input>:${line}:${column + 1}: ${text}\n | ${source.split("\n")[line - 1] ?? ""}\n | ${".".repeat(column)}^`
}

interface Strange {
  readonly node: ASTNode
  readonly text: string
}

/** Names that the library defines and Kubernetes does not. */
const unknownNames: ReadonlySet<string> = new Set(["cel"])
const unknownFunctions: ReadonlySet<string> = new Set(["json", "hex", "base64", "at", "string", "matchesRe2"])

/**
 * Walks an expression before the type check. It adds the names of variables to `uses`, and evaluates `matches` with Kubernetes'
 * regular expressions. Returns the first node that Kubernetes rejects, with the error.
 */
const prepare = (node: ASTNode, uses: Set<string>): Strange | undefined => {
  if (node.op === "id") {
    uses.add(node.args)
    return unknownNames.has(node.args)
      ? { node, text: `undeclared reference to '${node.args}' (in container '')` }
      : undefined
  }
  if (node.op === "call") {
    const [name, args] = node.args
    if (name === "has") checkArgument(node)
    const problem = literalProblem(name, args[0])
    if (problem !== undefined) return problem
  }
  if (node.op === "rcall") {
    const [name, , args] = node.args
    if (unknownFunctions.has(name)) return { node, text: `undeclared reference to '${name}' (in container '')` }
    if (name === "matches" || name === "find" || name === "findAll") {
      const problem = patternProblem(args[0])
      if (problem !== undefined) return problem
    }
    if (name === "matches") node.args[0] = "matchesRe2"
    if (name === "format") loosen(args[0])
  }
  Logic.prepare(node)
  for (const child of childrenOf(node)) {
    const strange = prepare(child, uses)
    if (strange !== undefined) return strange
  }
  return undefined
}

/** Converts the items of a literal list to `dyn`, because `format` accepts items of different types. */
const loosen = (node: ASTNode | undefined): void => {
  if (node?.op !== "list") return
  for (const [at, item] of node.args.entries()) {
    const { ast } = environment().parse("dyn(null)")
    if (ast.op !== "call") continue
    ast.args[1] = [item]
    node.args[at] = ast
  }
}

/** Adds a type check of the fields in `has(…)`. The library checks only the first name. */
const checkArgument = (node: ASTNode): void => {
  const macro = macroOf(node)
  const [argument] = macro?.args ?? []
  if (macro === undefined || argument === undefined) return
  const check = macro.typeCheck
  macro.typeCheck = (checker, own, scope) => {
    checker.check(argument, scope)
    return check(checker, own, scope)
  }
}

/** A macro, as the library stores it at the node of the call. */
interface Macro {
  readonly args: ReadonlyArray<ASTNode>
  typeCheck: (
    checker: { readonly check: (node: ASTNode, scope: unknown) => unknown },
    own: unknown,
    scope: unknown
  ) => unknown
}

const macroOf = (node: ASTNode): Macro | undefined => {
  const meta: unknown = "meta" in node ? node.meta : undefined
  const macro: unknown = typeof meta === "object" && meta !== null && "macro" in meta ? meta.macro : undefined
  return isMacro(macro) ? macro : undefined
}

const isMacro = (value: unknown): value is Macro =>
  typeof value === "object" && value !== null && "typeCheck" in value && "args" in value && Array.isArray(value.args)

/** Returns the error of an invalid literal duration or timestamp, which the compiler reports. */
const literalProblem = (name: string, node: ASTNode | undefined): Strange | undefined => {
  if ((name !== "duration" && name !== "timestamp") || node?.op !== "value" || typeof node.args !== "string")
    return undefined
  try {
    environment().evaluate(`${name}(${JSON.stringify(node.args)})`)
    return undefined
  } catch {
    return { node, text: `invalid ${name} argument` }
  }
}

const patternProblem = (node: ASTNode | undefined): Strange | undefined => {
  if (node?.op !== "value" || typeof node.args !== "string") return undefined
  const compiled = RegularExpression.compile(node.args)
  return "problem" in compiled ? { node, text: "invalid matches argument" } : undefined
}

const childrenOf = (node: ASTNode): ReadonlyArray<ASTNode> => {
  const nodes = (value: unknown): ReadonlyArray<ASTNode> => {
    if (Array.isArray(value)) return value.flatMap(nodes)
    return isNode(value) ? [value] : []
  }
  return nodes(node.args)
}

const isNode = (value: unknown): value is ASTNode =>
  typeof value === "object" && value !== null && "op" in value && "args" in value && "pos" in value

const evaluate = (parsed: (context: { readonly [name: string]: unknown }) => unknown, context: Context): Result => {
  try {
    return { value: parsed({ ...context }) }
  } catch (error) {
    return { problem: evaluationProblem(error) }
  }
}

/** Returns the message of an error, in cel-go's words for known errors. */
const evaluationProblem = (error: unknown): string => {
  if (!isCelError(error)) return error instanceof Error ? error.message : String(error)
  const { code, summary } = error
  const key = /^No such key: (.*)$/.exec(summary)?.[1]
  const index = /index out of bounds, index (-?\d+)/.exec(summary)?.[1]
  if (index !== undefined) return `index out of bounds: ${index}`
  if (key !== undefined) return `no such key: ${key}`
  if (code === "no_such_overload" || code === "no_matching_overload" || code === "field_type_mismatch")
    return "no such overload"
  if (code === "modulo_by_zero") return "modulus by zero"
  if (code === "numeric_overflow") return "integer overflow"
  return summary
}
