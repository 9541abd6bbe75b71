/** The estimated costs of the operators and functions of cel-go and Kubernetes. */
import type { ASTNode } from "@marcbachmann/cel-js"
import * as Estimate from "./Estimated.ts"
import * as Size from "./Size.ts"

type Estimated = Estimate.Estimated

const isText = ({ type }: Estimated): boolean => type.name === "string" || type.name === "bytes"

const isUnknown = ({ type }: Estimated): boolean => type.kind === "dyn"

const traversed = (of: Estimated | undefined, times = 1): number =>
  of === undefined ? 1 : Size.scaled(Estimate.sizeOr(of).max, times * Size.perCharacter)

/** Returns the cost of comparing two values, which depends on the smaller one. */
const compared = (left: Estimated, right: Estimated): number =>
  Size.scaled(Math.min(Estimate.sizeOr(left).max, Estimate.sizeOr(right).max), Size.perCharacter)

/** Types of Kubernetes for which `==` costs one unit. */
const opaque: ReadonlySet<string> = new Set([
  "kubernetes.Quantity",
  "kubernetes.Semver",
  "net.IP",
  "net.CIDR",
  "net.URL"
])

/** Estimates an operator with two operands. */
export const operator = (
  { estimated }: Estimate.Estimator,
  node: ASTNode,
  left: Estimated,
  right: Estimated
): Estimated => {
  const type = Estimate.typeOf(node)
  const operands = left.cost + right.cost
  const plain = (cost: number) => estimated(type, operands + cost, { node })
  const mayBeText = [left, right].every((one) => isText(one) || isUnknown(one))
  switch (node.op) {
    case "==":
    case "!=":
      return plain(node.op === "==" && opaque.has(left.type.name) ? 1 : compared(left, right))
    case "<":
    case "<=":
    case ">":
    case ">=": {
      if (!mayBeText) return plain(1)
      const cost = compared(left, right)
      return plain(isText(left) || isText(right) ? cost : Math.max(1, cost))
    }
    case "in":
      return plain(right.type.kind === "list" || isUnknown(right) ? Math.max(Estimate.sizeOr(right).max, 0) : 1)
    case "+": {
      const isList = [left, right].some((one) => one.type.kind === "list")
      if (!isList && !mayBeText) return plain(1)
      const size = Size.add(Estimate.sizeOr(left), Estimate.sizeOr(right))
      const entries = Estimate.unite(left.entries, right.entries)
      const cost = isList ? 1 : Size.scaled(size.max, Size.perCharacter)
      return estimated(type, operands + cost, { node, size, entries })
    }
    default:
      return plain(1)
  }
}

/** Returns the cost of a call without its arguments, and the size of its result if it is known. */
type Call = (
  args: ReadonlyArray<Estimated>,
  target: Estimated | undefined,
  estimator: Estimate.Estimator
) => { readonly cost: number; readonly size?: Size.Size }

const nominal: Call = () => ({ cost: 1 })

const pattern = (text: Estimated | undefined, regex: Estimated | undefined): number => {
  if (text === undefined || regex === undefined) return 1
  const strings = Size.scaled(Size.capped(Estimate.sizeOr(text).max + 1), Size.perCharacter)
  return Size.capped(strings * Size.scaled(Estimate.sizeOr(regex).max, Size.perPatternCharacter))
}

const matches: Call = (args, target) => ({
  cost: target === undefined ? pattern(args[0], args[1]) : pattern(target, args[0])
})

const find: Call = ([regex], target) => ({
  cost: pattern(target, regex),
  ...(target === undefined ? {} : { size: { min: 0, max: Estimate.sizeOr(target).max } })
})

/** The cost of a call that reads its first argument once, or `times` times. */
const reads =
  (times = 1): Call =>
  ([text]) => ({ cost: traversed(text, times) })

/** The cost of a call that reads its target and returns a text that is not longer. */
const rewrites: Call = (_, target) =>
  target === undefined ? { cost: 1 } : { cost: traversed(target), size: Estimate.sizeOr(target) }

