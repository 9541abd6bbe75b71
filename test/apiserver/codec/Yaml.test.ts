import { describe, expect, test } from "bun:test"
import * as Yaml from "./Yaml.ts"

/** The result, or the message of the error. */
const outcomeOf = (text: string): unknown => {
  try {
    return Yaml.parse(text)
  } catch (error) {
    return String(error)
  }
}

describe("JSON as YAML", () => {
  const texts: ReadonlyArray<readonly [what: string, text: string]> = [
    ["an object", '{"b":{"c":[1,-2.5,true,null,"x"]},"a":"y"}'],
    ["an empty object", "{}"],
    ["texts that YAML reads as other types without quotes", '{"a":"yes","b":"010","c":"1.0","d":"null","e":"~"}'],
    ["escapes", '{"a":"\\n\\t\\"\\\\\\u0001","b":"ä€"}'],
    ["duplicate members", '{"a":1,"a":2}'],
    ["a merge key", '{"<<":{"a":1},"b":2}'],
    ["line breaks of YAML", '{"a":"x\u0085y\u2028z"}'],
    ["control characters", '{"a":"\u007f"}'],
    ["characters beyond 16 bits", '{"a":"\u{1f600}"}'],
    ["large numbers", '{"a":9007199254740993,"b":1e400,"c":12345678901234567890}'],
    ["numbers in another notation", '{"a":1.0,"b":1e3,"c":-0,"d":1e+21}'],
    ["blanks", '{ "a": 1 }'],
    ["a member named __proto__", '{"__proto__":{"a":1}}'],
    ["a long key", `{"${"k".repeat(1100)}":1}`],
    ["a deep list", `{"a":${"[".repeat(150)}${"]".repeat(150)}}`],
    ["a very deep list", `{"a":${"[".repeat(2000)}${"]".repeat(2000)}}`],
    ["a torn text", '{"a":']
  ]
  for (const [what, text] of texts) {
    // The reader of YAML, and not that of JSON, reads a text that starts with a blank.
    test(`has the same result as YAML: ${what}`, () => expect(outcomeOf(text)).toEqual(outcomeOf(` ${text}`)))
  }

  test("has sorted members", () =>
    expect(JSON.stringify(Yaml.parse('{"b":1,"a":{"d":1,"c":2}}').value)).toBe('{"a":{"c":2,"d":1},"b":1}'))
})
