import { expect, test } from "bun:test"
import * as ResourceVersion from "./ResourceVersion.ts"

test("ResourceVersion.order accepts only decimal numbers that JavaScript represents exactly", () => {
  const orders = (texts: ReadonlyArray<string | undefined>) => texts.map(ResourceVersion.order)
  expect(orders(["0", "7", "4294967296", "9007199254740991"])).toEqual([0, 7, 4294967296, 9007199254740991])
  expect(orders([undefined, "", "-1", " 7", "7 ", "1e5", "0x10", "7.5", "v7", "9007199254740993"])).toEqual(
    Array.from({ length: 10 }, () => undefined)
  )
})

test("ResourceVersion.isLater is false if an order is unknown", () => {
  expect(ResourceVersion.isLater(2, 1)).toBe(true)
  expect(ResourceVersion.isLater(1, 1)).toBe(false)
  expect(ResourceVersion.isLater(undefined, 1)).toBe(false)
  expect(ResourceVersion.isLater(1, undefined)).toBe(false)
})
