/**
 * Estimates the greatest cost of an expression before its evaluation, like `checker.Cost` of cel-go. Kubernetes rejects rules by this
 * number, so this module counts the same expressions and has the same gaps.
 */
import type { ASTNode } from "@marcbachmann/cel-js"
import * as Calls from "./Calls.ts"
import * as Declared from "./Declared.ts"
import { bool, type Estimated, type Estimator, type Scope, sizeOr, type Type, typeOf, unite } from "./Estimated.ts"
import * as MacroCosts from "./MacroCosts.ts"
import * as Size from "./Size.ts"

const scalars: ReadonlySet<string> = new Set([
  "bool",
  "double",
  "int",
  "uint",
  "google.protobuf.Duration",
  "google.protobuf.Timestamp"
])

const isScalar = ({ kind, name, valueType }: Type): boolean =>
  scalars.has(name) || (kind === "optional" && valueType !== undefined && isScalar(valueType))

const sizeOfLiteral = (value: unknown): Size.Size => {
  if (typeof value === "string") return Size.fixed([...value].length)
  return Size.fixed(value instanceof Uint8Array ? value.length : 1)
}

/** Returns the greatest cost of a checked expression, in cost units. `root` limits the sizes of its variables; undefined: no limits. */
export const greatestCost = (expression: ASTNode, root: Declared.Declared | undefined): number => {
  const sizeAt: Estimator["sizeAt"] = (path) => (root === undefined ? undefined : Declared.sizeAt(root, path))
  const estimated: Estimator["estimated"] = (type, cost, known = {}) => {
    const { entries, node, path = [] } = known
    const size = known.size ?? sizeAt(path) ?? (isScalar(type) ? Size.fixed(1) : undefined)
    return { node, type, cost: Size.capped(cost), path, size, entries }
  }
  const identifier = (node: ASTNode, name: string, scope: Scope): Estimated => {
    const local = scope.get(name)
    const path = local === undefined ? [name] : local.path
    const type = typeOf(node)
    const size = sizeAt(path) ?? (isScalar(type) ? undefined : local?.size)
    return estimated(type, 1, { node, path, size, entries: local?.entries })
  }
  const list = (node: ASTNode, items: ReadonlyArray<Estimated>): Estimated => {
    const value = items.length === 0 ? Size.fixed(0) : items.map(sizeOr).reduce(Size.union)
    return estimated(typeOf(node), sum(items) + Size.newList, {
      node,
      size: Size.fixed(items.length),
      entries: { isList: true, key: Size.fixed(1), value }
    })
  }
  const map = (node: ASTNode, keys: ReadonlyArray<Estimated>, values: ReadonlyArray<Estimated>): Estimated => {
    const all = (of: ReadonlyArray<Estimated>) => (of.length === 0 ? Size.fixed(0) : of.map(sizeOr).reduce(Size.union))
    return estimated(typeOf(node), sum(keys) + sum(values) + Size.newMap, {
      node,
      size: Size.fixed(keys.length),
      entries: { isList: false, key: all(keys), value: all(values) }
    })
  }
  const at = (node: ASTNode, operand: Estimated, index: Estimated): Estimated => {
    const step = operand.type.kind === "list" ? "@items" : "@values"
    return estimated(typeOf(node), 1 + operand.cost + index.cost, {
      node,
      path: [...operand.path, step],
      size: operand.entries?.value
    })
  }
  const estimate = (node: ASTNode, scope: Scope): Estimated => {
    const of = (child: ASTNode) => estimate(child, scope)
    switch (node.op) {
      case "value":
        return estimated(typeOf(node), 0, { node, size: sizeOfLiteral(node.args) })
      case "id":
        return identifier(node, node.args, scope)
      case ".": {
        const operand = of(node.args[0])
        const isCounted = operand.type.kind === "map" || operand.type.kind === "message"
        const path = [...operand.path, node.args[1]]
        return estimated(typeOf(node), operand.cost + (isCounted ? 1 : 0), { node, path })
      }
      case ".?":
        return estimated(typeOf(node), 1 + of(node.args[0]).cost, { node })
      case "[]":
        return at(node, of(node.args[0]), of(node.args[1]))
      case "[?]":
        return estimated(typeOf(node), 1 + of(node.args[0]).cost + of(node.args[1]).cost, { node })
      case "list":
        return list(node, node.args.map(of))
      case "map":
        return map(
          node,
          node.args.map(([key]) => of(key)),
          node.args.map(([, value]) => of(value))
        )
      case "?:": {
        const [condition, yes, no] = [of(node.args[0]), of(node.args[1]), of(node.args[2])]
        return estimated(typeOf(node), condition.cost + Math.max(yes.cost, no.cost), {
          node,
          size: Size.union(sizeOr(yes), sizeOr(no)),
          entries: unite(yes.entries, no.entries)
        })
      }
      case "||":
      case "&&":
        return estimated(bool, of(node.args[0]).cost + of(node.args[1]).cost, { node })
      case "-_":
        // The parser of cel-go reads a negative number as one literal.
        if (node.args.op === "value") return estimated(typeOf(node), 0, { node, size: Size.fixed(1) })
        return estimated(typeOf(node), 1 + of(node.args).cost, { node })
      case "!_":
        return estimated(bool, 1 + of(node.args).cost, { node })
      case "call": {
        const [name, args] = node.args
        if (name === "has") return has(node, args[0], of)
        return Calls.estimate(estimator, node, name, undefined, args.map(of))
      }
      case "rcall": {
        const [name, receiver, args] = node.args
        const macro = MacroCosts.estimate(estimator, node, name, receiver, args, scope)
        if (macro !== undefined) return macro
        const namespace =
          receiver.op === "id" && typeOf(receiver).name.endsWith("Namespace") ? receiver.args : undefined
        if (namespace !== undefined)
          return Calls.estimate(estimator, node, `${namespace}.${name}`, undefined, args.map(of))
        const given = name === "format" ? args.map(formatted) : args
        return Calls.estimate(estimator, node, name, of(receiver), given.map(of))
      }
      default:
        return Calls.operator(estimator, node, of(node.args[0]), of(node.args[1]))
    }
  }
  const has = (node: ASTNode, argument: ASTNode | undefined, of: (node: ASTNode) => Estimated): Estimated => {
    const operand = argument?.op === "." || argument?.op === ".?" ? of(argument.args[0]).cost : 0
    return estimated(bool, operand, { node })
  }
  const estimator: Estimator = { estimate, estimated, sizeAt }
  return estimate(expression, new Map()).cost
}

const sum = (all: ReadonlyArray<Estimated>): number => all.reduce((total, { cost }) => total + cost, 0)

/** Returns the argument of `format` without the conversions that `Expression` adds to its items. */
const formatted = (node: ASTNode): ASTNode => {
  if (node.op !== "list") return node
  const args = node.args.map((item) =>
    item.op === "call" && item.args[0] === "dyn" ? (item.args[1][0] ?? item) : item
  )
  return { ...node, op: node.op, args, pos: node.pos, range: node.range }
}
