import { expect, test } from "bun:test"
import type { KubernetesObject } from "../resource/KubernetesObject.ts"
import * as Sample from "./Sample.ts"
import { web } from "./Scripted.fixture.ts"

/** An object with this many characters more than the shortest one. */
const sized = (name: string, more: number): KubernetesObject =>
  web({ name, rv: "1", labels: { padding: "x".repeat(more) } })

const size = (object: KubernetesObject): number => JSON.stringify(object).length

test("Sample measures few objects exactly", () => {
  const objects = [0, 100, 2000].map((more) => sized("a", more))
  const sample = Sample.make()
  expect(sample.mean()).toBe(0)
  for (const object of objects) sample.take(object)
  expect(sample.mean()).toBeCloseTo(objects.reduce((sum, object) => sum + size(object), 0) / 3, 6)
})

test("Sample estimates the mean size of many objects from a few of them", () => {
  let measured = 0
  const objects = Array.from({ length: 20_000 }, (_, index) => {
    // The sizes repeat, but not at the interval of the sample.
    const object = sized(`object-${index}`, (index * 37) % 1000)
    const toJSON = () => {
      measured++
      return object
    }
    return { ...object, toJSON }
  })
  const sample = Sample.make()
  for (const object of objects) sample.take(object)
  expect(measured).toBeLessThan(400)
  const truth = objects.reduce((sum, object) => sum + size(object), 0) / objects.length
  expect(Math.abs(sample.mean() / truth - 1)).toBeLessThan(0.1)
})

test("Sample follows objects that grow", () => {
  const sample = Sample.make()
  for (let index = 0; index < 5000; index++) sample.take(sized("a", 0))
  for (let index = 0; index < 100_000; index++) sample.take(sized("a", 5000))
  expect(sample.mean()).toBeGreaterThan(size(sized("a", 4900)))
})
