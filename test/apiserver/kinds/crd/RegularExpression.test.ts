import { describe, expect, test } from "bun:test"
import type { Expression } from "./LinearExpression.ts"
import * as RegularExpression from "./RegularExpression.ts"

const compiled = (pattern: string): Expression => {
  const made = RegularExpression.compile(pattern)
  if ("problem" in made) throw new Error(made.problem)
  return made.expression
}

test.each([
  ["a(?i)bc", "aBC", true],
  ["(a(?i)b)c", "aBC", false],
  ["(?i)^abc$", "ABC", true],
  ["^a(?i)b|c", "xC", true],
  ["(?i)a\\P{Lu}", "ab", false],
  ["(?i:A)b", "ab", true],
  ["(?s).", "\n", true],
  [".", "\r", true],
  [".", "\n", false],
  ["\\s", "\u00a0", false],
  ["^[^\\s]$", "\u000b", true],
  ["^[\\S ]$", "\u00a0", true],
  ["^[\\S ]$", "\t", false],
  ["^[[:alpha:]]+\\z", "ab", true],
  ["^[[:^digit:]]$", "1", false],
  ["(?P<x>a)", "a", true],
  ["[]a]", "]", true],
  ["[a\\-z]", "-", true],
  ["[^\\]]", "]", false],
  ["\\Qa.b\\E", "axb", false],
  ["\\pL", "é", true],
  ["\\p{Greek}", "α", true],
  ["\\p{^Greek}", "α", false],
  ["\\P{^Lu}", "A", true],
  ["^[\\x{41}\\p{Greek}]+$", "Aα", true],
  ["^{x}$", "{x}", true],
  ["^a{2}$", "aa", true],
  ["^\\x{41}$", "A", true],
  ["a@b", "a@b", true],
  ["^(a+)+$", "aaa", true],
  ["^(a|b)*c[[:alpha:]]*(?i)d$", "abcabD", true],
  ["^\\p{Greek}+[\\x{41}\\-]*$", "αA-", true],
  ["^([a-z]{1000})*$", "a".repeat(1000), true]
])("%p of %p", (pattern, text, matches) => {
  expect(compiled(pattern).test(text)).toBe(matches)
})

test.each([
  ["a(b", "missing closing ): `a(b`"],
  ["a)", "unexpected ): `a)`"],
  ["(?=a)", "invalid or unsupported Perl syntax: `(?=`"],
  ["(?!a)", "invalid or unsupported Perl syntax: `(?!`"],
  ["(?<!a)b", "invalid named capture: `(?<!a)b`"],
  ["(?<=a)b", "invalid named capture: `(?<=a)b`"],
  ["[\\b]", "invalid escape sequence: `\\b`"],
  ["a\\", "trailing backslash at end of expression: ``"],
  ["(?P<n>a)(?P<n>b){1001}", "invalid repeat count: `{1001}`"],
  ["\\1", "invalid escape sequence: `\\1`"],
  ["*a", "missing argument to repetition operator: `*`"],
  ["a|*", "missing argument to repetition operator: `*`"],
  ["(+)", "missing argument to repetition operator: `+`"],
  ["a**", "invalid nested repetition operator: `**`"],
  ["a*?{2}", "invalid nested repetition operator: `*?{2}`"],
  ["x{2}{3}?", "invalid nested repetition operator: `{2}{3}?`"],
  ["a{1001}", "invalid repeat count: `{1001}`"],
  ["a{3,2}", "invalid repeat count: `{3,2}`"],
  ["((a{20}){5}b){11}", "invalid repeat count: `{11}`"]
])("%p is invalid in Go", (pattern, problem) => {
  expect(RegularExpression.compile(pattern)).toEqual({ problem: `error parsing regexp: ${problem}` })
})

describe("a regular expression takes linear time", () => {
  const long = "a".repeat(50_000)
  test.each([
    ["^(a+)+$", `${long}!`],
    ["^([a-z0-9]+-?)+$", `${long}_`],
    ["^(a|aa)+$", `${long}!`],
    ["^(a?){50}a{50}$", "a".repeat(49)],
    ["^a*a*a*a*$", `${long}!`],
    ["a*b", long],
    ["^(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)$", "a"],
    ["(?m)^a+$", `${long}!`],
    ["^b|a*$", `${long}!`],
    [`^[${"\\a".repeat(60)}`, ""]
  ])("%p", (pattern, text) => {
    const start = performance.now()
    const made = RegularExpression.compile(pattern)
    if ("expression" in made) made.expression.test(text)
    expect(performance.now() - start).toBeLessThan(3000)
  })
})

test.each([
  ["a+", "baab a", ["aa", "a"]],
  ["^a", "aa", ["a"]],
  ["a*", "baac", ["", "aa", ""]],
  ["(a|ab)(c|bcd)", "abcd", ["abcd"]],
  ["(a*)+", "baac", ["", "aa", ""]],
  ["a?", "é😀a", ["", "", "a"]],
  ["(|a)?", "a", ["", ""]],
  ["x", "abc", []]
])("all of %p in %p", (pattern, text, found) => {
  const expression = compiled(pattern)
  expect([...expression.findAll(text)]).toEqual(found)
  expect(expression.find(text)).toBe(found[0])
})
