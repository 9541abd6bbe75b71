import { expect, test } from "bun:test"
import { Duration } from "effect"
import * as PodWorker from "./PodWorker.ts"

test.each([
  [0, 0],
  [1, 10],
  [2, 20],
  [5, 160],
  [6, 300],
  [2000, 300]
])("A container that was restarted %p times waits %p s", (restarts, seconds) => {
  expect(Duration.toSeconds(PodWorker.backOff(restarts))).toBe(seconds)
})
