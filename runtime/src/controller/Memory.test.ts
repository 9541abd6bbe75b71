import { describe, expect, test } from "bun:test"
import type { Difference } from "./Drift.ts"
import * as Memory from "./Memory.ts"

const difference = (have: string): Difference => ({ path: "spec.cpu", want: "1000m", have })

describe("what the server made of a write", () => {
  test("is known again, for that object and that place, until it is something else", () => {
    const memory = Memory.make()
    expect(memory.accepted("u", "child", [difference("1")])).toBe(false)
    memory.accept("u", "child", [difference("1")])
    expect(memory.accepted("u", "child", [difference("1")])).toBe(true)
    expect(memory.accepted("u", "child", [difference("2")])).toBe(false)
    expect(memory.accepted("u", "status", [difference("1")])).toBe(false)
    expect(memory.accepted("v", "child", [difference("1")])).toBe(false)
  })
  test("is nothing to remember where it is what was sent", () => {
    const memory = Memory.make()
    memory.accept("u", "child", [difference("1")])
    memory.accept("u", "child", [])
    expect(memory.accepted("u", "child", [difference("1")])).toBe(false)
    expect(memory.accepted("u", "child", [])).toBe(false)
  })
})

describe("who waits for a place", () => {
  test("is known until the place is free, and is news once", () => {
    const memory = Memory.make()
    expect(Array.from(memory.waiting("place"))).toEqual([])
    expect(memory.block("place", "shop/a")).toBe(true)
    expect(memory.block("place", "shop/a")).toBe(false)
    expect(memory.block("place", "shop/b")).toBe(true)
    expect(Array.from(memory.waiting("place"))).toEqual(["shop/a", "shop/b"])
    memory.unblock("place", "shop/a")
    memory.unblock("elsewhere", "shop/b")
    expect(Array.from(memory.waiting("place"))).toEqual(["shop/b"])
    expect(memory.block("place", "shop/a")).toBe(true)
  })
})

test("to forget an object takes no longer where many others wait for places", () => {
  const memory = Memory.make()
  for (let n = 0; n < 50_000; n++) memory.block(`Deployment shop/${n}`, `shop/${n}`)
  const began = performance.now()
  for (let n = 0; n < 2000; n++) memory.forget(`u${n}`, `bakery/${n}`)
  // A look at each place that is waited for takes ten seconds.
  expect(performance.now() - began).toBeLessThan(1000)
})

test("an object that is gone is forgotten, and nobody else with it", () => {
  const memory = Memory.make()
  for (const uid of ["u", "v"]) {
    memory.accept(uid, "child", [difference("1")])
    memory.cleaned(uid)
    memory.block("place", `shop/${uid}`)
  }
  memory.forget("u", "shop/u")
  expect(["u", "v"].map((uid) => memory.accepted(uid, "child", [difference("1")]))).toEqual([false, true])
  expect(["u", "v"].map(memory.isClean)).toEqual([false, true])
  expect(Array.from(memory.waiting("place"))).toEqual(["shop/v"])
})

test("a line is news once, and again only when there were very many", () => {
  const memory = Memory.make()
  expect([memory.isNews("a"), memory.isNews("a"), memory.isNews("b")]).toEqual([true, false, true])
  for (let n = 0; n < 1000; n++) memory.isNews(`line ${n}`)
  expect(memory.isNews("a")).toBe(true)
})
