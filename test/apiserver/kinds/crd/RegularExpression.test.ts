import { expect, test } from "bun:test"
import * as RegularExpression from "./RegularExpression.ts"

test.each([
  ["a(?i)bc", "aBC", true],
  ["(a(?i)b)c", "aBC", false],
  ["(?i)^abc$", "ABC", true],
  ["(?i:A)b", "ab", true],
  ["(?s).", "\n", true],
  ["^[[:alpha:]]+\\z", "ab", true],
  ["^[[:^digit:]]$", "1", false],
  ["(?P<x>a)", "a", true],
  ["[]a]", "]", true],
  ["[a\\-z]", "-", true],
  ["[^\\]]", "]", false],
  ["\\Qa.b\\E", "axb", false],
  ["\\pL", "é", true],
  ["\\p{Greek}", "α", true],
  ["^{x}$", "{x}", true],
  ["^a{2}$", "aa", true],
  ["^\\x{41}$", "A", true],
  ["a@b", "a@b", true]
])("%p of %p", (pattern, text, matches) => {
  expect(RegularExpression.matches(pattern, text)).toBe(matches)
})

test.each([
  ["a(b", "error parsing regexp: missing closing ): `a(b`"],
  ["a)", "error parsing regexp: unexpected ): `a)`"],
  ["(?=a)", "error parsing regexp: invalid or unsupported Perl syntax: `(?=`"],
  ["(?<!a)b", "error parsing regexp: invalid or unsupported Perl syntax: `(?<!`"],
  ["\\1", "error parsing regexp: invalid escape sequence: `\\1`"],
  ["*a", "error parsing regexp: missing argument to repetition operator: `*`"]
])("%p is none in Go", (pattern, problem) => {
  expect(RegularExpression.compile(pattern)).toEqual({ problem })
})
