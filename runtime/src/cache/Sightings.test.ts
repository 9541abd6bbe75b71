import { expect, test } from "bun:test"
import * as Sightings from "./Sightings.ts"

const fixture = (capacity?: number) => {
  let now = 0
  const sightings = Sightings.make(() => now, capacity)
  const told: Array<string> = []
  return {
    sightings,
    told,
    at: (millis: number) => {
      now = millis
    },
    ask: (version: string) => sightings.when(version, (at) => told.push(`${version} at ${at}`))
  }
}

test("a write that was seen already is told at once, with the time at which it was first seen", () => {
  const { ask, at, sightings, told } = fixture()
  at(5)
  sightings.sighted("101")
  at(9)
  sightings.sighted("101")
  ask("101")
  expect(told).toEqual(["101 at 5"])
})

test("one that was not is told when it is seen, once", () => {
  const { ask, at, sightings, told } = fixture()
  ask("101")
  expect(told).toEqual([])
  at(7)
  sightings.sighted("102")
  sightings.sighted("101")
  sightings.sighted("101")
  expect(told).toEqual(["101 at 7"])
})

test("of more than it can remember, the oldest are forgotten, whether seen or awaited", () => {
  const { ask, sightings, told } = fixture(2)
  for (const version of ["1", "2", "3"]) sightings.sighted(version)
  for (const version of ["1", "2", "3"]) ask(version)
  expect(told).toEqual(["2 at 0", "3 at 0"])
  for (const version of ["4", "5", "6"]) ask(version)
  // The first of these made way for another.
  for (const version of ["1", "4", "5", "6"]) sightings.sighted(version)
  expect(told.slice(2)).toEqual(["5 at 0", "6 at 0"])
})
