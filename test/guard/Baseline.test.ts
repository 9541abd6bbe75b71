import { expect, test } from "bun:test"
import * as Baseline from "./Baseline.ts"

const commit = "94c6230dab965d65c003acb26ebb10dded2922bb"
const read = (document: unknown) => Baseline.parse(JSON.stringify(document), ["start", "creation"])

test("A baseline has a commit, and raised rows with reasons", () => {
  const raised = { creation: { to: 1.2, reason: "A WebApp creates a NetworkPolicy too" } }
  expect(read({ commit, raised })).toEqual({ commit, raised })
  expect(read({ commit, raised: {} })).toEqual({ commit, raised: {} })
})

test("A baseline without a whole commit, a known row, a ratio or a reason is refused", () => {
  const refused: ReadonlyArray<readonly [unknown, string]> = [
    [[], "invalid commit: undefined (must be the 40 digits of a commit)"],
    [{ commit: "94c6230", raised: {} }, 'invalid commit: "94c6230"'],
    [{ commit }, "invalid raised: undefined"],
    [
      { commit, raised: { idel: { to: 2, reason: "it is so" } } },
      "unknown raised row: idel (must be one of start, creation)"
    ],
    [{ commit, raised: { start: { to: 1, reason: "it is so" } } }, "invalid to of start: 1"],
    [{ commit, raised: { start: { to: "2", reason: "it is so" } } }, 'invalid to of start: "2"'],
    [{ commit, raised: { start: { to: 2, reason: " needed  " } } }, 'no reason for start: " needed  "'],
    [{ commit, raised: { start: { to: 2 } } }, "no reason for start: undefined"]
  ]
  for (const [document, message] of refused) expect(() => read(document)).toThrow(message)
})
