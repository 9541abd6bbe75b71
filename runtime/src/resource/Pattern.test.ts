import { describe, expect, test } from "bun:test"
import { Result } from "effect"
import * as Pattern from "./Pattern.ts"

describe("Pattern", () => {
  const same: ReadonlyArray<readonly [RegExp, string]> = [
    [/^[a-z]([-a-z0-9]*[a-z0-9])?$/, "^[a-z]([-a-z0-9]*[a-z0-9])?$"],
    [/^\d+\.\w\S\\$/, String.raw`^\d+\.\w\S\\$`],
    [/^a\/b\\\/$/, String.raw`^a/b\\/$`],
    [/(?<year>\d{4})(?:-)/, String.raw`(?<year>\d{4})(?:-)`],
    [/[(?=]\(?=/, String.raw`[(?=]\(?=`],
    [/^.{0,1000}$/, "^.{0,1000}$"],
    [/a/gimsy, "(?ims)a"]
  ]
  for (const [regexp, pattern] of same) {
    test(`converts ${regexp} to ${pattern}`, () => expect(Pattern.fromRegExp(regexp)).toEqual(Result.succeed(pattern)))
  }

  const refused: ReadonlyArray<readonly [RegExp, string]> = [
    [/a(?=b)/, "a look-around"],
    [/a(?!b)/, "a look-around"],
    [/(?<=a)b/, "a look-around"],
    [/(?<!a)b/, "a look-around"],
    [/(a)\1/, "a back-reference"],
    [/(?<a>a)\k<a>/, "a back-reference"],
    [/\u00e9/, "a \\u escape"],
    [/[\u00e9]/, "a \\u escape"],
    [/\cA/, "a \\c escape"]
  ]
  for (const [regexp, what] of refused) {
    test(`rejects ${regexp}`, () =>
      expect(Pattern.fromRegExp(regexp)).toEqual(Result.fail(`has ${what}, which the API server's RE2 does not know`)))
  }

  test("rejects an empty class", () =>
    expect(Pattern.fromText("[^]")).toEqual(
      Result.fail("has an empty class, which the API server's RE2 does not know")
    ))

  test("rejects more than 1000 repetitions", () =>
    expect(Pattern.fromRegExp(/^a{1,1001}$/)).toEqual(
      Result.fail("repeats more than 1000 times, which the API server's RE2 does not do")
    ))

  test("accepts syntax of RE2 that JavaScript does not have", () =>
    expect(Pattern.fromText("(?i)^a$")).toEqual(Result.succeed("(?i)^a$")))

  test("escapes a literal text", () => {
    const text = "a.b*c+d?e^f$g{h}i(j)k|l[m]n\\o/p"
    expect(new RegExp(`^${Pattern.literal(text)}$`).test(text)).toBe(true)
  })
})
