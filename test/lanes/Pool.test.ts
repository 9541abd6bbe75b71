import { describe, expect, test } from "bun:test"
import * as Pool from "./Pool.ts"

/** Runs jobs that take these seconds of simulated time, and returns the start of each job. */
const played = async (
  jobs: ReadonlyArray<readonly [name: string, lane: "a" | "b", seconds: number]>,
  limits: Pool.Limits<"a" | "b">,
  stopsAt = Number.POSITIVE_INFINITY
) => {
  const starts: { [name: string]: number } = {}
  const running: Array<readonly [end: number, resolve: () => void]> = []
  let now = 0
  let isDone = false
  const pool = Pool.run(
    jobs.map(([name, lane, seconds]) => ({
      lane,
      seconds,
      run: () => {
        starts[name] = now
        return new Promise<void>((resolve) => running.push([now + seconds, resolve]))
      }
    })),
    limits,
    () => now >= stopsAt
  ).then(() => {
    isDone = true
  })
  while (!isDone) {
    running.sort(([one], [other]) => one - other)
    const [next] = running.splice(0, 1)
    if (next === undefined) break
    now = next[0]
    next[1]()
    for (let turn = 0; turn < 20; turn++) await Promise.resolve()
  }
  await pool
  return starts
}

describe("The pool", () => {
  const limits = { lanes: { a: 2, b: 3 }, all: 3 }

  test("starts the longest job first, and the next one as soon as a process is free", async () => {
    expect(
      await played(
        [
          ["short", "b", 1],
          ["long", "b", 9],
          ["longer", "b", 10],
          ["middle", "b", 5]
        ],
        limits
      )
    ).toEqual({ longer: 0, long: 0, middle: 0, short: 5 })
  })

  test("fills its processes from another lane where one has all the processes that it may have", async () => {
    expect(
      await played(
        [
          ["a1", "a", 10],
          ["a2", "a", 9],
          ["a3", "a", 8],
          ["b1", "b", 2],
          ["b2", "b", 1]
        ],
        limits
      )
    ).toEqual({ a1: 0, a2: 0, b1: 0, b2: 2, a3: 9 })
  })

  test("starts no job after a signal", async () => {
    const jobs = [4, 3, 2, 1].map((seconds) => [`${seconds}`, "b", seconds] as const)
    expect(Object.keys(await played(jobs, limits, 2)).toSorted()).toEqual(["2", "3", "4"])
  })
})
