/** The memory usage of an exploration does not grow with the number of its worlds. */
import { expect, test } from "bun:test"
import { join } from "node:path"

interface Memory {
  /** The number of bytes that each schedule keeps. */
  readonly kept: number
  readonly schedules: number
  /** The number of worlds, of ten, that their evidence keeps. */
  readonly worlds: number
  /** The number of lines in each evidence. */
  readonly lines: number
}

test("an exploration keeps at most 50 kB of each world, and its evidence keeps no world", async () => {
  const fixture = join(import.meta.dir, "Memory.fixture.ts")
  const child = Bun.spawn([process.execPath, fixture], { stdout: "pipe", stderr: "inherit" })
  const text = await new Response(child.stdout).text()
  expect(await child.exited).toBe(0)
  const { kept, lines, schedules, worlds }: Memory = JSON.parse(text)
  expect(schedules).toBe(150)
  expect(kept).toBeLessThan(50_000)
  // The garbage collector can find a pointer to the last world on the stack.
  expect(worlds).toBeLessThanOrEqual(1)
  expect(lines).toBeGreaterThan(0)
}, 300_000)
