import { describe, expect, test } from "bun:test"
import * as fc from "fast-check"
import * as Passages from "./Passages.ts"

const marked = (text: string, ...words: ReadonlyArray<string>): string =>
  Passages.make(words).replaced(text, (passage) => `<${passage}>`)

describe("The passages of a text", () => {
  const cases: ReadonlyArray<readonly [what: string, text: string, words: ReadonlyArray<string>, shown: string]> = [
    ["no words", "abc", [], "abc"],
    ["an empty word", "abc", [""], "abc"],
    ["an empty text", "", ["a"], ""],
    ["a word at both ends", "abcab", ["ab"], "<ab>c<ab>"],
    ["neighbours", "abab", ["ab"], "<ab><ab>"],
    ["a word within a word", "xabcdx", ["abcd", "bc"], "x<abcd>x"],
    ["words that overlap", "xabcdex", ["abc", "cde"], "x<abcde>x"],
    ["a word that overlaps itself", "ababa", ["aba"], "<ababa>"],
    ["a chain that a later word joins", "abxcd", ["ab", "cd", "abxcd"], "<abxcd>"],
    ["a false start", "aab", ["ab"], "a<ab>"],
    ["characters of two code units", "a😀b", ["😀"], "a<😀>b"]
  ]
  for (const [what, text, words, shown] of cases) {
    test(`are found with ${what}`, () => expect(marked(text, ...words)).toBe(shown))
  }

  test("are those of a search for one word after the other", () => {
    const letters = fc.string({ unit: fc.constantFrom("a", "b", "c"), maxLength: 30 })
    const word = fc.string({ unit: fc.constantFrom("a", "b", "c"), minLength: 1, maxLength: 5 })
    fc.assert(
      fc.property(letters, fc.array(word, { maxLength: 6 }), (text, words) => {
        const isHidden = Array.from(text, () => false)
        for (const each of words) {
          for (let at = text.indexOf(each); at >= 0; at = text.indexOf(each, at + 1))
            isHidden.fill(true, at, at + each.length)
        }
        const shown = Passages.make(words).replaced(text, (passage) => "*".repeat(passage.length))
        expect(shown).toBe(Array.from(text, (letter, at) => (isHidden[at] ? "*" : letter)).join(""))
      }),
      { numRuns: 500 }
    )
  })
})
