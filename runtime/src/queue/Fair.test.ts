import { describe, expect, test } from "bun:test"
import * as Seed from "@homeostat/testkit/Seed.fixture"
import * as FastCheck from "fast-check"
import * as CpuUse from "./CpuUse.ts"
import { Entry } from "./Entry.ts"
import * as Fair from "./Fair.ts"
import * as Held from "./Held.ts"

const world = (workers?: number) => {
  const use = CpuUse.make()
  let at = 0
  const running = new Set<Entry<never>>()
  const held = Held.make(running, workers)
  const ready = Fair.make<never>(use, held, () => at)
  const add = (key: string, priority = 0): Entry<never> => {
    const entry = new Entry<never>(key)
    entry.priority = priority
    ready.append(entry)
    return entry
  }
  const take = (): Entry<never> | undefined => {
    const entry = ready.next()
    if (entry !== undefined) ready.remove(entry)
    return entry
  }
  return {
    use,
    held,
    running,
    ready,
    add,
    take,
    keys: (most = Number.POSITIVE_INFINITY): string => {
      const keys: Array<string> = []
      while (keys.length < most) {
        const entry = take()
        if (entry === undefined) break
        keys.push(entry.key)
      }
      return keys.join(" ")
    },
    spend: (namespace: string, millis: number) => use.spend(namespace, millis, at),
    pass: (millis: number): void => {
      at += millis
    }
  }
}

const over = CpuUse.shareMillis + 1

describe("The order of the ready keys", () => {
  for (const [what, use, added, expected] of [
    ["without any use, the oldest is first", {}, ["a/1", "b/1", "a/2"], "a/1 b/1 a/2"],
    ["within their shares, the oldest is first", { a: over - 1, b: 1 }, ["a/1", "b/1", "a/2"], "a/1 b/1 a/2"],
    ["those over the share are last", { a: over }, ["a/1", "a/2", "b/1", "a/3", "c/1"], "b/1 c/1 a/1 a/2 a/3"],
    ["a namespace alone keeps its order", { a: over }, ["a/1", "a/2 5", "a/3 -100", "a/4"], "a/2 a/1 a/4 a/3"],
    ["those over the share are last with any priority", { a: over }, ["a/1 9", "b/1 -100", "b/2"], "b/2 b/1 a/1"],
    ["the namespace that used least is first", { a: 3000, b: 600 }, ["a/1", "b/1", "c/1", "b/2"], "c/1 b/1 b/2 a/1"],
    ["objects without a namespace are never over", { a: over, "": 9000 }, ["a/1", "node"], "node a/1"]
  ] as const) {
    test(what, () => {
      const { add, keys, ready, spend } = world()
      for (const [namespace, millis] of Object.entries(use)) spend(namespace, millis)
      const entries = added.map((text) => {
        const [key = "", priority = "0"] = text.split(" ")
        return add(key, Number(priority))
      })
      const order = expected.split(" ")
      const indexes = () => entries.toSorted((a, b) => ready.indexOf(a) - ready.indexOf(b)).map(({ key }) => key)
      expect(indexes()).toEqual(order)
      ready.next()
      expect(indexes()).toEqual(order)
      expect(ready.size()).toBe(added.length)
      expect(Array.from(ready.depth().values()).reduce((sum, count) => sum + count, 0)).toBe(added.length)
      expect(keys()).toBe(expected)
      expect(ready.size()).toBe(0)
    })
  }

  test("those of a namespace have their places again when it is within its share again", () => {
    const { add, keys, pass, spend } = world()
    spend("a", over)
    for (const key of ["a/1", "a/2", "b/1"]) add(key)
    expect(keys(1)).toBe("b/1")
    add("b/2")
    pass(2 * CpuUse.windowMillis)
    add("a/3")
    add("b/3")
    expect(keys()).toBe("a/1 a/2 b/2 a/3 b/3")
  })

  test("one that was put back is the first of its namespace, also when that is over its share", () => {
    const { add, keys, ready, spend, take } = world()
    spend("a", over)
    for (const key of ["a/1", "a/2"]) add(key)
    const first = take()
    if (first === undefined) throw new Error("no key")
    add("b/1")
    ready.prepend(first)
    expect(keys()).toBe("b/1 a/1 a/2")
  })

  test("one that was set aside can be removed, and added again", () => {
    const { add, keys, ready, spend } = world()
    spend("a", over)
    const [one] = [add("a/1"), add("a/2"), add("b/1")]
    expect(ready.next()?.key).toBe("b/1")
    ready.remove(one)
    expect(ready.size()).toBe(2)
    ready.append(one)
    expect(keys()).toBe("b/1 a/2 a/1")
  })

  test("those that run are left out", () => {
    const { add, ready, spend } = world()
    spend("a", over)
    const [one, two, other] = [add("a/1"), add("a/2"), add("b/1")]
    other.running = true
    expect(ready.next()).toBe(one)
    one.running = true
    expect(ready.next()).toBe(two)
    two.running = true
    expect(ready.next()).toBeUndefined()
  })

  test("all leave when the queue ends", () => {
    const { add, ready, spend } = world()
    spend("a", over)
    for (const key of ["a/1", "b/1", "a/2"]) add(key)
    ready.next()
    const left: Array<string> = []
    ready.drain(({ isAside, key }) => void left.push(`${key}${isAside}`))
    expect(left.toSorted()).toEqual(["a/1false", "a/2false", "b/1false"])
    expect(ready.size()).toBe(0)
    expect(ready.next()).toBeUndefined()
  })
})