/** The cost of a call that compares each item of a list, or reads a text. */
const walks: Call = (_, target, { sizeAt }) => {
  if (target === undefined) return { cost: 1 }
  const size = Estimate.sizeOr(target)
  const { valueType } = target.type
  if (target.type.kind !== "list" || valueType === undefined) return { cost: traversed(target) }
  const isOfTexts = valueType.name === "string" || valueType.name === "bytes"
  const item = (target.path.length === 0 ? undefined : sizeAt([...target.path, "@items"])) ?? Size.unknown
  return { cost: Size.capped(size.max * (1 + (isOfTexts ? Size.scaled(item.max, Size.perCharacter) : 0))) }
}

const replace: Call = ([old, by], target) => {
  if (target === undefined || old === undefined || by === undefined) return { cost: 1 }
  const [text, from, to] = [Estimate.sizeOr(target), Estimate.sizeOr(old), Estimate.sizeOr(by)]
  const most =
    from.min === 0
      ? Size.capped(Size.capped(text.max + 1) * to.max + text.max)
      : to.max <= from.min
        ? text.max
        : Size.capped(Math.ceil(text.max / from.min) * to.max)
  const least =
    from.max === 0
      ? Size.capped((text.min + 1) * to.min + text.min)
      : from.max <= to.min
        ? text.min
        : Math.ceil(text.min / from.max) * to.min
  return { cost: traversed(target, 2), size: { min: least, max: most } }
}

const split: Call = (args, target) => {
  if (target === undefined) return { cost: 1 }
  const limit = numberOf(args[1])
  const max = limit === undefined ? Estimate.sizeOr(target).max : limit < 0 ? Size.unknown.max : limit
  return { cost: traversed(target, 2), size: { min: 0, max } }
}

const join: Call = ([separator], target, { sizeAt }) => {
  if (target === undefined) return { cost: 1 }
  const list = Estimate.sizeOr(target)
  const item = (target.path.length === 0 ? undefined : sizeAt([...target.path, "@items"])) ?? Size.unknown
  const texts = target.type.valueType === undefined ? Size.fixed(0) : Size.multiply(list, item)
  const separators = { min: Math.max(0, list.min - 1), max: Math.max(0, list.max - 1) }
  const size = separator === undefined ? texts : Size.add(texts, Size.multiply(Estimate.sizeOr(separator), separators))
  return { cost: Size.scaled(size.max, Size.perCharacter), size }
}

/** Returns the number of a literal argument; undefined: the argument is not an integer literal. */
const numberOf = (argument: Estimated | undefined): number | undefined =>
  argument?.node?.op === "value" && typeof argument.node.args === "bigint" ? Number(argument.node.args) : undefined

/** The cost of a call that makes a new list of a size. */
const allocated = (size: Size.Size, factor = 1) => ({
  cost: Size.capped(Size.scaled(size.max, factor) + 1 + Size.newList),
  size
})

/** The cost of a call that compares the items of a list with each other. */
const selfCompared =
  (isSort: boolean): Call =>
  (_, target) => {
    if (target === undefined) return { cost: 1 }
    const size = Estimate.sizeOr(target)
    const { name } = target.type.valueType ?? { name: "" }
    const isOfTexts = isSort && (name === "string" || name === "bytes")
    return allocated(Size.multiply(size, size), isOfTexts ? 2 + Size.perCharacter : 2)
  }

const sets =
  (factor: number): Call =>
  ([one, other]) => {
    if (one === undefined || other === undefined) return { cost: 1 }
    const size = Size.multiply(Estimate.sizeOr(one), Estimate.sizeOr(other))
    return { cost: Size.capped(Size.scaled(size.max, factor) + 1) }
  }

/** The greatest length of an address, in bytes. */
const longestAddress = 16

const within =
  (extra: number): Call =>
  ([other]) => {
    const comparison = Size.scaled(2 * longestAddress, Size.perCharacter) + extra
    return { cost: comparison + (other?.type.name === "string" ? traversed(other) : 0) }
  }

