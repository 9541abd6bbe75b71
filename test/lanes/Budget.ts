/**
 * The CPU budget of the fast lanes, unit and embedded. Its unit is the CPU time of the calibration loop (`Loop.ts`). The loop runs on the
 * same machine before and after the tests, so the budget also holds on a slow or busy machine.
 */
import { join } from "node:path"

/**
 * The most CPU time of the fast lanes, in calibration loops. Lower it when the tests become faster. Raise it only with the reason in the
 * message of the commit.
 */
export const allowed = 450

/** The result: the CPU time of the tests in calibration loops, and the problem if they exceed the budget. */
export interface Spent {
  readonly loops: number
  readonly problem: string | undefined
}

/** Compares the CPU seconds of the tests with those of calibration loops. */
export const of = (cpuSeconds: number, calibration: ReadonlyArray<number>, most: number = allowed): Spent => {
  const mean = calibration.reduce((sum, seconds) => sum + seconds, 0) / calibration.length
  const loops = cpuSeconds / mean
  // A loop that was not measured must not make the budget endless.
  const isKept = loops <= most && mean > 0
  return {
    loops,
    problem: isKept
      ? undefined
      : `the fast lanes exceeded their CPU budget: ${loops.toFixed()} calibration loops (at most ${most}; make the tests faster, or move long ones to the lane deep)`
  }
}

/** Runs calibration loops in parallel processes. Returns the CPU seconds of each process. */
export const calibrate = (processes: number): Promise<ReadonlyArray<number>> =>
  Promise.all(
    Array.from({ length: processes }, async () => {
      const child = Bun.spawn([process.execPath, join(import.meta.dir, "Loop.ts")], { stdout: "ignore" })
      const code = await child.exited
      if (code !== 0) throw new Error(`the calibration loop ended with ${code}`)
      return Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1e6
    })
  )
