/**
 * Macros that the library does not have: comprehensions with two variables (`ext.TwoVarComprehensions`), `sortBy`, and the macros of
 * optional values.
 */
import { type Environment, Optional } from "@marcbachmann/cel-js"
import { type Comparable, failure } from "./Value.ts"

/** Adds the macros and the functions of optional values to an environment. Returns the same environment. */
export const register = (env: Environment): Environment => {
  for (const [signature, expand] of macros) env.registerFunction(signature, expand)
  for (const [signature, handler] of Object.entries(functions)) env.registerFunction(signature, handler)
  return env
}

/** The parts of the library's interface that the macros use. */
interface Node {
  readonly op: string
  readonly args: unknown
}
interface Type {
  readonly kind: string
  readonly name: string
  readonly keyType?: Type
  readonly valueType?: Type
}
interface Checker {
  readonly check: (node: Node, scope: Scope) => Type
  readonly getType: (name: string) => Type
  readonly createError: (code: string, message: string, node: Node) => Error
}
interface Evaluator {
  readonly run: (node: Node, scope: Scope) => unknown
}
interface Scope {
  readonly forkWithVariable: (name: string, type: Type) => Scope
  readonly reuse: (parent: Scope) => Scope
  readonly setIterValue: (value: unknown, evaluator: Evaluator) => Scope
}
interface Call {
  readonly args: ReadonlyArray<Node>
  readonly receiver: Node
}
interface Macro {
  readonly async: false
  readonly typeCheck: (checker: Checker, macro: unknown, scope: Scope) => Type
  readonly evaluate: (evaluator: Evaluator, macro: unknown, scope: Scope) => unknown
}

/** The result of a macro over entries. Each entry is a function that evaluates the expressions for it. */
interface Fold {
  /** Returns the type of the result, given the types of the expressions. */
  readonly type: (types: ReadonlyArray<Type>, checker: Checker) => Type
  /** Whether the first expression is a condition: if it is not true, the macro skips the other expressions of the entry. */
  readonly filters: boolean
  readonly of: (entries: Iterable<() => ReadonlyArray<unknown>>) => unknown
}

/** Makes a macro over the entries of a list (index, item) or a map (key, value). */
const overEntries =
  ({ filters, of, type }: Fold) =>
  ({ args: [first, second, ...expressions], receiver }: Call): Macro => {
    let outer: Scope | undefined
    let inner: Scope | undefined
    return {
      async: false,
      typeCheck: (checker, _, scope) => {
        const range = checker.check(receiver, scope)
        const dyn = checker.getType("dyn")
        const key = range.kind === "list" ? checker.getType("int") : (range.keyType ?? dyn)
        outer = scope.forkWithVariable(nameOf(first), key)
        inner = outer.forkWithVariable(nameOf(second), range.valueType ?? dyn)
        const within = inner
        const types = expressions.map((expression) => checker.check(expression, within))
        const [condition] = types
        if (filters && condition !== undefined && !["bool", "dyn"].includes(condition.name)) {
          throw checker.createError(
            "invalid_predicate",
            `predicate must return bool, got '${condition.name}'`,
            receiver
          )
        }
        return type(types, checker)
      },
      evaluate: (evaluator, _, scope) => {
        if (outer === undefined || inner === undefined) throw failure("not checked")
        const around = outer.reuse(scope)
        const within = inner.reuse(around)
        return of(
          entriesOf(evaluator.run(receiver, scope)).map(([key, value]) => () => {
            around.setIterValue(key, evaluator)
            within.setIterValue(value, evaluator)
            const values: Array<unknown> = []
            for (const [at, expression] of expressions.entries()) {
              if (filters && at > 0 && values[0] !== true) break
              values.push(evaluator.run(expression, within))
            }
            return values
          })
        )
      }
    }
  }

const nameOf = (node: Node | undefined): string => {
  if (node?.op !== "id" || typeof node.args !== "string") throw failure("argument must be a simple name")
  return node.args
}

const entriesOf = (range: unknown): ReadonlyArray<readonly [unknown, unknown]> => {
  if (Array.isArray(range) || range instanceof Set) return [...range].map((item, index) => [BigInt(index), item])
  if (range instanceof Map) return [...range]
  if (typeof range === "object" && range !== null) return Object.entries(range)
  throw failure("no such overload")
}

/** Stops at the first entry with the value `by`. Throws the first error only if all entries lack this value. */
const decided = (by: boolean) => (entries: Iterable<() => ReadonlyArray<unknown>>) => {
  let problem: unknown
  for (const entry of entries) {
    try {
      if (entry()[0] === by) return by
    } catch (error) {
      problem ??= error
    }
  }
  if (problem !== undefined) throw problem
  return !by
}

const bool: Fold["type"] = (_, checker) => checker.getType("bool")

const last = (values: ReadonlyArray<unknown>, expressions: 1 | 2): ReadonlyArray<unknown> =>
  values.length === expressions ? values.slice(-1) : []

const transformList = (expressions: 1 | 2): Fold => ({
  filters: expressions === 2,
  type: (types, checker) => checker.getType(`list<${types.at(-1)?.name ?? "dyn"}>`),
  of: (entries) => Array.from(entries, (entry) => last(entry(), expressions)).flat(1)
})

