/**
 * Counts the cost of an evaluation, like the cost tracker of cel-go. It changes the nodes of an expression. `Expression` therefore
 * compiles a separate program for counting, so that evaluation without counting stays fast.
 */
import { type ASTNode, Optional } from "@marcbachmann/cel-js"
import { failure, isList, Message } from "../Value.ts"
import * as Calls from "./Calls.ts"
import * as CostLimits from "./CostLimits.ts"
import { type Estimated, type Estimator, type Type, typeOf } from "./Estimated.ts"
import * as Size from "./Size.ts"

/** The result of an evaluation, with its cost in cost units. */
export interface Metered<A> {
  readonly result: A
  readonly cost: number
}

let running: { cost: number } | undefined

const spend = (cost: number): void => {
  if (running === undefined) return
  running.cost = Size.capped(running.cost + cost)
  if (running.cost > CostLimits.perCall) throw failure(CostLimits.cancelled)
}

/** Runs an evaluation of an instrumented expression and counts its cost. The evaluation fails above `CostLimits.perCall`. */
export const run = <A>(evaluate: () => A): Metered<A> => {
  const outer = running
  const own = { cost: 0 }
  running = own
  try {
    return { result: evaluate(), cost: own.cost }
  } finally {
    running = outer
  }
}

/** The last value of a node. */
interface Last {
  value: unknown
}

type Evaluate = (evaluator: unknown, node: unknown, scope: unknown) => unknown

interface Evaluated {
  readonly meta: {
    readonly alternate?: ASTNode
    readonly macro?: { evaluate: Evaluate }
    readonly evaluate: Evaluate
  }
  readonly setMeta: (key: "evaluate", evaluate: Evaluate) => void
}

const isEvaluated = (node: unknown): node is Evaluated =>
  typeof node === "object" && node !== null && "meta" in node && "setMeta" in node

/** Makes a node add `cost` after each evaluation and store its value in the result. */
const counted = (node: ASTNode, cost: (value: unknown) => number): Last => {
  const last: Last = { value: undefined }
  const around =
    (evaluate: Evaluate): Evaluate =>
    (evaluator, own, scope) => {
      last.value = evaluate(evaluator, own, scope)
      spend(cost(last.value))
      return last.value
    }
  const target: unknown = isEvaluated(node) && node.meta.alternate !== undefined ? node.meta.alternate : node
  if (!isEvaluated(target)) return last
  const { macro } = target.meta
  if (macro === undefined) target.setMeta("evaluate", around(target.meta.evaluate))
  else macro.evaluate = around(macro.evaluate)
  return last
}

/** Changes the nodes of a checked expression, so that `run` counts their costs. */
export const instrument = (node: ASTNode): Last => {
  switch (node.op) {
    case "value":
      return { value: node.args }
    case "id":
      // Reading a constant of the library is free. Reading a variable costs one unit.
      return isEvaluated(node) && node.meta.alternate !== undefined ? counted(node, free) : counted(node, one)
    case ".":
    case ".?":
      instrument(node.args[0])
      return counted(node, one)
    case "[]":
    case "[?]":
      instrument(node.args[0])
      instrument(node.args[1])
      return counted(node, one)
    case "list":
      node.args.map(instrument)
      return counted(node, node.args.every(isLiteral) ? free : () => Size.newList)
    case "map":
      node.args.flat().map(instrument)
      return counted(node, node.args.flat().every(isLiteral) ? free : () => Size.newMap)
    case "?:":
    case "||":
    case "&&":
      node.args.map(instrument)
      return counted(node, free)
    case "-_":
    case "!_":
      instrument(node.args)
      return counted(node, node.args.op === "value" ? free : one)
    case "call": {
      const [name, args] = node.args
      if (name === "has") return has(node, args[0])
      return call(node, name, undefined, args)
    }
    case "rcall": {
      const [name, receiver, args] = node.args
      const looped = loop(node, name, receiver, args)
      if (looped !== undefined) return looped
      const isNamespace = receiver.op === "id" && typeOf(receiver).name.endsWith("Namespace")
      return isNamespace ? call(node, `${receiver.args}.${name}`, undefined, args) : call(node, name, receiver, args)
    }
    default: {
      const [left, right] = [instrument(node.args[0]), instrument(node.args[1])]
      const [first, second] = node.args
      return counted(node, () => Calls.operator(plain, node, actual(first, left), actual(second, right)).cost)
    }
  }
}

const free = () => 0
const one = () => 1

const isLiteral = ({ op }: ASTNode): boolean => op === "value"

