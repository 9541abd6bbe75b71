import { expect, test } from "bun:test"
import * as Quantity from "./Quantity.ts"

test.each([
  ["1000m", "1"],
  ["0.5", "500m"],
  ["1024Mi", "1Gi"],
  ["1000Mi", "1000Mi"],
  ["1500000000", "1500M"],
  ["1e9", "1e9"],
  ["1E3", "1e3"],
  ["1.5Gi", "1536Mi"],
  ["0", "0"],
  ["0m", "0"],
  ["-1", "-1"],
  ["+5", "5"],
  ["100k", "100k"],
  ["512Ki", "512Ki"],
  ["10Gi", "10Gi"],
  ["123456789", "123456789"],
  ["0.1Ki", "102400m"]
])("%s is written %s", (text, canonical) => {
  expect(Quantity.canonical(text)).toBe(canonical)
})

test("an invalid quantity is not changed, and gets an error", () => {
  expect(Quantity.canonical("a lot")).toBe("a lot")
  expect(Quantity.parse("a lot")).toBe(Quantity.wrongFormat)
  expect(Quantity.parse("")).toBe(Quantity.wrongFormat)
  expect(Quantity.parse("1X")).toBe(Quantity.wrongFormat)
  expect(Quantity.parse("1Mii")).toBe(Quantity.wrongSuffix)
})

test("quantities of resources are rounded up to thousandths", () => {
  expect(Quantity.milli("100u")).toBe("1m")
  expect(Quantity.milli("1500u")).toBe("2m")
  expect(Quantity.milli("250m")).toBe("250m")
})

test("quantities of different units are compared", () => {
  expect(Quantity.amount("1Gi") > Quantity.amount("1G")).toBe(true)
  expect(Quantity.amount("1000m")).toBe(Quantity.amount("1"))
})

test.each(["1e999999999", "1e-999999999", `${"9".repeat(500_000)}`, `0.${"1".repeat(500_000)}`])(
  "an amount out of all proportion is read at once",
  (text) => {
    expect(typeof Quantity.parse(text)).toBe("object")
  }
)
