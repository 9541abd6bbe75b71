import { expect, test } from "bun:test"
import * as LabelSelector from "./LabelSelector.ts"

const decides = (selector: string | undefined, labels: LabelSelector.Labels | undefined): boolean | undefined =>
  LabelSelector.parse(selector)?.(labels)

test("LabelSelector evaluates selectors as the API server does", () => {
  const web = { app: "web", tier: "front", "example.com/zone": "a.b" }
  const cases: ReadonlyArray<readonly [selector: string | undefined, matches: boolean]> = [
    [undefined, true],
    ["", true],
    [" ", true],
    ["app=web", true],
    ["app==web", true],
    ["app = web", true],
    ["app=db", false],
    ["none=", false],
    ["app=web,tier=front", true],
    ["app=web,tier=back", false],
    ["app!=db", true],
    ["app!=web", false],
    ["missing!=web", true],
    ["example.com/zone=a.b", true],
    ["tier in (front, back)", true],
    ["tier in (back)", false],
    ["missing in (a)", false],
    ["tier notin (front)", false],
    ["tier notin (back)", true],
    ["missing notin (a)", true],
    ["app", true],
    ["missing", false],
    ["!missing", true],
    ["!app", false],
    ["app=web, tier in (front,back), !legacy", true],
    ["app=web,tier in (front,back),legacy", false]
  ]
  const actual = cases.map(([selector]) => [selector, decides(selector, web)])
  expect(actual).toEqual(cases.map(([selector, matches]) => [selector, matches]))
})

test("An object without labels matches negative requirements", () => {
  expect(decides("!app", undefined)).toBe(true)
  expect(decides("app", undefined)).toBe(false)
  expect(decides("app!=x", undefined)).toBe(true)
})

test("LabelSelector.parse returns undefined for unsupported selectors", () => {
  for (const selector of ["a>1", "a in b", "=x", "a=b=c", "a,,b", "a in (x"]) {
    expect([selector, LabelSelector.parse(selector)]).toEqual([selector, undefined])
  }
})