const functions: { readonly [name: string]: Call | undefined } = {
  check: () => ({ cost: 350_000 }),
  fieldSelector: ([text]) => ({ cost: selector(text) }),
  labelSelector: ([text]) => ({ cost: selector(text) }),
  isSorted: walks,
  sum: walks,
  max: walks,
  min: walks,
  indexOf: walks,
  lastIndexOf: walks,
  url: ([text]) => ({ cost: traversed(text), ...(text === undefined ? {} : { size: Estimate.sizeOr(text) }) }),
  lowerAscii: rewrites,
  upperAscii: rewrites,
  substring: rewrites,
  trim: rewrites,
  replace,
  split,
  join,
  find,
  findAll: find,
  matches,
  matchesRe2: matches,
  cidr: reads(),
  isIP: reads(),
  isCIDR: reads(),
  // Without an argument, `ip` is the method of a CIDR, which reads a field.
  ip: ([text]) => ({ cost: text === undefined ? 1 : traversed(text) }),
  "ip.isCanonical": reads(2),
  containsIP: within(0),
  containsCIDR: within(Size.scaled(longestAddress, Size.perCharacter) + 1),
  quantity: reads(),
  isQuantity: reads(),
  semver: reads(),
  isSemver: reads(),
  // The longest pattern of a format has 128 characters.
  validate: ([text]) => ({ cost: Size.scaled(traversed(text), 128 * Size.perPatternCharacter) }),
  startsWith: reads(),
  endsWith: reads(),
  contains: ([part], target) => ({ cost: target === undefined ? 1 : Size.capped(traversed(target) * traversed(part)) }),
  format: (_, target) => ({ cost: traversed(target) }),
  "strings.quote": ([text]) => {
    const { max, min } = text === undefined ? Size.unknown : Estimate.sizeOr(text)
    return { cost: traversed(text), size: { min: min + 2, max: Size.capped(max * 2 + 2) } }
  },
  bytes: ([text]) => {
    if (text === undefined || !(isText(text) || isUnknown(text))) return { cost: 1 }
    const { max, min } = Estimate.sizeOr(text)
    return { cost: traversed(text), size: { min, max: Size.capped(max * 4) } }
  },
  string: ([value]) => {
    if (value === undefined || !(value.type.name === "bytes" || isUnknown(value))) return { cost: 1 }
    const { max, min } = Estimate.sizeOr(value)
    return { cost: traversed(value), size: { min: Math.floor(min / 4), max } }
  },
  dyn: ([value]) => ({ cost: 1, ...(value?.size === undefined ? {} : { size: value.size }) }),
  slice: ([start, end], target) => {
    const last = numberOf(end) ?? (target === undefined ? Size.unknown.max : Estimate.sizeOr(target).max)
    return allocated(Size.fixed(Math.max(0, last - (numberOf(start) ?? 0))))
  },
  flatten: ([depth], target) =>
    target === undefined
      ? { cost: 1 }
      : allocated(Estimate.sizeOr(target), depth === undefined ? 1 : (numberOf(depth) ?? Size.unknown.max)),
  reverse: (_, target) => (target === undefined ? { cost: 1 } : allocated(Estimate.sizeOr(target))),
  distinct: selfCompared(false),
  sort: selfCompared(true),
  "lists.range": ([size]) => allocated(Size.fixed(numberOf(size) ?? Size.unknown.max)),
  "sets.contains": sets(1),
  "sets.intersects": sets(1),
  "sets.equivalent": sets(2)
}

/** Returns the cost of parsing a selector: a list of requirements, each of which has at least two characters. */
const selector = (text: Estimated | undefined): number => {
  const length = text === undefined ? Size.unknown.max : Estimate.sizeOr(text).max
  return Size.capped(Size.newList + traversed(text) + Size.scaled(Size.scaled(length, 0.5), Size.newList + 40))
}

/** Estimates a call of a function or method. A function without an entry above costs one unit. */
export const estimate = (
  estimator: Estimate.Estimator,
  node: ASTNode,
  name: string,
  target: Estimated | undefined,
  args: ReadonlyArray<Estimated>
): Estimated => {
  const call = (Object.hasOwn(functions, name) ? functions[name] : undefined) ?? nominal
  const { cost, size } = call(args, target, estimator)
  const own = args.reduce((sum, argument) => sum + argument.cost, cost) + (target?.cost ?? 0)
  const entries = name === "dyn" ? args[0]?.entries : undefined
  return estimator.estimated(Estimate.typeOf(node), own, { node, size, entries })
}
