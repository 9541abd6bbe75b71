import { describe, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as CpuUse from "../queue/CpuUse.ts"
import * as Maps from "./Maps.ts"

const world = () => {
  const use = CpuUse.make()
  const maps = Maps.make<never>(use, () => 0)
  const add = (namespace: string, times = 1) => Array.from({ length: times }, () => maps.add(namespace, Effect.void))
  const order = (most = 100): string => {
    const found: Array<string> = []
    while (found.length < most) {
      const next = maps.next()
      if (next === undefined) break
      found.push(next.namespace)
    }
    return found.join(" ")
  }
  return { add, maps, order, use }
}

describe("The maps that wait", () => {
  for (const [what, added, use, expected] of [
    ["take turns between namespaces", { a: 3, b: 1, c: 2 }, {}, "a b c a c a"],
    ["of a namespace over its share of the CPU are last", { a: 2, b: 2 }, { a: 501 }, "b b a a"],
    ["of the namespace that used least are first", { a: 1, b: 1 }, { a: 900, b: 600 }, "b a"],
    ["of objects without a namespace are never over", { "": 1, a: 1 }, { "": 900, a: 600 }, " a"]
  ] as const) {
    test(what, () => {
      const { add, order, use: spent } = world()
      for (const [namespace, times] of Object.entries(added)) add(namespace, times)
      for (const [namespace, millis] of Object.entries(use)) spent.spend(namespace, millis, 0)
      expect(order()).toBe(expected)
    })
  }

  test("are dropped for the one namespace that has too many", () => {
    const { add, maps, order } = world()
    add("honest", 2)
    expect(add("tenant", Maps.mostOfOne + 3).filter((taken) => !taken)).toHaveLength(1)
    expect(order()).toBe("honest honest")
    expect([maps.dropped(), maps.dropped()]).toEqual(["tenant", undefined])
    add("tenant")
    expect(order()).toBe("tenant")
  })

  test("are bounded for all namespaces together", () => {
    const { add, maps } = world()
    for (let at = 0; at < 100; at++) add(`n${at}`, 100)
    let dropped = 0
    while (maps.dropped() !== undefined) dropped++
    let kept = 0
    while (maps.next() !== undefined) kept++
    expect([dropped > 45, kept <= 5000, kept > 4800]).toEqual([true, true, true])
  })
})

test("The rounds over all objects have a minute between them, and one is planned at a time", () => {
  let at = 0
  const { plan } = Maps.rounds(() => at)
  const plans = [0, 1000, 2000, 59_000, 60_000, 61_000, 119_000, 300_000].map((time) => {
    at = time
    return plan()
  })
  expect(plans).toEqual([0, 59_000, undefined, undefined, 60_000, undefined, undefined, 0])
})
