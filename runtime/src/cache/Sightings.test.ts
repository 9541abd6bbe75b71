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

test("of more than it can remember, the older half is forgotten at once, whether seen or awaited", () => {
  const { ask, sightings, told } = fixture(4)
  for (const version of ["1", "2", "3", "4"]) sightings.sighted(version)
  ask("1")
  expect(told).toEqual(["1 at 0"])
  sightings.sighted("5")
  for (const version of ["2", "3", "4", "5"]) ask(version)
  expect(told.slice(1)).toEqual(["3 at 0", "4 at 0", "5 at 0"])
  // The first that was asked about, 2, was not seen: it is awaited, and the first of these.
  for (const version of ["6", "7", "8", "9"]) ask(version)
  for (const version of ["2", "6", "7", "8", "9"]) sightings.sighted(version)
  expect(told.slice(4)).toEqual(["7 at 0", "8 at 0", "9 at 0"])
})
