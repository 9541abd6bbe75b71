import { describe, expect, test } from "bun:test"
import * as LabelSelector from "./LabelSelector.ts"

const labels = { a: "b", n: "5", empty: "" }

const takes = (text: string, taken: boolean) =>
  test(`${JSON.stringify(text)} ${taken ? "takes" : "leaves"} a=b,n=5,empty=`, () => {
    expect(LabelSelector.matches(LabelSelector.parse(text), labels)).toBe(taken)
  })

const says = (text: string, message: string) =>
  test(`${JSON.stringify(text)} is refused as the real server refuses it`, () => {
    expect(() => LabelSelector.parse(text)).toThrow(expect.objectContaining({ code: 400, message }))
  })

const value =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"

describe("a label selector", () => {
  for (const text of [
    "",
    "a",
    "!z",
    "a=b",
    "a==b",
    "a = b , n",
    "a!=c",
    "z!=c",
    "a in (b,c)",
    "a notin (c)",
    "z notin ()"
  ]) {
    takes(text, true)
  }
  for (const text of ["n>4", "n<6", "empty", "empty=", "empty in ()", "empty in (,x)", "a\tin\n(b)"]) takes(text, true)
  for (const text of [
    "!a",
    "z",
    "a=c",
    "a=",
    "a!=b",
    "a in (c)",
    "a in ()",
    "a notin (b)",
    "n>5",
    "n<5",
    "a>1",
    "z<1"
  ]) {
    takes(text, false)
  }
  takes("a=b,n=6", false)

  test("may use its operators as names", () => {
    expect(LabelSelector.parse("in in (in,notin),notin=in")).toEqual([
      { key: "in", operator: "in", values: ["in", "notin"] },
      { key: "notin", operator: "=", values: ["in"] }
    ])
  })

  test("is written in sorted order", () => {
    expect(LabelSelector.format(LabelSelector.parse("z,!y,c in (b,a),b!=1,a>2,d==e"))).toBe(
      "a>2,b!=1,c in (a,b),d==e,!y,z"
    )
  })

  says("a in (b c)", "unable to parse requirement: found 'c', expected: ',' or ')'")
  says("a in b", "unable to parse requirement: found 'b' expected: '('")
  says("a in (=)", "unable to parse requirement: found '=', expected: ',', ')' or identifier")
  says("a in (b,(", "unable to parse requirement: found '(', expected: ',', or identifier")
  says("!", "unable to parse requirement: found '', expected: identifier")
  says("!a=b", "found '=', expected: ',' or 'end of string'")
  says(
    "a<x",
    `unable to parse requirement: values[0]: Invalid value: "x": for 'Gt', 'Lt' operators, the value must be an integer`
  )
  says(
    "a>99999999999999999999",
    `unable to parse requirement: values[0]: Invalid value: "99999999999999999999": for 'Gt', 'Lt' operators, the value must be an integer`
  )
  says("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt")
  says(",", "found ',', expected: !, identifier, or 'end of string'")
  says("a,", "found '', expected: identifier after ','")
  says("a,=", "found '=', expected: identifier after ','")
  says("a=(", "unable to parse requirement: found '(', expected: identifier")
  says("/a", `unable to parse requirement: <nil>: Invalid value: "/a": prefix part must be non-empty`)
  says("a=-b", `unable to parse requirement: values[0][a]: Invalid value: "-b": ${value}`)
  says(
    "a in (-b,c-)",
    `unable to parse requirement: [values[0][a]: Invalid value: "-b": ${value}, values[1][a]: Invalid value: "c-": ${value}]`
  )
})

describe("a LabelSelector object", () => {
  const matches = (selector: Parameters<typeof LabelSelector.ofLabelSelector>[0]) =>
    LabelSelector.matches(LabelSelector.ofLabelSelector(selector), labels)

  test("selects nothing if it is missing, and everything if it is empty", () => {
    expect(matches(undefined)).toBe(false)
    expect(matches(null)).toBe(false)
    expect(matches({})).toBe(true)
  })

  test("combines its labels and expressions", () => {
    expect(matches({ matchLabels: { a: "b" }, matchExpressions: [{ key: "n", operator: "In", values: ["5"] }] })).toBe(
      true
    )
    expect(matches({ matchLabels: { a: "b" }, matchExpressions: [{ key: "n", operator: "DoesNotExist" }] })).toBe(false)
    expect(
      matches({
        matchExpressions: [
          { key: "z", operator: "NotIn", values: ["5"] },
          { key: "a", operator: "Exists" }
        ]
      })
    ).toBe(true)
  })

  test("is rejected with an unknown operator, or with values that do not fit the operator", () => {
    expect(() => matches({ matchExpressions: [{ key: "a", operator: "Gt", values: ["1"] }] })).toThrow(
      '"Gt" is not a valid label selector operator'
    )
    expect(() => matches({ matchExpressions: [{ key: "a", operator: "In", values: [] }] })).toThrow(
      `values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty`
    )
  })

  test("of a plain map selects nothing if the map is missing", () => {
    expect(LabelSelector.matches(LabelSelector.ofMap(undefined), labels)).toBe(false)
    expect(LabelSelector.matches(LabelSelector.ofMap({ a: "b" }), labels)).toBe(true)
  })
})