/** Makes the macro `transformMap`. Its result needs the keys of the entries, so it evaluates the key as one more expression. */
const transformMap =
  (filters: boolean) =>
  (call: Call): Macro => {
    const [key] = call.args
    if (key === undefined) throw failure("argument must be a simple name")
    const [first, second, ...expressions] = call.args
    if (first === undefined || second === undefined) throw failure("argument must be a simple name")
    const keyed = overEntries({
      filters,
      type: (types, checker) => {
        const transformed = types[filters ? 1 : 0]
        return checker.getType(`map<${types.at(-1)?.name ?? "dyn"}, ${transformed?.name ?? "dyn"}>`)
      },
      of: (entries) =>
        new Map(
          Array.from(entries, (entry) => entry()).flatMap((values) => {
            const expected = filters ? 3 : 2
            return values.length === expected ? [[values.at(-1), values.at(-2)] as const] : []
          })
        )
    })
    return keyed({ receiver: call.receiver, args: [first, second, ...expressions, key] })
  }

const sortBy = ({ args: [variable, key], receiver }: Call): Macro => {
  let inner: Scope | undefined
  return {
    async: false,
    typeCheck: (checker, _, scope) => {
      const list = checker.check(receiver, scope)
      inner = scope.forkWithVariable(nameOf(variable), list.valueType ?? checker.getType("dyn"))
      if (key !== undefined) checker.check(key, inner)
      return list
    },
    evaluate: (evaluator, _, scope) => {
      const within = inner?.reuse(scope)
      if (within === undefined || key === undefined) throw failure("not checked")
      const keyed = entriesOf(evaluator.run(receiver, scope)).map(([, item]) => {
        within.setIterValue(item, evaluator)
        return { item, key: evaluator.run(key, within) as Comparable }
      })
      return keyed
        .sort((one, other) => (one.key < other.key ? -1 : one.key > other.key ? 1 : 0))
        .map(({ item }) => item)
    }
  }
}

/** `optional.optMap(x, …)` and `optFlatMap` evaluate an expression for the value of an optional, if it has a value. */
const optional =
  (flat: boolean) =>
  ({ args: [variable, expression], receiver }: Call): Macro => {
    let inner: Scope | undefined
    return {
      async: false,
      typeCheck: (checker, _, scope) => {
        const of = checker.check(receiver, scope)
        inner = scope.forkWithVariable(nameOf(variable), of.valueType ?? checker.getType("dyn"))
        if (expression === undefined) return checker.getType("optional")
        const type = checker.check(expression, inner)
        return flat ? type : checker.getType(`optional<${type.name}>`)
      },
      evaluate: (evaluator, _, scope) => {
        const of = evaluator.run(receiver, scope)
        const within = inner?.reuse(scope)
        if (!(of instanceof Optional)) throw failure("no such overload")
        if (within === undefined || expression === undefined || !of.hasValue()) return Optional.none()
        const made = evaluator.run(expression, within.setIterValue(of.value(), evaluator))
        return flat ? made : Optional.of(made)
      }
    }
  }

const all: Fold = { filters: false, type: bool, of: decided(false) }
const exists: Fold = { filters: false, type: bool, of: decided(true) }
const existsOne: Fold = {
  filters: false,
  type: bool,
  of: (entries) => Array.from(entries, (entry) => entry()[0]).filter((holds) => holds === true).length === 1
}

const macros: ReadonlyArray<readonly [signature: string, expand: (call: Call) => Macro]> = [
  ["list.all(ast, ast, ast): bool", overEntries(all)],
  ["list.exists(ast, ast, ast): bool", overEntries(exists)],
  ["list.existsOne(ast, ast, ast): bool", overEntries(existsOne)],
  ["list.transformList(ast, ast, ast): list<dyn>", overEntries(transformList(1))],
  ["list.transformList(ast, ast, ast, ast): list<dyn>", overEntries(transformList(2))],
  ["list.transformMap(ast, ast, ast): map<dyn, dyn>", transformMap(false)],
  ["list.transformMap(ast, ast, ast, ast): map<dyn, dyn>", transformMap(true)],
  ["list.sortBy(ast, ast): list<dyn>", sortBy],
  ["optional.optMap(ast, ast): optional<dyn>", optional(false)],
  ["optional.optFlatMap(ast, ast): optional<dyn>", optional(true)]
]

const isZero = (value: unknown): boolean =>
  value === null ||
  value === "" ||
  value === false ||
  value === 0 ||
  value === 0n ||
  (Array.isArray(value) && value.length === 0) ||
  ((value instanceof Map || value instanceof Set) && value.size === 0)

const functions: { readonly [signature: string]: (...args: never) => unknown } = {
  "OptionalNamespace.ofNonZeroValue(A): optional<A>": (_: unknown, value: unknown) =>
    isZero(value) ? Optional.none() : Optional.of(value),
  "list<A>.first(): optional<A>": (list: Iterable<unknown>) => Optional.of([...list][0]),
  "list<A>.last(): optional<A>": (list: Iterable<unknown>) => Optional.of([...list].at(-1)),
  "list<optional<A>>.unwrapOpt(): list<A>": (list: Iterable<Optional>) =>
    [...list].filter((one) => one.hasValue()).map((one) => one.value())
}
