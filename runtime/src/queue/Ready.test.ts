import { expect, test } from "bun:test"
import { Entry } from "./Entry.ts"
import * as Ready from "./Ready.ts"

const entry = (key: string, priority: number): Entry<never> => {
  const made = new Entry<never>(key)
  made.priority = priority
  return made
}

test("Ready serves a thousand priorities from the highest to the lowest, and drops their empty lists", () => {
  const ready = Ready.make<never>()
  const priorities = Array.from({ length: 1000 }, (_, index) => (index * 7919) % 1000)
  for (const priority of priorities) ready.append(entry(`p${priority}`, priority))
  const served: Array<number> = []
  for (let next = ready.next(); next !== undefined; next = ready.next()) {
    ready.remove(next)
    served.push(next.priority)
  }
  expect(served).toEqual(Array.from({ length: 1000 }, (_, index) => 999 - index))
  expect(ready.size()).toBe(0)
  expect(ready.depth().size).toBeLessThanOrEqual(8)
  ready.append(entry("again", 500))
  expect(ready.next()?.key).toBe("again")
})

test("An entry can be removed from the head, the middle and the end of its list", () => {
  const ready = Ready.make<never>()
  const [a, b, c, d] = [entry("a", 0), entry("b", 0), entry("c", 0), entry("d", 0)]
  for (const one of [a, b, c, d]) ready.append(one)
  ready.remove(b)
  expect([ready.indexOf(a), ready.indexOf(c), ready.indexOf(d)]).toEqual([0, 1, 2])
  ready.remove(d)
  ready.remove(a)
  ready.append(b)
  ready.prepend(a)
  expect([ready.indexOf(a), ready.indexOf(c), ready.indexOf(b)]).toEqual([0, 1, 2])
  expect(ready.next()).toBe(a)
  expect(ready.depth()).toEqual(new Map([[0, 3]]))
})

test("Ready skips entries whose key is running", () => {
  const ready = Ready.make<never>()
  const [urgent, a, b] = [entry("urgent", 1), entry("a", 0), entry("b", 0)]
  for (const one of [urgent, a, b]) ready.append(one)
  urgent.running = true
  a.running = true
  expect(ready.next()).toBe(b)
  expect(ready.size()).toBe(3)
  b.running = true
  expect(ready.next()).toBeUndefined()
})
