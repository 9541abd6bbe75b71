import { expect, test } from "bun:test"
import * as Queue from "./Queue.ts"

const item = (key: string): Queue.Item => ({ controller: 0, key })

const drain = (queue: Queue.Queue, now: number): ReadonlyArray<string> => {
  const keys: Array<string> = []
  for (let one = queue.take(now); one !== undefined; one = queue.take(now)) keys.push(one.key)
  return keys
}

test("A key in the queue is not added again", () => {
  const queue = Queue.make()
  for (const key of ["b", "a", "b"]) queue.add(item(key))
  expect(drain(queue, 0)).toEqual(["b", "a"])
})

test("Delayed keys are ordered by time, and then by insertion", () => {
  const queue = Queue.make()
  queue.add(item("late"), 20)
  queue.add(item("second"), 10)
  queue.add(item("third"), 10)
  queue.add(item("first"), 5)
  expect(queue.next()).toBe(5)
  expect([queue.isDue(4), queue.isDue(5)]).toEqual([false, true])
  expect(drain(queue, 10)).toEqual(["first", "second", "third"])
  expect(queue.next()).toBe(20)
})

test("A key keeps the earliest of several times, even after a change", () => {
  const queue = Queue.make()
  queue.add(item("a"), 20)
  queue.add(item("a"), 10)
  queue.add(item("a"), 30)
  queue.add(item("a"))
  expect(drain(queue, 0)).toEqual(["a"])
  expect(drain(queue, 10)).toEqual(["a"])
  expect(queue.next()).toBeUndefined()
})