test("The order of keys is that of a sorted list, for any use and any sequence of operations", () => {
  const namespace = FastCheck.constantFrom("a", "b", "c")
  const step = FastCheck.oneof(
    { weight: 6, arbitrary: FastCheck.record({ add: namespace, priority: FastCheck.constantFrom(0, 0, -100, 5) }) },
    { weight: 4, arbitrary: FastCheck.record({ take: FastCheck.boolean() }) },
    { weight: 2, arbitrary: FastCheck.record({ spend: namespace, millis: FastCheck.integer({ max: 900, min: 1 }) }) },
    { weight: 1, arbitrary: FastCheck.record({ pass: FastCheck.constantFrom(1000, 9000, 25_000) }) }
  )
  const property = FastCheck.property(FastCheck.array(step, { maxLength: 60, size: "max" }), (steps) => {
    const { add, pass, ready, spend, take, use } = world()
    let model: Array<Entry<never>> = []
    let at = 0
    const excess = ({ key }: Entry<never>): number => {
      const used = use.of(key.slice(0, 1), at)
      return used > CpuUse.shareMillis ? used : 0
    }
    const sorted = () => model.toSorted((a, b) => excess(a) - excess(b) || b.priority - a.priority || a.rank - b.rank)
    for (const [index, one] of steps.entries()) {
      if ("add" in one) model.push(add(`${one.add}/${index}`, one.priority))
      else if ("spend" in one) spend(one.spend, one.millis)
      else if ("pass" in one) {
        pass(one.pass)
        at += one.pass
      } else {
        const [expected] = sorted()
        const taken = take()
        expect(taken?.key).toBe(expected?.key)
        model = model.filter((each) => each !== taken)
      }
      expect(ready.size()).toBe(model.length)
    }
    expect(sorted().map((each) => ready.indexOf(each))).toEqual(model.map((_, index) => index))
  })
  FastCheck.assert(property, { numRuns: 300, seed: Seed.current() })
})

test("The order of keys is fair between namespaces that hold workers, for any sequence of runs", () => {
  const workers = 6
  const half = 3
  const step = FastCheck.oneof(
    { weight: 5, arbitrary: FastCheck.record({ add: FastCheck.constantFrom("a", "a", "b", "c") }) },
    { weight: 4, arbitrary: FastCheck.record({ begin: FastCheck.boolean() }) },
    { weight: 2, arbitrary: FastCheck.record({ end: FastCheck.nat() }) }
  )
  const property = FastCheck.property(FastCheck.array(step, { maxLength: 80, size: "max" }), (steps) => {
    const { add, ready, running, take } = world(workers)
    let waiting: Array<Entry<never>> = []
    const namespaceOf = ({ key }: Entry<never>) => key.slice(0, 1)
    const heldBy = (entry: Entry<never>) =>
      [...running].filter((other) => namespaceOf(other) === namespaceOf(entry)).length
    for (const [index, one] of steps.entries()) {
      if ("add" in one) waiting.push(add(`${one.add}/${index}`))
      else if ("end" in one) {
        const ended = [...running][one.end % Math.max(1, running.size)]
        if (ended !== undefined) running.delete(ended)
      } else if (running.size < workers) {
        const within = waiting.filter((entry) => heldBy(entry) < half)
        const taken = take()
        // A namespace alone may hold all workers.
        expect(taken === undefined).toBe(waiting.length === 0)
        if (taken === undefined) continue
        if (within[0] !== undefined) expect(taken).toBe(within[0])
        waiting = waiting.filter((entry) => entry !== taken)
        running.add(taken)
      }
      expect(ready.size()).toBe(waiting.length)
    }
  })
  FastCheck.assert(property, { numRuns: 300, seed: Seed.current() })
})

test("No key starves while other namespaces want all of the CPU", () => {
  const { add, pass, spend, take } = world()
  for (let n = 0; n < 20; n++) add(`noisy/${n}`)
  const waits = new Map<string, number>()
  let time = 0
  // Every namespace comes back at once, and an attempt takes 100 ms.
  for (let n = 0; n < 30; n++) add(`n${n}/x`)
  while (waits.size < 20 && time < 120_000) {
    const entry = take()
    if (entry === undefined) break
    time += 100
    pass(100)
    spend(entry.key.slice(0, entry.key.indexOf("/")), 100)
    if (entry.key.startsWith("noisy/")) waits.set(entry.key, time)
    else add(entry.key)
  }
  expect(waits.size).toBe(20)
  expect([...waits.keys()]).toEqual(Array.from({ length: 20 }, (_, n) => `noisy/${n}`))
})

test("A queue of 30,000 keys of one namespace costs as much as without use", () => {
  const { add, keys, spend } = world()
  spend("a", over)
  for (let n = 0; n < 30_000; n++) add(`a/${n}`)
  const began = performance.now()
  expect(keys(30_000).split(" ")).toHaveLength(30_000)
  expect(performance.now() - began).toBeLessThan(1000)
})
