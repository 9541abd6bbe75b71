import { describe, expect, test } from "bun:test"
import * as Selector from "./Selector.ts"

const labels = { app: "shop", tier: "web" }

describe("a selector", () => {
  for (const [title, selector, isMatch] of [
    ["that is absent selects nothing", undefined, false],
    ["that is empty selects everything", {}, true],
    ["of a label selects its value", { matchLabels: { app: "shop" } }, true],
    ["of a label selects no other value", { matchLabels: { app: "shop", tier: "db" } }, false],
    ["of a label selects no object without it", { matchLabels: { constructor: "Object" } }, false],
    ["of an expression in", { matchExpressions: [{ key: "tier", operator: "In", values: ["web", "db"] }] }, true],
    [
      "of an expression in, without the label",
      { matchExpressions: [{ key: "a", operator: "In", values: ["b"] }] },
      false
    ],
    ["of an expression not in", { matchExpressions: [{ key: "tier", operator: "NotIn", values: ["web"] }] }, false],
    [
      "of an expression not in, without the label",
      { matchExpressions: [{ key: "a", operator: "NotIn", values: ["b"] }] },
      true
    ],
    ["of an existing label", { matchExpressions: [{ key: "app", operator: "Exists" }] }, true],
    ["of a label that may not exist", { matchExpressions: [{ key: "app", operator: "DoesNotExist" }] }, false],
    [
      "of both needs both",
      { matchLabels: { app: "shop" }, matchExpressions: [{ key: "tier", operator: "DoesNotExist" }] },
      false
    ]
  ] as const) {
    test(title, () => {
      const copy = selector === undefined ? undefined : JSON.parse(JSON.stringify(selector))
      expect(Selector.matches(copy, labels)).toBe(isMatch)
    })
  }
})