/** Counts one unit for each field except the last one. The test of the last field is free. */
const has = (node: ASTNode, argument: ASTNode | undefined): Last => {
  let fields = -1
  let at = argument
  while (at?.op === "." || at?.op === ".?") {
    fields++
    at = at.args[0]
  }
  if (at !== undefined) instrument(at)
  return counted(node, () => Math.max(0, fields))
}

const call = (node: ASTNode, name: string, receiver: ASTNode | undefined, args: ReadonlyArray<ASTNode>): Last => {
  const target = receiver === undefined ? undefined : instrument(receiver)
  const given = args.map(instrument)
  return counted(node, () => {
    const on = receiver === undefined || target === undefined ? undefined : actual(receiver, target)
    const values = args.map((argument, index) => actual(argument, given[index] ?? { value: undefined }))
    return Calls.estimate(estimatorOf(target?.value), node, name, on, values).cost
  })
}

/** `step`: the cost of a step without its expressions, given the value of the last one. `whole`: the cost of the loop itself. */
interface Loop {
  readonly step: (value: unknown) => number
  readonly whole: number
}

/** The cost of adding an item to a list: reading the accumulator, making a list with the item, and the operator. */
const append = 1 + Size.newList + 1

const loops: { readonly [name: string]: Loop | undefined } = {
  all: { step: () => 3, whole: 1 },
  exists: { step: () => 4, whole: 1 },
  exists_one: { step: (value) => (value === true ? 2 : 1), whole: 2 },
  existsOne: { step: (value) => (value === true ? 2 : 1), whole: 2 },
  map: { step: () => append, whole: 1 },
  filter: { step: (value) => (value === true ? append + 1 : 1), whole: 1 },
  transformList: { step: () => append, whole: 1 },
  transformMap: { step: () => 3, whole: 1 },
  sortBy: { step: () => append, whole: 2 },
  optMap: { step: () => Size.newList + 2, whole: 1 },
  optFlatMap: { step: () => Size.newList + 1, whole: 1 }
}

const loop = (node: ASTNode, name: string, receiver: ASTNode, args: ReadonlyArray<ASTNode>): Last | undefined => {
  const known = loops[name]
  const [first, ...rest] = args
  const last = rest.at(-1)
  if (known === undefined || first?.op !== "id" || last === undefined) return undefined
  instrument(receiver)
  // The second variable of a pair is not an expression.
  const steps = rest.length > 1 && rest[0]?.op === "id" && name !== "map" ? rest.slice(1) : rest
  for (const step of steps) {
    instrument(step)
    // The first call counts the expression. The second one adds the work of the loop on its value.
    if (step === last) counted(step, known.step)
  }
  return counted(node, () => known.whole)
}

const typeOfValue = (value: unknown): Type | undefined => {
  if (typeof value === "string") return { kind: "primitive", name: "string" }
  if (value instanceof Uint8Array) return { kind: "primitive", name: "bytes" }
  if (typeof value === "bigint" || typeof value === "number" || typeof value === "boolean") {
    return { kind: "primitive", name: "int" }
  }
  return isList(value) ? { kind: "list", name: "list", valueType: typeOfValue([...value][0]) ?? anything } : undefined
}

const anything: Type = { kind: "map", name: "map" }

const sizeOf = (value: unknown): number => {
  if (typeof value === "string" || Array.isArray(value) || value instanceof Uint8Array) return value.length
  if (value instanceof Set || value instanceof Map) return value.size
  if (value instanceof Message) return Object.keys(Message.json(value)).length
  if (value instanceof Optional) return value.hasValue() ? sizeOf(value.value()) : 1
  const isPlain = typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype
  return isPlain ? Object.keys(value).length : 1
}

/** Returns the estimate of a known value, with its exact size. */
const actual = (node: ASTNode, { value }: Last): Estimated => {
  const type = typeOf(node)
  return {
    node,
    type: type.kind === "dyn" || type.kind === "list" ? (typeOfValue(value) ?? anything) : type,
    cost: 0,
    path: ["value"],
    size: Size.fixed(sizeOf(value)),
    entries: undefined
  }
}

/** Makes an estimator for the items of a list, which uses the mean of their sizes. */
const estimatorOf = (list: unknown): Estimator => ({
  ...plain,
  sizeAt: () => {
    const items = isList(list) ? [...list] : []
    const total = items.reduce<number>((sum, item) => sum + sizeOf(item), 0)
    return items.length === 0 ? Size.fixed(0) : Size.fixed(total / items.length)
  }
})

const plain: Estimator = {
  estimate: (node) => actual(node, { value: undefined }),
  estimated: (type, cost, { path = [], size, entries } = {}) => ({ node: undefined, type, cost, path, size, entries }),
  sizeAt: () => undefined
}
