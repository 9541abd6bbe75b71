/**
 * Functions of strings that the library does not have: those of cel-go's `ext.Strings` (version 2), and Kubernetes' regular
 * expressions (RE2). `Expression` replaces the library's `matches` by `matchesRe2`.
 */
import type { Environment } from "@marcbachmann/cel-js"
import type { Expression } from "../crd/LinearExpression.ts"
import * as RegularExpression from "../crd/RegularExpression.ts"
import { failure, isList } from "./Value.ts"

/** Adds the functions to an environment. Returns the same environment. */
export const register = (env: Environment): Environment => {
  for (const [signature, handler] of Object.entries(functions)) env.registerFunction(signature, handler)
  env.registerType("StringsNamespace", StringsNamespace)
  env.registerConstant("strings", "StringsNamespace", new StringsNamespace())
  env.registerFunction("StringsNamespace.quote(string): string", (_: unknown, text: string) => JSON.stringify(text))
  return env
}

class StringsNamespace {}

const expression = (pattern: string): Expression => {
  const compiled = RegularExpression.compile(pattern)
  if ("problem" in compiled) throw failure(compiled.problem)
  return compiled.expression
}

const findAll = (text: string, pattern: string, limit = -1n): ReadonlyArray<string> => {
  const found = [...expression(pattern).findAll(text)]
  return limit < 0n ? found : found.slice(0, Number(limit))
}

const replace = (text: string, old: string, by: string, limit = -1n): string => {
  if (limit < 0n) return text.replaceAll(old, () => by)
  const parts = text.split(old)
  const times = Math.min(Number(limit), parts.length - 1)
  return [parts.slice(0, times + 1).join(by), ...parts.slice(times + 1)].join(old)
}

const charAt = (text: string, at: bigint): string => {
  const characters = [...text]
  if (at < 0n || at > BigInt(characters.length)) throw failure(`index out of range: ${at}`)
  return characters[Number(at)] ?? ""
}

const functions: { readonly [signature: string]: (...args: never) => unknown } = {
  "string.matchesRe2(string): bool": (text: string, pattern: string) => expression(pattern).test(text),
  // `matches` as a function. The entry above is the method.
  "matches(string, string): bool": (text: string, pattern: string) => expression(pattern).test(text),
  "string.find(string): string": (text: string, pattern: string) => expression(pattern).find(text) ?? "",
  "string.findAll(string): list<string>": findAll,
  "string.findAll(string, int): list<string>": findAll,
  "string.replace(string, string): string": replace,
  "string.replace(string, string, int): string": replace,
  "string.charAt(int): string": charAt,
  "string.format(list): string": (pattern: string, values: Iterable<unknown>) => format(pattern, [...values])
}

/** Formats values as `'%s of %d'.format(['a', 1])` does. Throws if the values are too few, or a clause does not fit its value. */
const format = (pattern: string, values: ReadonlyArray<unknown>): string => {
  let next = 0
  return pattern.replace(
    /%(?:%|(?:\.(\d+))?([a-zA-Z]))/g,
    (clause, precision: string | undefined, verb: string | undefined) => {
      if (verb === undefined) return "%"
      if (next >= values.length) throw failure(`index ${next} out of range`)
      return formatted(verb, values[next++], precision === undefined ? undefined : Number(precision), clause)
    }
  )
}

const formatted = (verb: string, value: unknown, precision: number | undefined, clause: string): string => {
  const isNumber = typeof value === "bigint" || typeof value === "number"
  if (verb === "s") return shown(value)
  if (verb === "d" && isNumber) return String(value)
  if (verb === "f" && isNumber) return Number(value).toFixed(precision ?? 6)
  if (verb === "e" && isNumber)
    return Number(value)
      .toExponential(precision ?? 6)
      .replace(/e([+-])(\d)$/, "e$10$2")
  if (verb === "b" && (typeof value === "bigint" || typeof value === "boolean")) return BigInt(value).toString(2)
  if (verb === "o" && typeof value === "bigint") return value.toString(8)
  if ((verb === "x" || verb === "X") && (typeof value === "bigint" || typeof value === "string")) {
    const digits = typeof value === "bigint" ? value.toString(16) : Buffer.from(value).toString("hex")
    return verb === "X" ? digits.toUpperCase() : digits
  }
  throw failure(`could not parse formatting clause: unrecognized formatting clause "${clause.slice(1)}"`)
}

const shown = (value: unknown): string => {
  if (isList(value)) return `[${[...value].map(shown).join(", ")}]`
  if (value instanceof Map) {
    return `{${[...value]
      .map(([key, member]) => `${shown(key)}: ${shown(member)}`)
      .sort()
      .join(", ")}}`
  }
  if (value instanceof Date) return value.toISOString().replace(/\.000Z$/, "Z")
  return String(value)
}
