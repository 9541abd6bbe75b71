import { describe, expect, test } from "bun:test"
import type { Difference } from "./Drift.ts"
import * as Memory from "./Memory.ts"

const difference = (have: string): Difference => ({ path: "spec.cpu", want: "1000m", have })

describe("An accepted difference", () => {
  test("is known for its object and place, until the value changes", () => {
    const memory = Memory.make()
    expect(memory.accepted("u", "child", [difference("1")])).toBe(false)
    memory.accept("u", "child", [difference("1")])
    expect(memory.accepted("u", "child", [difference("1")])).toBe(true)
    expect(memory.accepted("u", "child", [difference("2")])).toBe(false)
    expect(memory.accepted("u", "status", [difference("1")])).toBe(false)
    expect(memory.accepted("v", "child", [difference("1")])).toBe(false)
  })
  test("is kept for each place of an object", () => {
    const memory = Memory.make()
    memory.accept("u", "child", [difference("1")])
    memory.accept("u", "status", [difference("2")])
    expect(memory.accepted("u", "child", [difference("1")])).toBe(true)
    expect(memory.accepted("u", "status", [difference("2")])).toBe(true)
  })
  test("is removed when the sent value is stored", () => {
    const memory = Memory.make()
    memory.accept("u", "child", [difference("1")])
    memory.accept("u", "child", [])
    expect(memory.accepted("u", "child", [difference("1")])).toBe(false)
    expect(memory.accepted("u", "child", [])).toBe(false)
  })
})

describe("An object that waits for a place", () => {
  test("is kept until the place is free, and is news once", () => {
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

test("Memory.forget takes constant time while many objects wait", () => {
  const memory = Memory.make()
  for (let n = 0; n < 50_000; n++) memory.block(`Deployment shop/${n}`, `shop/${n}`)
  const began = performance.now()
  for (let n = 0; n < 2000; n++) memory.forget(`u${n}`, `bakery/${n}`)
  // A search of every waiting place would take ten seconds.
  expect(performance.now() - began).toBeLessThan(1000)
})

test("Memory.forget removes only the given object", () => {
  const memory = Memory.make()
  for (const uid of ["u", "v"]) {
    memory.accept(uid, "child", [difference("1")])
    memory.clean.add(uid)
    memory.block("place", `shop/${uid}`)
  }
  memory.forget("u", "shop/u")
  expect(["u", "v"].map((uid) => memory.accepted(uid, "child", [difference("1")]))).toEqual([false, true])
  expect(["u", "v"].map((uid) => memory.clean.has(uid))).toEqual([false, true])
  expect(Array.from(memory.waiting("place"))).toEqual(["shop/v"])
})

test("A line is news once, and again after a thousand other lines", () => {
  const memory = Memory.make()
  expect([memory.isNews("a"), memory.isNews("a"), memory.isNews("b")]).toEqual([true, false, true])
  for (let n = 0; n < 1000; n++) memory.isNews(`line ${n}`)
  expect(memory.isNews("a")).toBe(true)
})

test("A dropped field is known by its kind and path, for any key of a list", () => {
  const memory = Memory.make()
  expect(memory.isDropped("Pod", "spec.a")).toBe(false)
  memory.drop("Pod", "spec.env[A].b")
  memory.drop("Pod", "spec.a")
  expect(memory.isDropped("Pod", "spec.env[B].b")).toBe(true)
  expect(memory.isDropped("Pod", "spec.a")).toBe(true)
  expect(memory.isDropped("Job", "spec.a")).toBe(false)
  for (let n = 0; n < 999; n++) memory.drop("Pod", `spec.a${n}`)
  expect(memory.isDropped("Pod", "spec.a998")).toBe(true)
  expect(memory.isDropped("Pod", "spec.env[A].b")).toBe(false)
})

test("Memory.forget removes an object from all places, with its writes and its deletion", () => {
  const forgotten: Array<string> = []
  const hotLoop = { ...Memory.make().hotLoop, forget: (uid: string) => void forgotten.push(uid) }
  const memory = Memory.make(hotLoop)
  for (const place of ["one", "two"]) memory.block(place, "shop/u")
  memory.gone.add("u")
  expect(memory.gone.has("u")).toBe(true)
  memory.forget("u", "shop/u")
  expect(["one", "two"].flatMap((place) => Array.from(memory.waiting(place)))).toEqual([])
  expect(memory.gone.has("u")).toBe(false)
  expect(forgotten).toEqual(["u"])
})

test("The entries of an object do not change later, and another memory can start with them", () => {
  const memory = Memory.make()
  const differences = [{ path: "spec.a", want: 1, have: 2 }]
  memory.accept("u", "slot", differences)
  memory.drop("widgets/v1", "spec.b")
  memory.clean.add("u")
  memory.bereft.add("u")
  memory.reports.set("u", { message: "no", at: 1 })
  memory.serve("gadgets", false)
  const entries = memory.entriesOf("u", 0)
  memory.serve("gadgets", true)
  memory.accept("u", "slot", [])
  memory.accept("u", "other", differences)
  memory.drop("widgets/v1", "spec.c")
  const next = Memory.make(undefined, { uid: "u", entries })
  expect(next.accepted("u", "slot", differences)).toBe(true)
  expect(next.accepted("u", "other", differences)).toBe(false)
  expect([next.isDropped("widgets/v1", "spec.b"), next.isDropped("widgets/v1", "spec.c")]).toEqual([true, false])
  expect([next.clean.has("u"), next.bereft.has("u")]).toEqual([true, true])
  expect([...next.unserved()]).toEqual(["gadgets"])
  expect(next.reports.get("u")).toEqual({ message: "no", at: 1 })
  expect(memory.accepted("u", "slot", differences)).toBe(false)
  expect(Memory.make().entriesOf("u", 0)).toEqual({
    accepted: undefined,
    report: undefined,
    isClean: false,
    isBereft: false,
    dropped: new Set(),
    unserved: new Set()
  })
})
